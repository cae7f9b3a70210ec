"""The playbook's Triton runs in the interpreter and is compared with float64 numpy."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from search.library import shipped_workloads
from search.records import Language
from tests.gpuworker.playbook_specimens import answer, draw_inputs, error, specimens

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("triton")

SIZES = {
    "softmax": {"M": 5, "N": 300},
    "rmsnorm": {"M": 5, "N": 300},
    "gemm_bias_gelu": {"M": 35, "N": 70, "K": 50},
}
# The interpreter must be chosen before Triton is imported, hence a process of its own.
RUNNER = """
import importlib.util, pathlib, sys, numpy, torch
for folder in map(pathlib.Path, sys.argv[1:]):
    spec = importlib.util.spec_from_file_location(folder.name, folder / "kernel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arrays = numpy.load(folder / "arrays.npz")
    tensors = [torch.from_numpy(arrays[name]) for name in arrays.files]
    module.run(*tensors)
    numpy.save(folder / "out.npy", tensors[-1].numpy())
"""


def interpret(folders: list[Path]) -> None:
    """Run `kernel.py` of every folder on its `arrays.npz`, of which the last is the output."""
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", RUNNER, *map(str, folders)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]


@pytest.mark.parametrize("slug", list(shipped_workloads()))
def test_outputs_are_right(slug, tmp_path):
    found, sizes, folders = specimens(slug, Language.TRITON), SIZES[slug], []
    workload = found[0].workload
    inputs = draw_inputs(workload, sizes)
    out = np.full(workload.shape(next(iter(workload.outputs.values())), sizes), np.nan, np.float32)
    for number, specimen in enumerate(found):
        folder = tmp_path / f"kernel_{number}"
        folder.mkdir()
        (folder / "kernel.py").write_text(specimen.source)
        np.savez(folder / "arrays.npz", *inputs, out)
        folders.append(folder)
    interpret(folders)
    right = answer(workload, inputs)
    for specimen, folder in zip(found, folders, strict=True):
        assert error(workload, np.load(folder / "out.npy"), right) <= 1, specimen.name
