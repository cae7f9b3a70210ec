"""Host code on ghosts: honest programs become launch plans, what no plan can hold is refused, bad plans are seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from gpuworker.cuda.plan import CasePlan, Fill, Kernel, Launch, LaunchPlan, Pointer, fault, merge
from tests.gpu.gpu_bench import FOLDER

pytest.importorskip("triton")

HONEST = {
    "triton/all_kinds_of_arguments.py": (["launch"], [[1024, 1, 1]], []),
    "triton/heuristics.py": (["launch"], [[1024, 1, 1]], []),
    "triton/persistent.py": (["launch"], [[132, 1, 1]], []),
    "triton/slices.py": (["launch"] * 2, [[512, 1, 1]] * 2, []),
    "triton/zeros_scratch.py": (["fill", "launch"], [[1024, 1, 1]], [4096]),
    "triton/one_scratch_many_views.py": (["fill", "launch", "launch"], [[1024, 4, 1]] * 2, [32768]),
}
"""Steps, grids and scratch of each."""
UNREPLAYABLE = {
    "honest/triton/autotune.py": "tunes itself",
    "honest/triton/data_dependent.py": "_local_scalar_dense",
    "honest/triton/returns.py": "returns its outputs",
    "cheats/triton/torch_softmax.py": "`_softmax`",
    "cheats/triton/torch_beside_kernel.py": "`_softmax`",
}
EMPTY = "cheats/triton/empty_plan.py"
FORGED = "cheats/triton/lying_recorder.py"


@pytest.fixture(scope="module")
def outcomes():
    files = [*(f"honest/{name}" for name in HONEST), *UNREPLAYABLE, EMPTY, FORGED]
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.gpuworker.tracing_cell", *(str(FOLDER / file) for file in files)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    return dict(zip(files, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("file", HONEST)
def test_an_honest_program_becomes_a_plan(outcomes, file):
    outcome = outcomes[f"honest/{file}"]
    assert outcome.get("fault") == "", outcome
    assert (outcome["steps"], outcome["grids"], outcome["scratch"]) == HONEST[file]


@pytest.mark.slow
@pytest.mark.parametrize("file", UNREPLAYABLE)
def test_what_no_plan_can_hold_is_refused(outcomes, file):
    assert UNREPLAYABLE[file] in outcomes[file].get("unreplayable", ""), outcomes[file]


@pytest.mark.slow
def test_a_program_that_strikes_its_launches_is_seen(outcomes):
    assert outcomes[EMPTY]["fault"] == "launches no kernel in case main"


@pytest.mark.slow
def test_a_forged_grid_is_what_will_be_replayed(outcomes):
    assert outcomes[FORGED]["grids"] == [[1, 1, 1]]


# Plans --------------------------------------------------------------------------------------------

KERNEL = Kernel(name="softmax", cubin="AAAA", threads=128, shared_bytes=0)
LAUNCH = Launch(kernel=0, grid=(4, 1, 1), arguments=(Pointer(buffer=0), Pointer(buffer=1)))


def plan(*steps, scratch=()):
    return LaunchPlan(kernels=(KERNEL,), cases=(CasePlan(case="main", steps=steps, scratch=scratch),))


def fill(buffer, offset, count):
    return Fill(buffer=buffer, offset=offset, count=count, width=4, pattern=0)


def test_a_sound_plan_has_no_fault():
    assert fault(plan(fill(2, 8, 2), LAUNCH, scratch=(16,)), 2) == ""


@pytest.mark.parametrize(
    ("faulty", "why"),
    [
        (plan(), "launches no kernel in case main"),
        (plan(fill(0, 0, 1)), "launches no kernel in case main"),
        (plan(LAUNCH.model_copy(update={"kernel": 1})), "launches a kernel that is not there"),
        (
            plan(LAUNCH.model_copy(update={"arguments": (Pointer(buffer=2),)})),
            "uses a buffer that is not there",
        ),
        (plan(LAUNCH, fill(3, 0, 1), scratch=(16,)), "uses a buffer that is not there"),
        (plan(LAUNCH, fill(2, 8, 3), scratch=(16,)), "fills beyond the end of a scratch buffer"),
    ],
    ids=["empty", "only fills", "kernel", "buffer", "fill of no buffer", "fill too long"],
)
def test_a_plan_that_cannot_be_replayed_is_seen(faulty, why):
    assert fault(faulty, 2) == why


@pytest.mark.parametrize(
    "change",
    [
        {"grid": [0, 1, 1]},
        {"grid": [1, 1 << 16, 1]},
        {"kernel": -1},
        {"arguments": [{"type": "pointer", "buffer": -1, "offset": 0}]},
        {"arguments": [{"type": "pointer", "buffer": 0, "offset": -4}]},
        {"arguments": [{"type": "scalar", "value": 1}]},
        {"arguments": [{"type": "address", "value": 4096}]},
    ],
    ids=str,
)
def test_a_malformed_launch_does_not_construct(change):
    with pytest.raises(ValidationError):
        Launch.load({**LAUNCH.dump(), **change})


def test_a_kernel_has_at_most_a_block_of_threads():
    with pytest.raises(ValidationError):
        Kernel.load({**KERNEL.dump(), "threads": 1025})


def test_merged_plans_share_equal_kernels_and_keep_others_apart():
    other = KERNEL.model_copy(update={"cubin": "BBBB"})
    second = LaunchPlan(kernels=(other, KERNEL), cases=(CasePlan(case="odd", steps=(LAUNCH,)),))
    merged = merge([plan(LAUNCH), second])
    assert [kernel.cubin for kernel in merged.kernels] == ["AAAA", "BBBB"]
    assert [case.launches[0].kernel for case in merged.cases] == [0, 1]
