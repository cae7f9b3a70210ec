"""Is this machine fit to judge? Sandbox, compiler, verdicts, repeatability of times."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuworker import requests
from search.records import EvaluationStatus, SourceFile, Tier

if TYPE_CHECKING:
    from gpuworker.runner import Runner
    from search.records import Candidate, Evaluation

_REPEATS = 5
_SPREAD = 0.10
_DEADLINE_S = 60.0


@dataclass(frozen=True)
class Finding:
    """One check."""

    name: str
    fine: bool
    text: str


def examine(runner: Runner) -> list[Finding]:
    """All checks on a worker that has started, which it only does behind walls that its own canary could not leave."""
    device = runner.device
    sandboxed = device["sandbox"].startswith("sandboxed")
    found = [
        Finding("device", True, f"{device['model']}, {device['driver']}, {device['runtime']}"),
        Finding(
            "sandbox", sandboxed, f"{device['sandbox']}; the canary stayed inside" if sandboxed else "none"
        ),
        Finding("cores", True, f"candidates on {device['cores']}"),
    ]
    return [*found, _catches(runner), *_repeats(runner)]


def _judge(runner: Runner, candidate: Candidate) -> Evaluation:
    request = requests.make(requests.load_workload("softmax"), candidate, Tier.FAST, _DEADLINE_S)
    return next(runner.evaluate([request], lambda: None))


def _catches(runner: Runner) -> Finding:
    """A kernel that scales its output must not pass."""
    honest = requests.sample()
    source = honest.sources[0].content.replace("1.0f / sum", "1.01f / sum")
    wrong = honest.model_copy(update={"sources": (SourceFile(path="wrong.cpp", content=source),)})
    evaluation = _judge(runner, wrong)
    caught = evaluation.status is EvaluationStatus.INCORRECT_NUMERICAL
    return Finding("a wrong kernel", caught, f"{evaluation.status}: {evaluation.message}")


def _repeats(runner: Runner) -> list[Finding]:
    evaluations = [_judge(runner, requests.sample()) for _ in range(_REPEATS)]
    times_us = [one.median_us for one in evaluations if one.median_us is not None]
    if len(times_us) < _REPEATS:
        failed = next(one for one in evaluations if one.median_us is None)
        return [Finding("an honest kernel", False, f"{failed.status}: {failed.message}")]
    middle = statistics.median(times_us)
    spread = (max(times_us) - min(times_us)) / middle
    text = f"{middle:.1f} us, {_REPEATS} medians within {spread:.1%}"
    return [
        Finding("an honest kernel", True, f"{evaluations[0].status}"),
        Finding("repeatability", spread <= _SPREAD, text),
    ]
