"""How fast this worker judges: evaluations per hour, seconds per stage, beside a worker that starts afresh each time.

The program is the honest canary of the device's kind. `benchmarks/gpu_judge.py` compares with other evaluators.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuworker import requests
from gpuworker.health import canaries
from search.records import Candidate, Language, SourceFile, Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuworker.runner import Runner
    from search.records import Evaluation, EvaluationRequest

_WORKLOAD = "softmax"
_FRESH = 3
_DEADLINE_S = 120.0


def measure(runner: Runner, count: int) -> dict[str, Any]:
    """Judge so many programs, each built anew: one after the other, in one list, and a few from a cold start."""
    honest = canaries.for_device(runner.options.slot)[-1].candidate
    stamp = time.time()
    # The first makes the workload's specimens and baseline, which serve many candidates.
    first, *alone = [
        next(runner.evaluate([request], lambda: None))
        for request in _requests(honest, f"{stamp} alone", count + 1)
    ]
    began = time.monotonic()
    listed = list(runner.evaluate(_requests(honest, f"{stamp} listed", count), lambda: None))
    listed_s = time.monotonic() - began
    fresh = [
        _fresh(noted(honest, f"{stamp} fresh {number}"), runner.options.device) for number in range(_FRESH)
    ]
    return {
        "device": runner.device,
        "workload": _WORKLOAD,
        "language": str(honest.language),
        **account(first, alone),
        "listed_passed": sum(one.status.is_correct for one in listed),
        "listed_seconds": listed_s / count,
        "fresh_process_passed": sum(correct for correct, _ in fresh),
        "fresh_process_seconds": statistics.median(seconds for _, seconds in fresh),
    }


def account(first: Evaluation, later: Sequence[Evaluation]) -> dict[str, Any]:
    """Medians over all evaluations but the first, which pays for what serves many."""
    stages: dict[str, list[float]] = {}
    for evaluation in later:
        for evidence in evaluation.stages:
            stages.setdefault(evidence.stage, []).append(evidence.seconds)
    return {
        "evaluations": len(later),
        "passed": sum(one.status.is_correct for one in later),
        "messages": sorted({f"{one.status}: {one.message}" for one in later if not one.status.is_correct}),
        "seconds": statistics.median(one.wall_seconds for one in later),
        "device_seconds": statistics.median(one.device_seconds for one in later),
        "evaluations_per_hour": 3600 / statistics.mean(one.wall_seconds for one in later),
        "first_seconds": first.wall_seconds,
        "stages_seconds": {stage: statistics.median(seconds) for stage, seconds in stages.items()},
        "method": next((str(one.method) for one in later if one.method), None),
    }


def noted(candidate: Candidate, note: str) -> Candidate:
    """The same program with a comment behind it, which makes it another that is built anew."""
    first, *rest = candidate.sources
    mark = "#" if candidate.language is Language.TRITON else "//"
    file = SourceFile(path=first.path, content=f"{first.content}\n{mark} {note}\n")
    return candidate.model_copy(update={"sources": (file, *rest)})


def _requests(honest: Candidate, note: str, count: int) -> list[EvaluationRequest]:
    """Requests for so many programs that differ in a comment."""
    workload = requests.load_workload(_WORKLOAD)
    made = [
        requests.make(workload, noted(honest, f"{note} {number}"), Tier.FAST, _DEADLINE_S)
        for number in range(count)
    ]
    return [one.model_copy(update={"id": str(number)}) for number, one in enumerate(made)]


def _fresh(candidate: Candidate, device: str) -> tuple[bool, float]:
    """The same work by a worker started for one program, as a command line would; whether it passed, and seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / candidate.sources[0].path
        path.write_text(candidate.sources[0].content)
        own = [sys.executable, "-m", "gpuworker", "evaluate", "--device", device]
        own += ["--workload", _WORKLOAD, "--candidate", str(path), "--language", candidate.language]
        start = time.monotonic()
        done = subprocess.run(own, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return done.returncode == 0, time.monotonic() - start
