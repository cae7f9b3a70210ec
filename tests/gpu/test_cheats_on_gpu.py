"""Every file in `cheats/` ends as its head says, every file in `honest/` passes.

A head says `expect:` with the statuses that may come of it. Where it says `no faster than:` an honest file, it may
pass, but not with a better time than that one.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gpuworker.sandbox import FIRST_UID
from tests.gpu.gpu_bench import FOLDER, HIDDEN_SIZES, SECRET, Bench, corpus, label, note

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

CHEATS, HONEST = corpus("cheats"), corpus("honest")
NOBODY = 65534
NOISE = 0.93
"""A cheat gained nothing when its time is more than this share of the honest one's."""


@pytest.fixture(scope="module")
def bench():
    before = inmates()
    with Bench() as opened:
        yield opened
    deadline = time.monotonic() + 10.0
    while (left := inmates() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left, "cells outlived their worker"


def inmates():
    """Processes of the users that cells run as."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            uid = folder.stat().st_uid
        except OSError:
            continue
        if FIRST_UID <= uid < NOBODY:
            found.add(int(folder.name))
    return found


def test_there_are_enough():
    assert len(CHEATS) >= 40
    assert len(HONEST) >= 20


@pytest.fixture(scope="module")
def judged(bench):
    return bench.judge_all(HONEST)


@pytest.mark.parametrize("path", HONEST, ids=label)
def test_an_honest_kernel_passes(bench, judged, path):
    evaluation = judged[path]
    if evaluation.status == "UNSTABLE_TIMING":
        evaluation = bench.judge(path)
    assert evaluation.status == "PASSED", f"{evaluation.message}\n{evaluation.log}"
    assert evaluation.median_us > evaluation.cases[0].floor_us


@pytest.mark.parametrize("path", CHEATS, ids=label)
def test_a_cheat_is_caught(bench, path):
    evaluation = bench.judge(path)
    told = evaluation.model_dump_json()
    assert SECRET not in told
    assert HIDDEN_SIZES not in told, "tells the sizes of the hidden case"
    assert evaluation.status in note(path, "expect").split(", "), f"{evaluation.message}\n{evaluation.log}"
    if evaluation.status == "PASSED":
        least = FOLDER / "honest" / note(path, "no faster than")
        assert evaluation.median_us >= NOISE * bench.least_us(least), "gained by cheating"
    else:
        assert evaluation.message
