"""`python -m gpuworker selftest`: asks the station, prints, and fails on a survivor that nobody has explained."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gpuworker.mutants import markdown
from gpuworker.mutants.explained import explanation
from gpuworker.mutants.record import FEW_MARGIN, MARGIN
from gpuworker.runner import StartError
from search.validation import SelfTest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gpuworker.runner import Runner
    from search.workload import Workload

_PATIENCE_S = 600.0
"""For one workload."""


def run(runner: Runner, workloads: Sequence[Workload], most_bytes: int) -> list[SelfTest]:
    """Self-tests of workloads, in order.

    Args:
        runner: started with the station.
        workloads: what to examine.
        most_bytes: larger cases are left out.

    Raises:
        StartError: a workload cannot be examined, or the device side died.
    """
    found = []
    for workload in workloads:
        answer = runner.ask({"workload": workload.dump(), "most_bytes": most_bytes}, _PATIENCE_S)
        if answer is None or "result" not in answer:
            why = answer["message"] if answer else "the device side died or did not answer"
            raise StartError(f"{workload.name}: {why}")
        found.append(SelfTest.load(answer["result"]))
    return found


def faults(test: SelfTest) -> Iterator[str]:
    """Sentences on what a person must still do about a workload."""
    for one in test.survivors:
        if not explanation(test.workload, one.name):
            yield f"{test.workload}: survivor not explained: {one.name}"
    for honest, least in ((test.honest, MARGIN), (test.honest_few, FEW_MARGIN)):
        if honest and honest.margin < least:
            yield (
                f"{test.workload}: the eager reference has a margin of {honest.margin:.2g}, not {least:g}, "
                f"in case {honest.case}, values {honest.values}"
            )


def report(
    tests: Sequence[SelfTest], most_bytes: int, page: Path | None, *, as_json: bool
) -> tuple[str, int]:
    """What to print and the exit code; writes the page when asked to."""
    if page is not None:
        page.write_text(markdown.page(tests, most_bytes), "utf-8")
    wrong = [sentence for test in tests for sentence in faults(test)]
    code = 1 if wrong else 0
    if as_json:
        return json.dumps([test.dump() for test in tests], indent=1, allow_nan=False), code
    lines = [
        f"{test.workload}: {test.killed} of {test.applied} mutants killed, margin {markdown.margin(test.honest or test.honest_few)}"
        for test in tests
    ]
    return "\n".join([*lines, *wrong]), code
