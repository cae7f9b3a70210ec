"""The review gate: a person says which structures go on to stage 2, with a reason for each.

A `Decision` is part of a search's history as its steps are: it holds the number of the last step that was
known when it was taken, so a replay takes it at the same place. A decision either ends stage 1 (something is
retained, nothing more is asked for) or asks for more: knob trials of a structure, or a structure of a person's own.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from search.blueprint import Blueprint
from search.records import DraftKind, Record, Stage
from search.strategies import moves

if TYPE_CHECKING:
    from search.archive import Archive
    from search.steps import Item
    from search.strategies.strategy import Turn
    from search.structure import Structure

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class Verdict(StrEnum):
    """What a reviewer says about one structure."""

    RETAINED = "retained"
    DROPPED = "dropped"
    PROBED = "probed"
    """More knob trials before it is judged."""
    ADDED = "added"
    """By hand: a structure that the search did not bring."""


class Ruling(Record):
    """One structure's verdict."""

    structure: str
    """Fingerprint."""
    verdict: Verdict
    reason: Reason
    probes: Annotated[int, Field(ge=0, le=64)] = 0
    """Knob trials asked for; only of `probed`."""
    blueprint: Blueprint | None = None
    """Only of `added`."""

    @model_validator(mode="after")
    def _carries_what_its_verdict_needs(self) -> Self:
        if (self.verdict is Verdict.PROBED) != (self.probes > 0):
            raise ValueError(
                f"structure {self.structure}: probes belong to the verdict probed, and to no other"
            )
        if (self.verdict is Verdict.ADDED) != (self.blueprint is not None):
            raise ValueError(
                f"structure {self.structure}: a blueprint belongs to the verdict added, and to no other"
            )
        if self.blueprint is not None and self.blueprint.fingerprint != self.structure:
            raise ValueError(f"structure {self.structure}: the blueprint has another fingerprint")
        return self


class Decision(Record):
    """What a reviewer decided at the gate."""

    after: Annotated[int, Field(ge=1)]
    """Last step that was asked before it."""
    by: str = ""
    """Who decided, for people."""
    rulings: Annotated[tuple[Ruling, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_one_decision(self) -> Self:
        named = [ruling.structure for ruling in self.rulings]
        if len(named) != len(set(named)):
            raise ValueError("a structure has two rulings")
        if not self.asks_for_more and not self.retained:
            raise ValueError("a decision retains a structure, or asks for probes or for one added by hand")
        return self

    @property
    def retained(self) -> tuple[str, ...]:
        """Structures kept, in the order written."""
        return tuple(each.structure for each in self.rulings if each.verdict is Verdict.RETAINED)

    @property
    def asks_for_more(self) -> bool:
        """Whether stage 1 goes on; retained and dropped are then no more than notes."""
        return any(each.verdict in (Verdict.PROBED, Verdict.ADDED) for each in self.rulings)


class Gate:
    """Decisions of one search, and what they asked for that was not done yet."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self._wanted: dict[str, int] = {}
        """Points of a structure's grid that are to be tried before the gate is reached again."""

    @property
    def asks(self) -> bool:
        """Whether stage 1 goes on as a reviewer wants it."""
        return bool(self.decisions) and self.decisions[-1].asks_for_more

    def decide(self, decision: Decision, archive: Archive) -> None:
        """Take in a decision.

        Raises:
            ValueError: taken at another step, or it names a structure that is not there, is there already, or
                has no correct program.
        """
        if decision.after != archive.last:
            raise ValueError(
                f"decided after step {decision.after}, but the gate stands after step {archive.last}"
            )
        for ruling in decision.rulings:
            _check(ruling, archive.structures.get(ruling.structure))
        self.decisions.append(decision)
        for ruling in decision.rulings:
            if ruling.blueprint is not None:
                archive.plant(ruling.blueprint)
            if ruling.probes:
                points = len(archive.structures[ruling.structure].points)
                self._wanted[ruling.structure] = points + ruling.probes

    def ask(self, turn: Turn) -> Item | None:
        """The next step of what the last decision asked for."""
        return _write_planted(turn) or moves.repair(turn, Stage.EXPLORE) or self._probe(turn)

    def _probe(self, turn: Turn) -> Item | None:
        for fingerprint, points in self._wanted.items():
            structure = turn.archive.structures[fingerprint]
            if len(structure.taken()) < points:
                why = "A reviewer asks for more knob trials before judging it."
                if item := moves.tune(turn, Stage.EXPLORE, structure, why):
                    return item
        return None


def _write_planted(turn: Turn) -> Item | None:
    for structure in turn.archive.structures.values():
        is_new = structure.is_planted and not structure.drafts and not structure.in_flight
        if is_new and turn.ledger.may_draft:
            why = "Added by a reviewer: write its first source."
            return turn.draft(DraftKind.INSTANTIATE, Stage.EXPLORE, structure=structure.fingerprint, why=why)
    return None


def _check(ruling: Ruling, known: Structure | None) -> None:
    if ruling.verdict is Verdict.ADDED:
        if known is not None:
            raise ValueError(f"structure {ruling.structure} cannot be added: the search has it")
    elif known is None:
        raise ValueError(f"structure {ruling.structure} is not one of this search")
    elif ruling.verdict in (Verdict.RETAINED, Verdict.PROBED) and known.base is None:
        raise ValueError(f"structure {ruling.structure} cannot be {ruling.verdict}: no program of it works")
