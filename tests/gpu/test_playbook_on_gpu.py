"""Every Triton structure of the playbook runs on a CUDA device and is compared with its reference in float64.

    KS_TEST_DEVICE=cuda:0,cuda:1 python -m pytest -m gpu tests/gpu/test_playbook_on_gpu.py -q -n 12

Nearly all of the time is Triton's compiler, so workers of pytest-xdist share a device well; inputs and answers of a
workload are made once in each of them.
"""

from __future__ import annotations

import functools
import importlib.util
import random

import pytest

from search.records import Language
from tests.gpu.gpu_device import chosen_device
from tests.search.agents.playbook_families import WORKLOADS

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

from tests.gpuworker.playbook_specimens import (  # noqa: E402
    SIZES,
    all_structures,
    answers,
    draw_inputs,
    empty_outputs,
    error,
    specimen,
)

LARGER = {
    "gemm": {"M": 256, "N": 256, "K": 1024},
    "gqa_paged": {"batch_size": 5, "num_kv_heads": 4, "num_pages": 300, "num_kv_indices": 290},
    "stencil": {"H": 256, "W": 384},
}
"""Sizes that are multiples of blocks, by operation; 256 rows of 2048 elsewhere."""

CELLS = [
    pytest.param(slug, blueprint, id=f"{slug}: {blueprint.title}")
    for slug in WORKLOADS
    for blueprint in all_structures(slug, Language.TRITON)
]


@functools.cache
def question(slug, *, larger):
    """Sizes of all axes, inputs on the device and on the CPU, and the answers."""
    workload = WORKLOADS[slug]
    small, large = SIZES[workload.op_type], LARGER.get(workload.op_type, {"M": 256, "N": 2048})
    axes = large if larger else small
    sizes = workload.sizes(workload.cases[0].model_copy(update={"axes": axes}))
    given = draw_inputs(workload, sizes)
    moved = [one.cuda() if isinstance(one, torch.Tensor) else one for one in given]
    return sizes, moved, given, answers(workload, given)


@pytest.fixture(autouse=True)
def device():
    torch.set_num_threads(1)  # many processes share the machine's cores
    torch.cuda.set_device(torch.device(chosen_device()))


@pytest.mark.parametrize("drawn", [False, True], ids=["default", "drawn"])
@pytest.mark.parametrize(("slug", "blueprint"), CELLS)
def test_structure_is_right_on_the_device(slug, blueprint, drawn, tmp_path):
    workload = WORKLOADS[slug]
    seed = blueprint.fingerprint
    one = specimen(slug, Language.TRITON, blueprint, random.Random(seed) if drawn else None)
    path = tmp_path / "kernel.py"
    path.write_text(one.source)
    spec = importlib.util.spec_from_file_location("kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for larger in (False, True):
        sizes, moved, given, right = question(slug, larger=larger)
        outputs = empty_outputs(workload, sizes, "cuda")
        try:
            module.run(*moved, *outputs)
        except Exception as problem:
            if drawn and "out of resource" in str(problem):
                pytest.skip(f"{one.knobs} ask for more than the device has")
            raise
        torch.cuda.synchronize()
        assert error(workload, outputs, right) <= 1, f"{one.name} at {sizes}"
        for tensor, original in zip(moved, given, strict=True):
            if isinstance(tensor, torch.Tensor):
                assert torch.equal(tensor.cpu(), original), "an input was written to"
