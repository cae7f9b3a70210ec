"""What is kept of one played search."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from search.landscapes.landscape import Landscape
    from search.structure import Point

Program = tuple[int, "Point"]
"""Structure by its position in the landscape, and knob values."""


@dataclass(frozen=True)
class Look:
    """One charged evaluation."""

    program: Program
    measured: float | None
    """Speed-up as the search saw it; None for a failure."""
    calls: int
    """Calls of the agent made up to here."""
    tunes: bool
    """It changed knobs of a structure already seen."""
    confirms: bool = False


@dataclass(frozen=True)
class Trace:
    """One search, told by what its incumbent was truly worth.

    The incumbent is the program of highest measured speed-up; its worth is the median of the recorded repeats, so a
    lucky measurement helps nobody. Worth is 0 before the first pass.
    """

    landscape: str
    strategy: str
    seed: int
    worth: tuple[float, ...]
    """Of the incumbent after each charged evaluation."""
    calls: tuple[int, ...]
    """Calls of the agent up to each charged evaluation."""
    total_calls: int
    final: float
    """Of the program that the search ended with."""
    switches: int
    """Evaluations that were of another structure than the one before."""
    discarded: float | None
    """Share of the tuning that went into structures other than the final one; None where nothing was tuned."""
    seconds: float = field(compare=False, default=0.0)


def make_trace(  # noqa: PLR0913 - one argument per fact of a search
    landscape: Landscape,
    strategy: str,
    seed: int,
    looks: list[Look],
    best: Program | None,
    total_calls: int,
    seconds: float,
) -> Trace:
    """Fold a search's evaluations.

    Args:
        landscape: which was played on.
        strategy: name, for the table.
        seed: of the search.
        looks: charged evaluations in order.
        best: what the search says is best; None for the incumbent.
        total_calls: of the agent, over the whole search.
        seconds: of wall time.
    """
    searched = [look for look in looks if not look.confirms]
    incumbent: Look | None = None
    worth = []
    for look in looks:
        is_better = look.measured and (incumbent is None or look.measured > (incumbent.measured or 0.0))
        if is_better and not look.confirms:
            incumbent = look
        worth.append(landscape.truth.get(incumbent.program, 0.0) if incumbent else 0.0)
    final = best or (incumbent.program if incumbent else None)
    tuned = [look.program[0] for look in searched if look.tunes]
    lost = sum(final is None or place != final[0] for place in tuned)
    places = [look.program[0] for look in searched]
    return Trace(
        landscape=landscape.name,
        strategy=strategy,
        seed=seed,
        worth=tuple(worth),
        calls=tuple(look.calls for look in looks),
        total_calls=total_calls,
        final=landscape.truth.get(final, 0.0) if final else 0.0,
        switches=sum(one != other for one, other in itertools.pairwise(places)),
        discarded=lost / len(tuned) if tuned else None,
        seconds=seconds,
    )
