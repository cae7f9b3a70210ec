"""How fast this worker judges: evaluations per hour, seconds per stage, beside a runner that starts afresh each time."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuworker import requests
from search.records import Tier

if TYPE_CHECKING:
    from gpuworker.runner import Runner
    from search.records import Evaluation

_FRESH = 3


def measure(runner: Runner, count: int) -> dict[str, Any]:
    """Judge so many programs, each built anew, and the same a few times from a cold start."""
    workload = requests.load_workload("softmax")
    stamp = time.time()
    batch = [
        requests.make(workload, requests.sample(f"{stamp} {number}"), Tier.FAST, 120.0)
        for number in range(count + 1)
    ]
    # The first makes the workload's specimens and baseline, which serve many candidates.
    evaluations = list(runner.evaluate(batch, lambda: None))
    later = evaluations[1:]
    seconds = statistics.median(one.wall_seconds for one in later)
    return {
        "device": runner.device,
        "workload": "softmax",
        "evaluations": count,
        "passed": sum(one.status.is_correct for one in later),
        "seconds": seconds,
        "evaluations_per_hour": 3600 / statistics.mean(one.wall_seconds for one in later),
        "first_seconds": evaluations[0].wall_seconds,
        "stages_seconds": _stages(later),
        "fresh_process_seconds": statistics.median(_fresh_s(stamp + number) for number in range(_FRESH)),
    }


def _stages(evaluations: list[Evaluation]) -> dict[str, float]:
    seconds: dict[str, list[float]] = {}
    for evaluation in evaluations:
        for stage in evaluation.stages:
            seconds.setdefault(stage.stage, []).append(stage.seconds)
    return {stage: statistics.median(values) for stage, values in seconds.items()}


def _fresh_s(stamp: float) -> float:
    """The same work by a worker started for one program, as a command line would."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.cpp"
        path.write_text(requests.sample(str(stamp)).sources[0].content)
        own = [
            sys.executable,
            "-m",
            "gpuworker",
            "evaluate",
            "--workload",
            "softmax",
            "--candidate",
            str(path),
        ]
        start = time.monotonic()
        subprocess.run(own, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.monotonic() - start
