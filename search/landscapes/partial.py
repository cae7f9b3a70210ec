"""A recording under way: JSON lines, one per evaluation, so that a killed recorder goes on where it was."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from search.records import (
    HARNESS_VERSION,
    Environment,
    EvaluationStage,
    EvaluationStatus,
    Record,
    TimingMethod,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from search.landscapes.design import Places
    from search.records import Evaluation

MESSAGE_LIMIT = 300
RESOURCES_LIMIT = 2000
"""Characters of JSON kept of what a build says."""

NOT_BUILT = "not built"
"""How the message of a point begins that its plan excluded."""

Key = tuple[int, tuple[int, ...], int]
"""Structure, point, round."""


class PartialError(ValueError):
    """The file is no recording of this plan."""


class Row(Record):
    """What is kept of one evaluation."""

    structure: int
    knobs: tuple[int, ...]
    round: int
    status: EvaluationStatus
    charged: bool
    device_seconds: float
    message: str = ""
    median_us: float | None = None
    p10_us: float | None = None
    p90_us: float | None = None
    samples: int | None = None
    baseline_us: float | None = None
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    environment: Environment
    baseline: str = ""
    method: TimingMethod | None = None
    resources: dict[str, JsonValue] = {}

    @property
    def key(self) -> Key:
        """What was measured, in which round."""
        return (self.structure, self.knobs, self.round)


def row_not_built(structure: int, places: Places, thread_bytes: int, environment: Environment) -> Row:
    """Of a point that was left out by its plan: what a build that takes too long would have said."""
    return Row(
        structure=structure,
        knobs=places,
        round=0,
        status=EvaluationStatus.TIMEOUT,
        charged=True,
        device_seconds=0.0,
        message=f"{NOT_BUILT}: a thread would keep {thread_bytes} bytes by the plan, which does not compile in time",
        environment=environment,
    )


def row_of(structure: int, places: Places, round_number: int, evaluation: Evaluation) -> Row:
    """Cut an evaluation down to a row; numbers keep six digits."""
    return Row(
        structure=structure,
        knobs=places,
        round=round_number,
        status=evaluation.status,
        charged=evaluation.charged,
        device_seconds=round(evaluation.device_seconds, 4),
        message=_plain(evaluation.message),
        environment=evaluation.environment,
        baseline=evaluation.baseline,
        method=evaluation.method,
        resources=_resources(evaluation),
        **_times(evaluation),
    )


class PartialFile:
    """Appends rows; a last line that a kill cut short is dropped."""

    def __init__(self, path: Path, plan_hash: str) -> None:
        """Open the file of a plan, or begin it.

        Raises:
            PartialError: it is of another plan or harness, or a line in it is broken.
        """
        self.path = path
        self.rows: dict[Key, Row] = {}
        self.versions: dict[str, str] = {}
        """What the device worker says of itself; of the last one where several went on with the file."""
        self.date = datetime.now(UTC).date().isoformat()
        if path.exists() and path.stat().st_size:
            self._load(plan_hash)
        else:
            head = {"plan": plan_hash, "date": self.date, "harness": HARNESS_VERSION}
            path.write_text(json.dumps(head) + "\n")

    def add(self, row: Row) -> None:
        """Keep a row, on disk before anything else."""
        with self.path.open("a") as file:
            file.write(row.model_dump_json(exclude_defaults=True) + "\n")
        self.rows[row.key] = row

    def note_versions(self, description: Mapping[str, object]) -> None:
        """Keep a device worker's words about itself, shortened."""
        self.versions = {_plain(name)[:40]: _plain(str(word)) for name, word in description.items()}

    def _load(self, plan_hash: str) -> None:
        text = self.path.read_bytes()
        whole, _, torn = text.rpartition(b"\n")
        if torn:
            self.path.write_bytes(whole + b"\n")
        lines = whole.decode().splitlines()
        try:
            head = json.loads(lines[0])
            held, self.date, harness = head["plan"], head["date"], head["harness"]
            rows = [Row.model_validate_json(line) for line in lines[1:]]
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise PartialError(f"{self.path}: {error}") from error
        if held != plan_hash:
            raise PartialError(
                f"{self.path}: is a recording of another plan; remove it or name another --out"
            )
        if harness != HARNESS_VERSION:
            raise PartialError(
                f"{self.path}: was measured by harness {harness}, this is {HARNESS_VERSION}, and rows of one "
                "landscape must agree; remove it or name another --out"
            )
        self.rows = {row.key: row for row in rows}


def _times(evaluation: Evaluation) -> dict[str, Any]:
    if not evaluation.cases:
        return {}
    case = evaluation.cases[0]
    return {
        "median_us": _short(case.median_us),
        "p10_us": _short(case.p10_us),
        "p90_us": _short(case.p90_us),
        "samples": case.samples,
        "baseline_us": _short(case.baseline_us),
        "speedup": _short(case.speedup.value),
        "low": _short(case.speedup.low),
        "high": _short(case.speedup.high),
    }


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _plain(text: str) -> str:
    """Text of a compiler or a kernel: printable, its first lines."""
    return "".join(sign for sign in text if sign.isprintable() or sign == "\n")[:MESSAGE_LIMIT]


def _resources(evaluation: Evaluation) -> dict[str, JsonValue]:
    built = [stage for stage in evaluation.stages if stage.stage is EvaluationStage.BUILD and stage.passed]
    details = built[0].details if built else {}
    return details if len(json.dumps(details)) <= RESOURCES_LIMIT else {}
