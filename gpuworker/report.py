"""Collects the evidence of one evaluation as its stages go by, and makes the record of it."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from gpuworker import environment
from gpuworker.intervals import geometric_mean
from gpuworker.verdicts import RejectedError
from search.records import (
    TEXT_LIMIT,
    CaseTiming,
    ClauseVerdict,
    Evaluation,
    EvaluationRequest,
    EvaluationStage,
    EvaluationStatus,
    StageEvidence,
    TimingMethod,
    content_hash,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from gpuworker.devices.device import DeviceFacts
    from gpuworker.timing import Result
    from search.workload import Workload

_OFF_DEVICE = {EvaluationStage.INTAKE, EvaluationStage.STATIC, EvaluationStage.BUILD}


class Report:
    """What is known of an evaluation so far."""

    def __init__(self, request: EvaluationRequest, facts: DeviceFacts) -> None:
        """Start the wall clock."""
        self._request = request
        self._facts = facts
        self._began = time.monotonic()
        self._stages: list[StageEvidence] = []
        self._rejected: RejectedError | None = None
        self._cases: list[CaseTiming] = []
        self._ratios: list[tuple[float, ...]] = []
        self._weights: list[float] = []
        self.workload_hash = content_hash(request.workload)
        self.verdicts: tuple[ClauseVerdict, ...] = ()
        self.device_seconds = 0.0
        self.method = TimingMethod.SLOPE
        self.discarded: tuple[str, ...] = ()
        """Why earlier blocks of measurements were thrown away."""

    @contextlib.contextmanager
    def stage(self, stage: EvaluationStage) -> Iterator[dict[str, JsonValue]]:
        """Time a stage and note how it ended; the caller may put details into what it gets."""
        details: dict[str, JsonValue] = {}
        start = time.monotonic()
        passed, message = False, ""
        try:
            yield details
            passed = True
        except RejectedError as error:
            message = error.message[:TEXT_LIMIT]
            raise
        finally:
            seconds = time.monotonic() - start
            evidence = StageEvidence(
                stage=stage, passed=passed, seconds=seconds, message=message, details=details
            )
            self._stages.append(evidence)

    def timed(self, result: Result, workload: Workload) -> None:
        """Add the time of one case."""
        self._cases.append(result.timing)
        self._ratios.append(result.ratios)
        self._weights.append(next(case.weight for case in workload.cases if case.name == result.timing.case))

    def discard(self, error: RejectedError) -> None:
        """Forget what was seen on the device, to see it again; the reason is kept."""
        self.discarded = (*self.discarded, error.message[:TEXT_LIMIT])
        self._stages = [stage for stage in self._stages if stage.stage in _OFF_DEVICE]
        for measured in (self._cases, self._ratios, self._weights):
            measured.clear()

    def reject(self, error: RejectedError) -> None:
        """Note why it ended early; a time goes with it."""
        self._rejected = error
        self._cases.clear()

    def evaluation(self) -> Evaluation:
        """The record."""
        status, message, log = self._ending()
        timed = bool(self._cases)
        return Evaluation(
            status=status,
            tier=self._request.tier,
            purpose=self._request.purpose,
            candidate=self._request.candidate.hash,
            environment=environment.environment(self._facts, self.workload_hash),
            stages=tuple(self._stages),
            verdicts=self.verdicts,
            cases=tuple(self._cases),
            speedup=geometric_mean(self._ratios, self._weights) if timed else None,
            median_us=self._median_us() if timed else None,
            baseline=environment.baseline_name(self._facts) if timed else "",
            method=self.method if timed else None,
            message=message,
            log=log,
            device_seconds=self.device_seconds,
            wall_seconds=time.monotonic() - self._began,
            measured_by=self._facts.name,
        )

    def _ending(self) -> tuple[EvaluationStatus, str, str]:
        if self._rejected:
            return self._rejected.status, self._rejected.message[:TEXT_LIMIT], self._rejected.log[:TEXT_LIMIT]
        return (EvaluationStatus.PASSED if self._cases else EvaluationStatus.UNTIMED), "", ""

    def _median_us(self) -> float:
        return geometric_mean([[case.median_us] for case in self._cases], self._weights).value
