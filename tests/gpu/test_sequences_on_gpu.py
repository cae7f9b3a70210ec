"""What one candidate does to the device leaves the next one alone, and the judge's times hold against others'."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

import pytest

from search.workload import Case
from tests.gpu.gpu_bench import FOLDER, SOFTMAX, Bench, note
from tests.gpu.gpu_device import chosen_device

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

GOOD = FOLDER / "honest/triton/plain.py"
BAD = [
    "triton/illegal_access.py",
    "triton/endless.py",
    "pytorch/device_memory_bomb.py",
    "triton/device_assert.py",
    "cuda/illegal_access.cu",
]
GAP_US = 6.0
"""An event before and one after a single launch count that much beside the kernel."""
DO_BENCH = """
import importlib.util, sys
import torch, triton.testing

torch.cuda.set_device(torch.device(sys.argv[4]))
spec = importlib.util.spec_from_file_location("kernel", sys.argv[1])
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)
x = torch.randn(int(sys.argv[2]), int(sys.argv[3]), device="cuda")
y = torch.empty_like(x)
print(1e3 * triton.testing.do_bench(lambda: kernel.run(x, y), return_mode="median"))
"""


@pytest.fixture(scope="module")
def bench():
    with Bench() as opened:
        yield opened


def good_us(bench):
    evaluation = bench.judge(GOOD)
    assert evaluation.status == "PASSED", evaluation.message
    return evaluation.median_us


def test_a_bad_candidate_leaves_the_next_one_alone(bench):
    before_us = median(good_us(bench) for _ in range(3))
    for name in BAD:
        path = FOLDER / "cheats" / name
        assert bench.judge(path).status in note(path, "expect").split(", ")
        after_us = min((good_us(bench) for _ in range(2)), key=lambda us: abs(us - before_us))
        print(f"after {name}: {after_us:.2f} us, before {before_us:.2f} us")
        assert after_us == pytest.approx(before_us, rel=0.05), name


VARIANTS = """KNOBS = {"FAULT": 0}
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr, FAULT: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < N
    values = tl.load(x + row * N + at, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    right = powers / tl.sum(powers, axis=0)
    if FAULT == 1:
        tl.store(y + (1 << 45) + row, 0.0)
    if FAULT == 2:
        right = right * 1.01
    if FAULT == 3:
        more = tl.load(x + row * N, volatile=True)
        while more == more:
            more = tl.load(x + row * N, volatile=True)
    tl.store(y + row * N + at, right, mask=mask)


def run(x, y):
    M, N = x.shape
    softmax[(M,)](x, y, N, BLOCK=triton.next_power_of_2(N), FAULT=KNOBS["FAULT"])
"""


def test_a_bad_variant_leaves_its_neighbours_in_a_batch_alone(bench):
    faults = [0, 1, 0, 2, 0, 3, 0, 1, 0]
    ends = {0: "PASSED", 1: "ILLEGAL_ACCESS", 2: "INCORRECT_NUMERICAL", 3: "HANG"}
    found = bench.judge_variants(VARIANTS, [{"FAULT": fault} for fault in faults], deadline_s=12.0)
    assert [one.status for one in found] == [ends[fault] for fault in faults]
    times = [one.median_us for one in found if one.median_us]
    print("good variants among bad ones:", [round(us, 3) for us in times])
    assert max(times) <= 1.05 * min(times)


def test_a_hang_is_over_in_time(bench):
    path = FOLDER / "cheats/triton/endless.py"
    started = time.monotonic()
    assert bench.judge(path).status == "HANG"
    assert time.monotonic() - started < float(note(path, "deadline")) + 5.0


def test_the_tenth_job_is_like_the_first(bench):
    times = [good_us(bench) for _ in range(10)]
    print("ten jobs:", [round(us, 3) for us in times])
    # Single jobs differ by noise; a worker that wears out shows in the middle of three.
    assert median(times[-3:]) == pytest.approx(median(times[:3]), rel=0.02)


@pytest.mark.parametrize("sizes", [(1024, 1024), (4096, 4096)], ids=str)
def test_the_time_agrees_with_do_bench(bench, sizes):
    case = Case(name="main", axes=dict(zip("MN", sizes, strict=True)))
    ours = bench.judge(GOOD, SOFTMAX.model_copy(update={"cases": (case,)}))
    assert ours.status == "PASSED", ours.message
    command = [sys.executable, "-c", DO_BENCH, str(GOOD), *map(str, sizes), chosen_device()]
    theirs_us = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    print(f"{sizes}: judge {ours.median_us:.2f} us ({ours.method}), do_bench {theirs_us:.2f} us")
    assert abs(theirs_us - ours.median_us) <= max(GAP_US, 0.03 * theirs_us)
