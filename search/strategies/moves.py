"""Moves that strategies are put together from. Each returns a step, or None when there is none to make.

`start` and `repair` bring sources to life, `explore` asks for a new structure, `tune` tries knob values,
`refine` asks for an edit of a source, `confirm` measures the finalists again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeGuard

from search.archive import program_of
from search.records import DraftKind, KnobValue, Stage
from search.steps import Draft, Item
from search.strategies.strategy import Turn, finalists
from search.structure import Structure

if TYPE_CHECKING:
    from search.steps import Variant
    from search.structure import Trial

CHILDREN = 3
"""Structures grown from one before another has its turn."""
REFUSALS = 2
"""Explorations in vain after which a structure is closed: one may be a slip of a model."""

Priority = Callable[[Turn, Structure], dict[str, float]]
"""The named parts whose sum says how much an exploration from a structure promises."""


def start(turn: Turn, stage: Stage) -> Item | None:
    """The direct implementation, which every strategy begins with."""
    archive = turn.archive
    if archive.structures or archive.in_flight or not turn.ledger.may_draft:
        return None
    if archive.rootless > turn.stages.repairs:
        return None
    why = "The direct implementation comes first: it is what every structure is measured against."
    return turn.draft(DraftKind.INSTANTIATE, stage, why=why)


def repair(turn: Turn, stage: Stage) -> Item | None:
    """Another try at the newest structure without a correct source."""
    if not turn.ledger.may_draft:
        return None
    broken = [each for each in turn.archive.structures.values() if _is_repairable(turn, each)]
    structure = max(broken, key=lambda each: each.first, default=None)
    if structure is None:
        return None
    number = max(structure.failures)
    failure = structure.failures[number]
    tries = f"try {len(structure.drafts)} of {turn.stages.repairs}"
    if not failure.candidate:
        why = f"The agent brought no source for this structure; {tries}."
        return turn.draft(DraftKind.INSTANTIATE, stage, structure=structure.fingerprint, why=why)
    why = f"Step {number} ended in {failure.status}; repair it with that evidence, {tries}."
    return turn.draft(DraftKind.REPAIR, stage, structure=structure.fingerprint, base=number, why=why)


def explore(
    turn: Turn,
    priority: Priority,
    stage: Stage = Stage.EXPLORE,
    among: Iterable[Structure] | None = None,
) -> Item | None:
    """A new structure, grown from the open one of highest priority.

    Args:
        turn: what is known.
        priority: rates the open ones.
        stage: that the step carries.
        among: structures to choose from; None: all.
    """
    if not turn.ledger.may_draft:
        return None
    parents = turn.archive.structures.values() if among is None else among
    rated = [(each, priority(turn, each)) for each in _rested(turn, parents)]
    if not rated:
        return None
    # Rounded, so that the order of sums cannot decide; of equals the older one wins.
    parent, parts = max(rated, key=lambda pair: (round(sum(pair[1].values()), 6), -pair[0].first))
    told = ", ".join(f"{name} {value:.2f}" for name, value in parts.items())
    why = f"Grow a new structure from {_title(parent)}, the most promising open one ({told})."
    return turn.draft(DraftKind.EXPLORE, stage, structure=parent.fingerprint, why=why, priority=parts)


def tune(turn: Turn, stage: Stage, structure: Structure, why: str) -> Variant | None:
    """Other knob values for a structure; None when its grid is used up or nothing in it is correct."""
    base = source_of(turn, structure)
    if base is None:
        return None
    knobs = turn.tuner.propose(structure, _hints(turn, structure), turn.archive.structures.values())
    if knobs is None:
        return None
    return turn.variant(stage, structure, base, knobs, why)


def source_of(turn: Turn, structure: Structure) -> int | None:
    """Draft whose source a structure's variants take; None as long as nothing was correct."""
    return structure.lead if turn.stages.edits else structure.base


def refine(turn: Turn, stage: Stage, trial: Trial, why: str) -> Draft | None:
    """An edit of a program's source by the agent, with its evidence."""
    if not turn.ledger.may_draft:
        return None
    return turn.draft(DraftKind.REFINE, stage, structure=trial.structure, base=trial.number, why=why)


def refinable(turn: Turn, structure: Structure) -> Trial | None:
    """The structure's best program, unless the agent found nothing to refine in it."""
    best = structure.best
    if best is None:
        return None
    given_up = any(
        refines(item := turn.archive.steps[number].item)
        and item.base == best.number
        and not failure.candidate
        for number, failure in structure.failures.items()
    )
    return None if given_up else best


def refines(item: Item) -> TypeGuard[Draft]:
    """Whether a step asks for an edit."""
    return isinstance(item, Draft) and item.kind is DraftKind.REFINE


def confirm(turn: Turn) -> Item | None:
    """The next finalist, measured again, fresh and at the full tier."""
    archive = turn.archive
    sent = archive.confirming - archive.unconfirmed
    if len(sent) >= finalists(turn.stages, turn.ledger.total):
        return None
    for place, trial in enumerate(archive.surest(len(archive.confirming) + 1), start=1):
        if program_of(trial) not in archive.confirming:
            structure = archive.structures[trial.structure]
            why = f"Finalist {place}, step {trial.number}: measured again, fresh and at the full tier."
            return turn.variant(Stage.CONFIRM, structure, trial.base, trial.knobs, why)
    return None


def is_open(structure: Structure) -> bool:
    """Whether more structures may be grown from here: it works, or it is the direct one beyond repair."""
    stands = structure.base is not None or not (structure.parent or structure.in_flight)
    return stands and structure.blueprint is not None and structure.refusals < REFUSALS


def _rested(turn: Turn, parents: Iterable[Structure]) -> list[Structure]:
    """Open ones; the one that was expanded `CHILDREN` times in a row waits as long as there is another."""
    opened = [each for each in parents if is_open(each)]
    last = turn.archive.expanded[-CHILDREN:]
    tired = last[0] if len(last) == CHILDREN and len(set(last)) == 1 else None
    return [each for each in opened if each.fingerprint != tired] or opened


def _is_repairable(turn: Turn, structure: Structure) -> bool:
    if structure.base is not None or structure.in_flight or not structure.failures:
        return False
    return len(structure.drafts) <= turn.stages.repairs


def _hints(turn: Turn, structure: Structure) -> Iterable[dict[str, KnobValue]]:
    """For the second point of a structure, the best values of the fastest other one.

    Knobs of one name often like the same value. Later points are the structure's own affair: two structures
    tuned side by side would copy each other.
    """
    if len(structure.taken()) != 1:
        return ()
    others = [each.best for each in turn.archive.structures.values() if each is not structure and each.best]
    fastest = max(others, key=lambda trial: trial.rank, default=None)
    return (fastest.knobs,) if fastest else ()


def _title(structure: Structure) -> str:
    return f"“{structure.blueprint.title}”" if structure.blueprint else structure.fingerprint
