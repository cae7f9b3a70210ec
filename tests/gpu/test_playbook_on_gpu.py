"""Every Triton structure of the playbook runs on a CUDA device and is compared with float64 numpy."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from search.agents.playbook.writers import write_source
from search.library import shipped_library, shipped_workload, structures
from search.records import Language
from tests.gpuworker.playbook_specimens import answer, draw_inputs, error

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

SIZES = {
    "softmax": [{"M": 5, "N": 300}, {"M": 256, "N": 2048}],
    "rmsnorm": [{"M": 5, "N": 300}, {"M": 256, "N": 2048}],
    "gemm_bias_gelu": [{"M": 35, "N": 70, "K": 50}, {"M": 256, "N": 256, "K": 256}],
}
CELLS = [
    pytest.param(slug, blueprint, id=f"{slug}: {blueprint.title}")
    for slug in SIZES
    for blueprint in structures(shipped_workload(slug), shipped_library(), Language.TRITON)
]


@pytest.mark.parametrize(("slug", "blueprint"), CELLS)
def test_structure_is_right_on_the_device(slug, blueprint, tmp_path):
    workload = shipped_workload(slug)
    path = tmp_path / "kernel.py"
    path.write_text(write_source(blueprint, workload, Language.TRITON).content)
    spec = importlib.util.spec_from_file_location("kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for sizes in SIZES[slug]:
        inputs = draw_inputs(workload, sizes)
        shape = workload.shape(next(iter(workload.outputs.values())), sizes)
        tensors = [torch.from_numpy(array).cuda() for array in inputs]
        out = torch.full(shape, float("nan"), device="cuda")
        module.run(*tensors, out)
        torch.cuda.synchronize()
        assert error(workload, out.cpu().numpy(), answer(workload, inputs)) <= 1, sizes
        for tensor, array in zip(tensors, inputs, strict=True):
            assert np.array_equal(tensor.cpu().numpy(), array, equal_nan=True), "an input was written to"
