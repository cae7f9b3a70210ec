"""What travels between the site, the engine and the device workers; JSON is the wire and the file format.

Records are strict and frozen. Units stand in field names. NaN and infinity never construct, so they
never enter JSON. Read JSON with `Record.load` (a decoded document) or `Record.model_validate_json`.
"""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

HARNESS_VERSION = "4"
"""Part of every environment key: raise it when the judge measures differently."""

SOURCE_LIMIT_BYTES = 256 * 1024
TEXT_LIMIT = 4000
"""Longest message kept from a compiler, a kernel or a model, in characters."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
KnobValue = bool | int | str


class Record(BaseModel):
    """A strict, frozen, JSON-shaped value."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def load(cls, document: Any) -> Self:
        """Build from decoded JSON, where enumerations are words and tuples are lists.

        Raises:
            pydantic.ValidationError: names the field that is wrong.
        """
        return cls.model_validate_json(json.dumps(document, allow_nan=False))

    def dump(self) -> dict[str, Any]:
        """JSON-ready dictionary, fit for a message or a JSON column."""
        return self.model_dump(mode="json")


def content_hash(document: JsonValue) -> str:
    """SHA-256 of canonical JSON (sorted keys, no spaces, no NaN)."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


# Words -----------------------------------------------------------------------------------------


class SearchState(StrEnum):
    """Life of a search. `stale` is a display fact (no heartbeat), not a state."""

    DRAFT = "draft"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FINISHED = "finished"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """Nothing more will happen."""
        return self in {SearchState.STOPPED, SearchState.FINISHED, SearchState.FAILED}


class WaitReason(StrEnum):
    """Why a search is `waiting`."""

    REVIEW = "review"
    DEVICE = "device"
    RATE_LIMIT = "rate_limit"
    BUDGET = "budget"
    QUOTA = "quota"


class Stage(StrEnum):
    """Where a step belongs in the stage machine."""

    EXPLORE = "explore"
    TUNE = "tune"
    CONFIRM = "confirm"


class DraftKind(StrEnum):
    """What an agent is asked for."""

    EXPLORE = "explore"
    INSTANTIATE = "instantiate"
    REPAIR = "repair"
    REFINE = "refine"
    JUDGE = "judge"


class Language(StrEnum):
    """What a candidate is written in."""

    TRITON = "triton"
    CUDA = "cuda"
    CPP = "cpp"
    PYTORCH = "pytorch"


class Tier(StrEnum):
    """How much is measured: `fast` inside a search, `full` for what is kept."""

    FAST = "fast"
    FULL = "full"


class Purpose(StrEnum):
    """Why an evaluation is made."""

    SEARCH = "search"
    CONFIRM = "confirm"
    PROMOTE = "promote"
    VALIDATE = "validate"
    BASELINE = "baseline"
    REMEASURE = "remeasure"


class EvaluationStatus(StrEnum):
    """How an evaluation ended. The first seven are FlashInfer-Trace's."""

    PASSED = "PASSED"
    COMPILE_ERROR = "COMPILE_ERROR"
    RUNTIME_ERROR = "RUNTIME_ERROR"
    INCORRECT_SHAPE = "INCORRECT_SHAPE"
    INCORRECT_DTYPE = "INCORRECT_DTYPE"
    INCORRECT_NUMERICAL = "INCORRECT_NUMERICAL"
    TIMEOUT = "TIMEOUT"
    CONTRACT_VIOLATION = "CONTRACT_VIOLATION"
    REWARD_HACK = "REWARD_HACK"
    INVALID_REFERENCE = "INVALID_REFERENCE"
    OOM = "OOM"
    HANG = "HANG"
    ILLEGAL_ACCESS = "ILLEGAL_ACCESS"
    CRASH = "CRASH"
    NONFINITE = "NONFINITE"
    INPUT_MUTATED = "INPUT_MUTATED"
    OUT_OF_BOUNDS = "OUT_OF_BOUNDS"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    TIMING_MISMATCH = "TIMING_MISMATCH"
    UNSTABLE_TIMING = "UNSTABLE_TIMING"
    UNTIMED = "UNTIMED"
    INFRA_ERROR = "INFRA_ERROR"

    @property
    def is_correct(self) -> bool:
        """The outputs were right, whether or not a time was had."""
        return self in {EvaluationStatus.PASSED, EvaluationStatus.UNTIMED, EvaluationStatus.UNSTABLE_TIMING}


class EvaluationStage(StrEnum):
    """Stages of an evaluation, cheapest and safest first."""

    INTAKE = "intake"
    STATIC = "static"
    BUILD = "build"
    SMOKE = "smoke"
    CORRECTNESS = "correctness"
    INTEGRITY = "integrity"
    TIMING = "timing"
    PROMOTION = "promotion"


class Verdict(StrEnum):
    """Answer of a contract check. Undecidable never counts as pass."""

    PASS = "pass"
    VIOLATED = "violated"
    UNDECIDABLE = "undecidable"


class ClauseKind(StrEnum):
    """What a structural contract can fix."""

    KERNELS = "kernels"
    GRID = "grid"
    REDUCTION = "reduction"
    CONTRACTION = "contraction"
    INTERMEDIATES = "intermediates"
    ATOMICS = "atomics"
    BARRIERS = "barriers"
    DESCRIPTORS = "descriptors"
    WARP_SPECIALISATION = "warp_specialisation"
    NUMERICS = "numerics"
    FUSION = "fusion"
    NO_TORCH_COMPUTE = "no_torch_compute"


class TimingMethod(StrEnum):
    """How a time was taken; stored with every number."""

    TRUSTED_LAUNCH = "trusted-launch"
    SLOPE = "slope"
    RECORDED = "recorded"


class TaskName(StrEnum):
    """Celery task names: the only thing the site and the device side share."""

    EVALUATE = "gpuworker.evaluate"
    ADVANCE = "searches.advance"
    PROPOSE = "searches.propose"
    STARTED = "searches.started"
    ALIVE = "searches.alive"
    RECORD = "searches.record"
    SWEEP = "searches.sweep"
    HELLO = "fleet.hello"
    VALIDATE = "gpuworker.validate"
    VALIDATION_STARTED = "validations.started"
    VALIDATION_ALIVE = "validations.alive"
    VALIDATION_RECORD = "validations.record"
    PROBE = "gpuworker.probe"
    PROBE_STARTED = "probes.started"
    PROBE_ALIVE = "probes.alive"
    PROBE_RECORD = "probes.record"


class Queue(StrEnum):
    """Broker queues. Device queues are made by `device_queue`."""

    CONTROL = "control"
    AGENT = "agent"
    CPU = "cpu"
    RECORDED = "recorded"


def device_queue(device_class: str) -> str:
    """Queue of a device class: `cpu` and `recorded…` by name, everything else `gpu.<class>`."""
    if device_class == "cpu":
        return Queue.CPU
    if device_class.split(":")[0] == "recorded":
        return Queue.RECORDED
    return f"gpu.{device_class}"


class EventKind(StrEnum):
    """Kinds of rows in a search's event log."""

    CREATED = "search.created"
    STATE = "search.state"
    STAGE = "search.stage"
    ASKED = "step.asked"
    CALLED = "step.called"
    FAILED_DRAFT = "step.failed"
    STRUCTURE = "structure.created"
    STRUCTURE_CHANGED = "structure.changed"
    RETAINED = "structure.retained"
    CANDIDATE = "candidate.created"
    QUEUED = "evaluation.queued"
    STARTED = "evaluation.started"
    RECORDED = "evaluation.recorded"
    LOST = "evaluation.lost"
    BUDGET = "search.budget"
    MODEL = "search.model"
    REVIEWED = "search.reviewed"
    BEST = "search.best"
    RESULT = "search.result"


# Candidates and contracts ------------------------------------------------------------------------


class Knob(Record):
    """A numeric or word parameter that tuning may change without touching the structure."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")]
    choices: Annotated[tuple[KnobValue, ...], Field(min_length=1)]
    default: KnobValue
    note: str = ""

    @model_validator(mode="after")
    def _default_is_a_choice(self) -> Self:
        if self.default not in self.choices:
            raise ValueError(f"knob {self.name}: default {self.default!r} is not one of its choices")
        return self


class SourceFile(Record):
    """One file of a candidate; the first file of a candidate holds the entry point."""

    path: Annotated[str, StringConstraints(pattern=r"^[\w][\w.\-/]*$")]
    content: str


class Candidate(Record):
    """A program to be evaluated: sources plus knob values.

    ABI (`settled.md`): Python modules have `run(*inputs, *outputs)`; C++ and CUDA have
    `extern "C" int run(void** buffers, const int64_t* axes, void* stream)`.
    """

    language: Language
    sources: Annotated[tuple[SourceFile, ...], Field(min_length=1)]
    entry_point: str = "run"
    knobs: dict[str, KnobValue] = {}
    structure: str = ""
    """Fingerprint of the blueprint it implements; empty for a free program."""
    parent: str = ""
    """Hash of the candidate it was made from; empty for the first."""

    @property
    def source_hash(self) -> str:
        """Identity of the program without its knob values."""
        files: list[JsonValue] = [[file.path, file.content] for file in self.sources]
        return content_hash({"language": self.language, "sources": files, "entry": self.entry_point})

    @property
    def hash(self) -> str:
        """Identity of the program: sources, language, entry point and knob values."""
        return content_hash({"source": self.source_hash, "knobs": dict(self.knobs)})


class Clause(Record):
    """One promise of a structural contract, e.g. `reduction` of axis `N` is `online`."""

    kind: ClauseKind
    subject: str = ""
    """Axis, kernel or tensor the clause speaks of; empty for the whole program."""
    value: JsonValue
    """What must hold; its shape belongs to the clause's own file in `search/contract/`."""

    @property
    def text(self) -> str:
        """One line for people."""
        value = self.value if isinstance(self.value, str) else json.dumps(self.value, sort_keys=True)
        return f"{self.kind}({self.subject}) = {value}" if self.subject else f"{self.kind} = {value}"


class Signature(Record):
    """Axes and arguments of an entry point in the ABI's order; lets a checker tell which value is which axis."""

    axes: tuple[str, ...] = ()
    inputs: dict[str, tuple[str, ...]] = {}
    """Name to axes, in the definition's order."""
    outputs: dict[str, tuple[str, ...]] = {}
    dtypes: dict[str, str] = {}
    """Element type by argument name."""


class Contract(Record):
    """What every candidate of one structure must keep. Derived from a blueprint, never typed by hand."""

    structure: str
    clauses: tuple[Clause, ...]
    knobs: tuple[Knob, ...] = ()
    signature: Signature = Signature()


class ClauseVerdict(Record):
    """Answer for one clause with the line that shows it."""

    clause: Clause
    verdict: Verdict
    evidence: str = ""
    line: int | None = None


# Evaluations -------------------------------------------------------------------------------------


class Interval(Record):
    """A measured value with its 95 % interval."""

    value: float
    low: float
    high: float

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.value <= self.high:
            raise ValueError("an interval needs low <= value <= high")
        return self


class StageEvidence(Record):
    """What one stage saw."""

    stage: EvaluationStage
    passed: bool
    seconds: Annotated[float, Field(ge=0)]
    message: str = ""
    details: dict[str, JsonValue] = {}


class CaseTiming(Record):
    """Time of one case. Medians over slope pairs, in microseconds per call."""

    case: str
    median_us: Annotated[float, Field(gt=0)]
    p10_us: Annotated[float, Field(gt=0)]
    p90_us: Annotated[float, Field(gt=0)]
    samples: Annotated[int, Field(ge=1)]
    baseline_us: Annotated[float, Field(gt=0)]
    speedup: Interval
    """Baseline over candidate, bootstrap interval of paired samples."""
    samples_us: tuple[float, ...] = ()
    """Every kept sample, for histograms."""
    floor_us: float | None = None


class Environment(Record):
    """Where a number comes from. Only results of equal `key` are ranked together."""

    device_class: str
    device: str
    """Model name, e.g. `NVIDIA H200` or the processor's name."""
    driver: str = ""
    runtime: str = ""
    """Compiler and library versions that matter for a time, in one line."""
    harness: str = HARNESS_VERSION
    policy: str = ""
    """Sandbox, clock and cache policy words, e.g. `sandboxed slope warm core=1`."""
    workload: str
    """Content hash of the workload version."""

    @property
    def key(self) -> str:
        """Hash of everything above."""
        return content_hash(self.dump())


class EvaluationRequest(Record):
    """Asks a device worker to judge one candidate. `id` and `token` come back with every message."""

    id: str
    token: str
    workload: dict[str, JsonValue]
    """`search.workload.Workload` as JSON."""
    candidate: Candidate
    contract: Contract | None = None
    device_class: str
    tier: Tier = Tier.FAST
    purpose: Purpose = Purpose.SEARCH
    deadline_s: Annotated[float, Field(gt=0)] = 120.0
    needs_walls: bool = True
    """Not all of it came with Kernelsite (a model wrote it, somebody uploaded it): never run without a sandbox."""


class Evaluation(Record):
    """The judge's answer. A pass without a time, or a time without a pass, does not construct."""

    status: EvaluationStatus
    tier: Tier
    purpose: Purpose
    candidate: str
    """Hash of the candidate."""
    environment: Environment
    stages: tuple[StageEvidence, ...] = ()
    verdicts: tuple[ClauseVerdict, ...] = ()
    cases: tuple[CaseTiming, ...] = ()
    speedup: Interval | None = None
    """Geometric mean over timed cases of baseline over candidate."""
    median_us: Annotated[float, Field(gt=0)] | None = None
    """Geometric mean over timed cases."""
    baseline: str = ""
    """What the speed-up is against, e.g. `torch eager 2.13.0, same core`."""
    method: TimingMethod | None = None
    message: str = ""
    """Why it failed, trimmed; hostile text, to be escaped wherever it is shown."""
    log: str = ""
    device_seconds: Annotated[float, Field(ge=0)] = 0.0
    wall_seconds: Annotated[float, Field(ge=0)] = 0.0
    measured_by: str = ""
    """Host and device, unique within the class; empty where nobody told. No part of the environment: two machines of
    one kind are ranked together."""

    @property
    def charged(self) -> bool:
        """Whether it counts against a budget: from the build stage on, infrastructure failures free."""
        if self.status is EvaluationStatus.INFRA_ERROR:
            return False
        return any(stage.stage is EvaluationStage.BUILD for stage in self.stages)

    @model_validator(mode="after")
    def _time_means_passed(self) -> Self:
        timed = bool(self.cases) and self.speedup is not None and self.median_us is not None
        timed = timed and self.method is not None and bool(self.baseline)
        if self.status is EvaluationStatus.PASSED and not timed:
            raise ValueError("PASSED needs cases, speedup, median_us, baseline and method")
        may_time = {
            EvaluationStatus.PASSED,
            EvaluationStatus.UNSTABLE_TIMING,
            EvaluationStatus.TIMING_MISMATCH,
        }
        if self.status not in may_time and (self.cases or self.speedup or self.median_us):
            raise ValueError(f"{self.status} must not carry a time")
        return self
