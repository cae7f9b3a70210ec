"""Our own sections of the benchmark: candidates through a running worker, and its clock against itself.

    python benchmarks/gpu_judge_ours.py speed|accuracy OUT [--device cuda:0] [--smoke] [--limit SECONDS]

Writes JSON after every figure, so that what there is outlasts a timeout. Builds go to a new folder, so nothing is
cached from an earlier run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gpu_judge_programs as programs
import gpu_judge_work as work
from gpu_judge_figures import summary

from gpuworker import requests
from gpuworker.bench import noted
from gpuworker.options import Options
from gpuworker.runner import Runner
from search.records import EvaluationStatus, Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from search.records import Candidate, Evaluation
    from search.workload import Workload

_DEADLINE_S = 60.0
_FULL_COUNT, _BATCHES, _REPEATS, _SLOPES = 5, 2, 10, 5


class Bench:
    """One running worker and the document of what it did."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Start the worker.

        Raises:
            StartError: it does not start.
        """
        self.smoke = bool(arguments.smoke)
        self._out = Path(arguments.out)
        self._stop = time.monotonic() + arguments.limit
        self.results: dict[str, Any] = {}
        began = time.monotonic()
        self._state = tempfile.TemporaryDirectory(prefix="kernelsite-bench-")
        self.runner = Runner(Options(device=arguments.device, state=self._state.name))
        self.note("worker", device=self.runner.start(), start_s=time.monotonic() - began)

    def note(self, section: str, **figures: Any) -> None:
        """Add figures to a section and write the file."""
        self.results.setdefault(section, {}).update(figures)
        self._out.write_text(json.dumps(self.results))

    def within(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items for which there is time."""
        for item in items:
            if time.monotonic() > self._stop:
                return
            yield item

    def judge(
        self, workload: Workload, candidates: Sequence[Candidate], tier: Tier = Tier.FAST
    ) -> list[Evaluation]:
        """One list of requests, as one message of the site would bring it."""
        batch = [requests.make(workload, one, tier, _DEADLINE_S) for one in candidates]
        numbered = [one.model_copy(update={"id": str(number)}) for number, one in enumerate(batch)]
        return list(self.runner.evaluate(numbered, lambda: None))


def alone(bench: Bench, section: str, candidates: Sequence[Candidate], tier: Tier) -> None:
    """Each candidate in a request of its own; the first makes the workload's specimens and is told apart."""
    workload = work.our_workload(smoke=bench.smoke)
    judged: list[tuple[float, Evaluation]] = []
    for candidate in bench.within(candidates):
        began = time.monotonic()
        evaluation = bench.judge(workload, [candidate], tier)[0]
        judged.append((time.monotonic() - began, evaluation))
        first, *later = judged
        bench.note(section, **account([one for _, one in later]), first_s=first[0])
        passed = [(wall_s, one) for wall_s, one in later if one.status is EvaluationStatus.PASSED]
        bench.note(section, wall_s=summary([wall_s for wall_s, _ in passed]), tier=str(tier))
        bench.note(section, device_s=summary([one.device_seconds for _, one in passed]))


def account(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """How evaluations ended, and where their time went."""
    stages: dict[str, list[float]] = {}
    for evaluation in evaluations:
        for evidence in evaluation.stages:
            stages.setdefault(evidence.stage, []).append(evidence.seconds)
    found = [
        evidence.details.get("start_seconds") for evaluation in evaluations for evidence in evaluation.stages
    ]
    starts = [seconds for seconds in found if isinstance(seconds, float)]
    refused = [one for one in evaluations if one.status is not EvaluationStatus.PASSED]
    return {
        "statuses": dict(Counter(str(one.status) for one in evaluations)),
        "messages": [f"{one.status}: {one.message[:300]} {one.log[-300:]}" for one in refused[:3]],
        "methods": dict(Counter(str(one.method) for one in evaluations)),
        "stages_s": {stage: summary(seconds) for stage, seconds in stages.items()},
        "start_s": summary(starts),
        "median_us": [one.median_us for one in evaluations],
        "speedup": [one.speedup and one.speedup.value for one in evaluations],
    }


def batches(bench: Bench) -> None:
    """Knob variants of one source in one list; each batch is of another text, so that it is built anew."""
    workload = work.our_workload(smoke=bench.smoke)
    per_variant: list[float] = []
    evaluations: list[Evaluation] = []
    for number in bench.within(range(_BATCHES)):
        variants = [noted(one, f"batch {number}") for one in work.our_variants(smoke=bench.smoke)]
        began = time.monotonic()
        evaluations += bench.judge(workload, variants)
        per_variant.append((time.monotonic() - began) / len(variants))
        bench.note("ours_batch", **account(evaluations), wall_s=summary(per_variant), variants=len(variants))


def speed(bench: Bench) -> None:
    """Fast tier, batches, full tier."""
    candidates = work.our_candidates(smoke=bench.smoke)
    alone(bench, "ours", candidates, Tier.FAST)
    batches(bench)
    # Timed cases that the fast tier leaves out have no specimens yet, so again the first one pays.
    again = [noted(one, "full tier") for one in candidates[: _FULL_COUNT + 1]]
    alone(bench, "ours_full", again, Tier.FULL)


def accuracy(bench: Bench) -> None:
    """One kernel judged over and over, by trusted launches and by slopes, on a long case and a short one."""
    plain, hosted = work.candidate(programs.plain_program()), work.candidate(programs.hosted_program())
    if bench.smoke:
        plain = hosted = requests.sample()
    jobs = [
        ("large", programs.LARGE_ROWS, plain, _REPEATS),
        ("large_slope", programs.LARGE_ROWS, hosted, _SLOPES),
        ("small", programs.SMALL_ROWS, plain, _REPEATS),
    ]
    for name, rows, candidate, repeats in jobs:
        workload = work.our_workload((rows,), smoke=bench.smoke)
        evaluations: list[Evaluation] = []
        for _ in bench.within(range(repeats)):
            evaluations += bench.judge(workload, [candidate], Tier.FAST if bench.smoke else Tier.FULL)
            measured = [case.model_dump(mode="json") for one in evaluations for case in one.cases]
            bench.note("accuracy", **{name: {**account(evaluations), "cases": measured}})


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["speed", "accuracy"])
    parser.add_argument("out")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--limit", type=float, default=120.0, help="start nothing new after so many seconds")
    arguments = parser.parse_args()
    bench = Bench(arguments)
    try:
        {"speed": speed, "accuracy": accuracy}[arguments.part](bench)
    finally:
        bench.runner.close()


if __name__ == "__main__":
    main()
