"""Runs the tests that are `alone`; beside them those that wait for kills, and those that only compute; then those that measure.

The ones that are alone wait for browsers and sites, and half of the machine idles; what fills it has one
core and gives way at once. Tests that measure times begin when all that is done.

    python tests/gaps.py [pytest's arguments]
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOT_ONE_TEST = 5
"""Of pytest: arguments may leave one of the streams without a test."""


ELSEWHERE = {"alone": ("search", "gpuworker"), "measuring": ("search", "kernelsite")}
"""Folders that hold none of a stream; to read all tests takes a quarter of a minute."""


def pytest_command(stream: str, arguments: list[str]) -> list[str]:
    left_out = [f"--ignore=tests/{folder}" for folder in ELSEWHERE.get(stream, ())]
    return [sys.executable, "-m", "pytest", "-m", f"not exhaustive and {stream}", *left_out, *arguments]


def give_way() -> None:
    os.nice(19)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


@contextlib.contextmanager
def beside(command: list[str], prepare: Callable[[], None] | None = None) -> Iterator[list[int]]:
    """Runs a command; behind the block its output is printed, and its answer is in the list."""
    answer: list[int] = []
    with tempfile.TemporaryFile("w+", errors="replace") as told:
        running = subprocess.Popen(command, stdout=told, stderr=subprocess.STDOUT, preexec_fn=prepare)
        yield answer
        answer.append(running.wait())
        told.seek(0)
        print(told.read(), flush=True)


def main(arguments: list[str]) -> int:
    with (
        beside(pytest_command("filler", arguments), give_way) as filled,
        beside(pytest_command("patient", arguments)) as waited,
    ):
        alone = subprocess.run(pytest_command("alone", arguments), check=False).returncode
    measured = subprocess.run(pytest_command("measuring", arguments), check=False).returncode
    # One that was killed has a number below 0.
    return int(any(code not in (0, NOT_ONE_TEST) for code in (alone, *filled, *waited, measured)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
