"""The reference of a workload on one case: loaded, run for golden outputs, and run eagerly against them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpuworker import inputs, yardstick
from gpuworker.contender import Patience
from gpuworker.verdicts import RejectedError
from search.records import TEXT_LIMIT, EvaluationStatus
from search.validation import CaseRun

if TYPE_CHECKING:
    from gpuworker.court import Court
    from search.workload import Workload

_LINE = 300
"""Characters of the last line that a reference printed."""


def trial(workload: Workload, name: str, patience_s: float, court: Court) -> CaseRun:
    """Run one case in cells that are gone afterwards.

    Args:
        workload: of which the case is.
        name: of the case.
        patience_s: a reference that takes longer hangs.
        court: gives device and cells.

    Raises:
        InfrastructureError: this worker is at fault.
    """
    case = next(case for case in workload.cases if case.name == name)
    alone = workload.model_copy(update={"cases": (case,)})
    court.unpark()
    began = time.monotonic()
    try:
        inputs.admit(alone)
        patience = Patience(began + patience_s, patience_s)
        yardstick.build(alone, court.block, court.device, patience).close()
    except RejectedError as error:
        message, log = _told(error, patience_s)[:TEXT_LIMIT], error.log[-TEXT_LIMIT:]
        return CaseRun(case=name, passed=False, seconds=time.monotonic() - began, message=message, log=log)
    return CaseRun(case=name, passed=True, seconds=time.monotonic() - began)


def _told(error: RejectedError, patience_s: float) -> str:
    cause = error.__cause__
    if isinstance(cause, RejectedError) and cause.status in {EvaluationStatus.TIMEOUT, EvaluationStatus.HANG}:
        return f"the reference did not finish within {patience_s:g} s"
    # Of what it printed, the last line says most: the exception.
    last = error.log.rstrip().rpartition("\n")[2].strip()[:_LINE]
    return f"{error.message}: {last}" if last else error.message
