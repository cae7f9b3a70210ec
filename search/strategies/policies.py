"""How stage 2 divides its evaluations among the kept structures. Each policy is labelled with what it did.

Pure functions of the archive: which structures a halving dropped is read off their first trials of the stage,
in the order of step numbers, and never remembered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.records import Stage
from search.strategies.ranking import estimates

if TYPE_CHECKING:
    from collections.abc import Callable

    from search.strategies.strategy import Turn
    from search.structure import Structure


@dataclass(frozen=True)
class Policy:
    """Who is tuned next: structures in order of preference."""

    order: Callable[[Turn, list[Structure]], list[Structure]]
    why: str
    """Ends the sentence “tune it alone, …”."""


def equal(turn: Turn, kept: list[Structure]) -> list[Structure]:
    """Fewest evaluations in this stage first; device seconds decide where they are what is capped."""
    if turn.settings.budget.device_seconds is not None:
        return sorted(kept, key=lambda each: (each.device_us[Stage.TUNE], each.spent(Stage.TUNE)))
    return sorted(kept, key=lambda each: each.spent(Stage.TUNE))


def halving(turn: Turn, kept: list[Structure]) -> list[Structure]:
    """Equal shares in a round, after which the better half goes on (Karnin, Koren and Somekh 2013)."""
    rounds = max(1, math.ceil(math.log2(len(kept)))) if kept else 1
    total = turn.left + sum(each.spent(Stage.TUNE) for each in kept)
    alive, quota = list(kept), 0
    for round_ in range(rounds):
        quota += max(1, total // (rounds * len(alive)))
        behind = [each for each in alive if each.spent(Stage.TUNE) < quota]
        if behind or round_ == rounds - 1:
            break
        alive = sorted(alive, key=lambda each: (_cost_after(each, quota), each.first))[
            : math.ceil(len(alive) / 2)
        ]
    return sorted(alive, key=lambda each: each.spent(Stage.TUNE))


def bandit(turn: Turn, kept: list[Structure]) -> list[Structure]:
    """Highest upper end of the interval first; with the shared model, highest expected improvement."""
    promises = turn.tuner.promises(kept, turn.archive.structures.values()) if turn.tuner.is_shared else {}
    high = {each.structure.fingerprint: each.high for each in estimates(turn)}
    return sorted(
        kept,
        key=lambda each: (-promises.get(each.fingerprint, 0.0), -high.get(each.fingerprint, 0.0), each.first),
    )


def _cost_after(structure: Structure, quota: int) -> float:
    """Least cost of stage 1 and the first `quota` trials of stage 2."""
    trials = [structure.trials[number] for number in sorted(structure.trials)]
    tuned = [trial for trial in trials if trial.stage is Stage.TUNE][:quota]
    before = [trial for trial in trials if trial.stage is not Stage.TUNE]
    return min((trial.cost for trial in (*before, *tuned) if trial.cost is not None), default=math.inf)


POLICIES = {
    "equal": Policy(equal, "in its equal share of the budget"),
    "halving": Policy(halving, "in its share of this round of halving"),
    "bandit": Policy(bandit, "as the one whose interval reaches highest"),
}
