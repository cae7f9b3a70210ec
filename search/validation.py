"""What a device worker finds out about a workload before anybody searches: does its reference run, would it catch a wrong kernel.

A validation runs the reference on every case, holds wrong programs (mutants) against the judge's comparison, and times
the named baselines. Nothing of it is a verdict on a candidate.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, JsonValue

from search.records import Environment, Record

TRIVIAL = ("zeros", "ones", "mean everywhere", "first element everywhere")
"""Mutants that compute nothing. A workload that lets one pass needs a person's acknowledgement before a search."""
SELFTEST_BYTES = 16 << 20
"""Inputs and outputs of the largest case that mutants are tried on; the smallest case always is."""


# The self-test ------------------------------------------------------------------------------------


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

    @property
    def is_trivial(self) -> bool:
        """Whether it computes nothing and would pass: it survived, or zeros or ones are the right answer."""
        kind = self.name.partition(" (`")[0]
        if kind not in TRIVIAL:
            return False
        return self.outcome is Outcome.SURVIVED or (
            self.outcome is Outcome.NO_EFFECT and kind in ("zeros", "ones")
        )


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
    def trivial(self) -> tuple[MutantResult, ...]:
        """Programs that compute nothing and pass."""
        return tuple(one for one in self.mutants if one.is_trivial)

    @property
    def killed(self) -> int:
        """How many mutants died."""
        return sum(one.outcome is Outcome.KILLED for one in self.mutants)

    @property
    def applied(self) -> int:
        """How many mutants there were to kill."""
        return self.killed + len(self.survivors)


# The job ------------------------------------------------------------------------------------------


class ValidationRequest(Record):
    """Asks a device worker to validate one workload. `id` and `token` come back with every message."""

    id: str
    token: str
    workload: dict[str, JsonValue]
    """`search.workload.Workload` as JSON."""
    device_class: str
    baselines: tuple[str, ...] = ("eager", "library", "compile")
    selftest_bytes: Annotated[int, Field(ge=0)] = SELFTEST_BYTES
    reference_s: Annotated[float, Field(gt=0)] = 120.0
    """A reference that takes longer on a case hangs."""


class Part(StrEnum):
    """What a validation does, in this order."""

    CASES = "cases"
    MUTANTS = "mutants"
    BASELINES = "baselines"


class Ending(StrEnum):
    """How a validation ended."""

    PASSED = "passed"
    """The reference is sound; what the mutants say is another matter."""
    FAILED = "failed"
    """The workload is at fault."""
    INFRA = "infra"
    """The worker is at fault; it may be made again."""


class CaseRun(Record):
    """The reference on one case: golden outputs, the eager run held against them."""

    case: str
    passed: bool
    seconds: Annotated[float, Field(ge=0)]
    message: str = ""
    """Why it failed, trimmed; hostile text."""
    log: str = ""


class BaselineTime(Record):
    """Time of a named baseline on one case, in microseconds per call."""

    median_us: Annotated[float, Field(gt=0)]
    p10_us: Annotated[float, Field(gt=0)]
    p90_us: Annotated[float, Field(gt=0)]
    floor_us: float | None = None
    """What the device can do at most, from the work that the workload declares."""


class BaselineFigure(Record):
    """A named baseline: times by case, or why there are none."""

    title: str = ""
    cases: dict[str, BaselineTime] = {}
    why: str = ""
    """Why there are no times; hostile text where a program failed."""


class Validation(Record):
    """What is known so far, and at the end all of it."""

    hash: str
    """Content hash of the workload."""
    environment: Environment | None = None
    part: Part = Part.CASES
    """What it is at."""
    ending: Ending | None = None
    """None: not at the end yet."""
    message: str = ""
    cases: tuple[CaseRun, ...] = ()
    selftest: SelfTest | None = None
    selftest_note: str = ""
    """Why there is no self-test."""
    baselines: dict[str, BaselineFigure] = {}
    seconds: Annotated[float, Field(ge=0)] = 0.0
