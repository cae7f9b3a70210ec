"""The other end of `measure.py`: `python -m gpuworker evaluate --baselines eager,compile,library`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gpuworker.baselines.registry import BASELINES
from gpuworker.intervals import median_interval
from search.records import Interval

if TYPE_CHECKING:
    from gpuworker.runner import Runner
    from search.records import CaseTiming, Evaluation, EvaluationRequest

_PATIENCE_S = 1200.0


def names(text: str) -> list[str]:
    """Named baselines from a command line.

    Raises:
        argparse.ArgumentTypeError: one is not known.
    """
    found = [word for word in text.split(",") if word]
    for word in found:
        if word not in BASELINES:
            raise argparse.ArgumentTypeError(f"{word!r} is not among {', '.join(BASELINES)}")
    return found


def compare(
    runner: Runner, request: EvaluationRequest, evaluation: Evaluation, wanted: list[str]
) -> dict[str, Any]:
    """What `evaluate` prints besides the evaluation: `intervals_us` by case, and `baselines` by name."""
    document = {"baselines": wanted, "workload": request.workload, "tier": request.tier}
    answer = runner.ask(document, _PATIENCE_S)
    if answer is None or "baselines" not in answer:
        why = answer["message"] if answer else "the device side died or did not answer"
        found: dict[str, Any] = {name: {"error": why} for name in wanted}
    else:
        found = {name: _beside(one, evaluation) for name, one in answer["baselines"].items()}
    return {"intervals_us": {one.case: _interval_us(one) for one in evaluation.cases}, "baselines": found}


def _interval_us(timing: CaseTiming) -> dict[str, float]:
    """95 % bootstrap interval of the median."""
    found = median_interval(timing.samples_us or [timing.median_us])
    return {"low": found.low, "high": found.high}


def _beside(baseline: dict[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    """A baseline with the candidate's speed-up over it, case by case.

    Both were measured in turns with the eager reference, whose clock drifts as theirs do, so their speed-ups are divided;
    the interval is as wide as both allow.
    """
    timings = {one.case: one for one in evaluation.cases}
    for case, measured in baseline.get("cases", {}).items():
        over = Interval.load(measured.pop("speedup"))
        measured["over_eager"] = over.dump()
        if ours := timings.get(case):
            measured["candidate_speedup"] = {
                "value": ours.speedup.value / over.value,
                "low": ours.speedup.low / over.high,
                "high": ours.speedup.high / over.low,
            }
    return baseline


def lines(compared: dict[str, Any]) -> list[str]:
    """For people."""
    found = []
    for name, one in compared["baselines"].items():
        if "cases" not in one:
            found.append(f"  {name}: {one.get('none') or one.get('error')}")
            continue
        for case, timing in one["cases"].items():
            speedup = timing.get("candidate_speedup")
            beside = (
                f", {speedup['value']:.2f}x ({speedup['low']:.2f} to {speedup['high']:.2f})"
                if speedup
                else ""
            )
            found.append(f"  {name}, {case}: {timing['median_us']:.1f} us{beside}")
    return found
