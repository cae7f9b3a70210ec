"""What a self-test found."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from search.records import Record

MARGIN = 4.0
"""The honest eager reference must err so many times less than allowed."""
FEW_ELEMENTS = 64
FEW_MARGIN = 2.0
"""The same for outputs of fewer elements: rounding to the output's type, up to half a unit in the last place, does not
average out over a handful of them, and a bound that gave it four times the room would let one percent pass."""
MOST_BYTES = 16 << 20
"""Inputs and outputs of the largest case that is looked at, unless told otherwise."""


class Outcome(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    NO_EFFECT = "no effect"
    """Its outputs are the golden ones in every specimen, so there is nothing to reject."""
    REFUSED = "refused"
    """The reference fails on what the mutant gives it, so no output exists."""


class MutantResult(Record):
    """One mutant against all specimens of a workload."""

    name: str
    group: str
    outcome: Outcome
    specimens: Annotated[int, Field(ge=0)] = 0
    """Specimens in which its outputs differ from the golden ones."""
    rejections: Annotated[int, Field(ge=0)] = 0
    """How many of these the comparison rejects."""
    case: str = ""
    """Where it errs most."""
    values: str = ""
    """Flavour of that specimen's inputs."""
    error: float | None = None
    """Error there in units of what is allowed; None where size is not what is wrong: a pattern, an integer."""
    note: str = ""


class Honest(Record):
    """The eager reference in its own types against its own golden outputs."""

    case: str
    values: str
    error: float | None
    """Largest error in units of what is allowed; None where a pattern or an integer differs."""

    @property
    def margin(self) -> float:
        """How many times smaller than allowed it is."""
        return 1.0 / self.error if self.error is not None else 0.0


class SelfTest(Record):
    """A workload's score."""

    workload: str
    hash: str
    device: str
    cases: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Cases too large for this run."""
    specimens: int
    honest: Honest | None
    """The largest error among specimens with many output elements; None where there is no such specimen."""
    honest_few: Honest | None
    """The same among those with few."""
    scale: float
    least_scale: float | None
    """Smallest power of two for `tolerance.scale` at which the eager reference keeps its margin; None: none does."""
    mutants: tuple[MutantResult, ...]

    @property
    def survivors(self) -> tuple[MutantResult, ...]:
        """What the tolerance lets pass."""
        return tuple(one for one in self.mutants if one.outcome is Outcome.SURVIVED)

    @property
    def killed(self) -> int:
        """How many mutants died."""
        return sum(one.outcome is Outcome.KILLED for one in self.mutants)

    @property
    def applied(self) -> int:
        """How many mutants there were to kill."""
        return self.killed + len(self.survivors)
