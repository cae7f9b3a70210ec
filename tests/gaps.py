"""Runs the tests that are `alone`, in their gaps, at the lowest priority, those that only compute, then those that measure.

The ones that are alone wait for browsers, sites and kills, and half of the machine idles; what fills it has one
core and gives way at once. Tests that measure times begin when all that is done.

    python tests/gaps.py [pytest's arguments]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

NOT_ONE_TEST = 5
"""Of pytest: arguments may leave one of the streams without a test."""


def pytest_command(marks: str, arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", "-m", f"not exhaustive and {marks}", *arguments]


def give_way() -> None:
    os.nice(19)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryFile("w+", errors="replace") as told:
        gaps = subprocess.Popen(
            pytest_command("filler", arguments), stdout=told, stderr=subprocess.STDOUT, preexec_fn=give_way
        )
        alone = subprocess.run(pytest_command("alone", arguments), check=False).returncode
        filled = gaps.wait()
        told.seek(0)
        print(told.read(), flush=True)
    measured = subprocess.run(pytest_command("measuring", arguments), check=False).returncode
    # One that was killed has a number below 0.
    return int(any(code not in (0, NOT_ONE_TEST) for code in (alone, filled, measured)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
