"""Every file in `cheats/` ends as its first line says; every file in `cheats/honest/` passes.

A first line names the statuses that may come of it, or `PASSED at N us`: it may pass, but never with a
better time than its work really takes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from search.workload import Policy, shipped_workload

FOLDER = Path(__file__).parent / "cheats"
CHEATS = sorted([*FOLDER.glob("*.cpp"), *FOLDER.glob("*.py")])
ATOMIC = shipped_workload("softmax").model_copy(update={"policy": Policy(deterministic=False)})
"""Takes sums whose last bits differ from call to call."""
HONEST = sorted([*(FOLDER / "honest").glob("*.cpp"), *(FOLDER / "honest").glob("*.py")])


def first_line(path):
    return path.read_text().splitlines()[0].lstrip("/# ")


def name(path):
    return path.name


def test_the_corpus_is_there():
    assert len(CHEATS) >= 8
    assert len(HONEST) >= 4


@pytest.mark.parametrize("path", CHEATS, ids=name)
def test_a_cheat_is_caught(judge, path):
    expected, _, _ = first_line(path).partition(": ")
    evaluation = judge(path, deadline_s=6.0 if "HANG" in expected else 30.0)
    assert "LEAK" not in evaluation.log
    assert "canary-5f1e" not in evaluation.model_dump_json()
    if least := re.fullmatch(r"PASSED at (\d+) us", expected):
        assert evaluation.status in {"PASSED", "TIMING_MISMATCH", "UNSTABLE_TIMING"}, evaluation.message
        assert evaluation.median_us is None or evaluation.median_us >= 0.97 * int(least[1])
    else:
        assert evaluation.status in expected.split(" | "), evaluation.message
        assert evaluation.message
        assert evaluation.median_us is None


@pytest.mark.parametrize("path", HONEST, ids=name)
def test_an_honest_kernel_passes(judge, path):
    evaluation = judge(path, **({"workload": ATOMIC} if path.stem == "atomics" else {}))
    assert evaluation.status == "PASSED", f"{evaluation.message}\n{evaluation.log}"
    assert evaluation.median_us > evaluation.cases[0].floor_us


def test_nothing_is_left_after_a_cheat(judge, runner):
    judge(FOLDER / "daemon.py")
    evaluation = judge(HONEST[0])
    assert evaluation.status == "PASSED"
