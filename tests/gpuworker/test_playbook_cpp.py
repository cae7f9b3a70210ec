"""The playbook's C++ is built as the workshop builds it and compared with float64 numpy."""

from __future__ import annotations

import ctypes
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from search.knobs import macro_flags
from search.records import Language
from tests.gpuworker.playbook_specimens import Specimen, answers, draw_inputs, empty_outputs, error, specimens
from tests.search.agents.playbook_families import CELLS

if TYPE_CHECKING:
    from pathlib import Path

FLAGS = [
    "-O3",
    "-march=native",
    "-fopenmp",
    "-shared",
    "-fPIC",
    "-std=c++17",
    "-fno-math-errno",
    "-Wall",
    "-Werror",
]
SIZES = {
    "softmax": ({"M": 7, "N": 33}, {"M": 5, "N": 1}, {"M": 13, "N": 4099}),
    "rmsnorm": ({"M": 7, "N": 33}, {"M": 5, "N": 1}, {"M": 13, "N": 4099}),
    "gemm_bias_gelu": (
        {"M": 17, "N": 19, "K": 23},
        {"M": 1, "N": 5, "K": 1},
        {"M": 150, "N": 300, "K": 97},
    ),
}
MASKED, NAN, INF = -np.inf, np.nan, np.inf


class Built:
    """A loaded kernel."""

    def __init__(self, specimen: Specimen, folder: Path) -> None:
        self.specimen = specimen
        source, library = folder / "kernel.cpp", folder / "kernel.so"
        source.write_text(specimen.source)
        command = ["g++", *FLAGS, *macro_flags(specimen.knobs), str(source), "-o", str(library)]
        built = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert built.returncode == 0, f"{specimen.name}\n{built.stderr[:2000]}"
        self.run = ctypes.CDLL(str(library)).run
        self.run.argtypes = [ctypes.c_void_p] * 3

    def __call__(self, inputs: list[np.ndarray], sizes: dict[str, int]) -> np.ndarray:
        workload = self.specimen.workload
        out = empty_outputs(workload, sizes)[0].numpy()
        arrays = [*inputs, out]
        buffers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        axes = (ctypes.c_int64 * len(sizes))(*(sizes[name] for name in workload.axes))
        assert self.run(buffers, axes, None) == 0
        return out


@pytest.fixture(scope="module", params=[name for name, language in CELLS if language is Language.CPP])
def built(request, tmp_path_factory) -> list[Built]:
    """Every specimen of a workload, two compilers at a time."""
    found = specimens(request.param, Language.CPP)
    folders = [tmp_path_factory.mktemp("kernel") for _ in found]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(Built, found, folders))


def test_outputs_are_right(built):
    for kernel in built:
        workload = kernel.specimen.workload
        for sizes in SIZES[workload.name]:
            given = draw_inputs(workload, sizes)
            inputs = [tensor.numpy() for tensor in given]
            before = [array.copy() for array in inputs]
            out = torch.from_numpy(kernel(inputs, sizes))
            assert error(workload, [out], answers(workload, given)) <= 1, f"{kernel.specimen.name} at {sizes}"
            assert all(np.array_equal(*pair) for pair in zip(before, inputs, strict=True))


def test_a_second_call_with_other_sizes_starts_afresh(built):
    for kernel in built:
        workload = kernel.specimen.workload
        for sizes in (*SIZES[workload.name], *reversed(SIZES[workload.name])):
            given = draw_inputs(workload, sizes, seed=sum(sizes.values()))
            out = torch.from_numpy(kernel([tensor.numpy() for tensor in given], sizes))
            assert error(workload, [out], answers(workload, given)) <= 1


def test_softmax_treats_infinities_and_nan_as_torch_does(built):
    rows = np.random.default_rng(0).standard_normal((5, 300)).astype(np.float32)
    rows[0, :290], rows[1], rows[2, 7], rows[3, 8] = MASKED, MASKED, NAN, INF
    for kernel in built:
        if kernel.specimen.workload.op_type != "softmax":
            continue
        out = kernel([rows], {"M": 5, "N": 300})
        assert np.array_equal(out[0] == 0, rows[0] == MASKED), kernel.specimen.name
        assert np.isnan(out[1:4]).all(), kernel.specimen.name
        assert np.isfinite(out[4]).all(), kernel.specimen.name
