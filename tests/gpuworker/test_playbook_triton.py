"""The playbook's Triton runs in the interpreter, is compared with its reference in float64, and compiles for an H200."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import torch

from search.knobs import with_knobs
from search.records import Language
from tests.gpuworker.playbook_specimens import (
    SIZES,
    Specimen,
    all_structures,
    answers,
    draw_inputs,
    empty_outputs,
    error,
    in_half,
    specimen,
    specimens,
)
from tests.search.agents.playbook_families import FAMILIES, WORKLOADS

if TYPE_CHECKING:
    from pathlib import Path

    from search.workload import Workload

pytest.importorskip("triton")

LARGE = {
    "gemm": {"M": 4096, "N": 4096, "K": 4096},
    "gqa_paged": {"batch_size": 64, "num_kv_heads": 8, "num_pages": 4096, "num_kv_indices": 4096},
    "stencil": {"H": 4096, "W": 4096},
}
"""Sizes to compile for, by operation; rows of 8192 elsewhere."""

# The interpreter must be chosen before Triton is imported, hence a process of its own.
RUNNER = """
import importlib.util, pathlib, sys, torch
for folder in map(pathlib.Path, sys.argv[1:]):
    spec = importlib.util.spec_from_file_location(folder.name, folder / "kernel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given, outputs = torch.load(folder / "tensors.pt")
    module.run(*given, *outputs)
    torch.save(outputs, folder / "outputs.pt")
"""


def interpret(folders: list[Path]) -> None:
    """Run `kernel.py` of every folder on its `tensors.pt`, pairs of inputs and outputs."""
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", RUNNER, *map(str, folders)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]


@dataclass(frozen=True)
class Ran:
    """One specimen with what it wrote and what is right."""

    specimen: Specimen
    workload: Workload
    folder: Path
    right: list[torch.Tensor]

    def check(self) -> None:
        """The outputs are right."""
        outputs = torch.load(self.folder / "outputs.pt")
        assert error(self.workload, outputs, self.right) <= 1, self.specimen.name


def prepare(found: list[Specimen], folder: Path) -> list[Ran]:
    """Write the sources and tensors of specimens of one workload, for `interpret`."""
    workload = in_half(found[0].workload)
    sizes = workload.sizes(workload.cases[0].model_copy(update={"axes": SIZES[workload.op_type]}))
    given, ran = draw_inputs(workload, sizes), []
    right = answers(workload, given)
    for number, one in enumerate(found):
        place = folder / f"{workload.name}_{number}"
        place.mkdir()
        (place / "kernel.py").write_text(_with_few_programs(one))
        torch.save((given, empty_outputs(workload, sizes)), place / "tensors.pt")
        ran.append(Ran(one, workload, place, right))
    return ran


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory) -> dict[str, list[Ran]]:
    """Specimens of every family; one process, since importing Triton takes longer than running a kernel."""
    folder = tmp_path_factory.mktemp("interpreted")
    prepared = {slug: prepare(specimens(slug, Language.TRITON), folder) for slug in FAMILIES}
    interpret([one.folder for ran in prepared.values() for one in ran])
    return prepared


def _with_few_programs(one: Specimen) -> str:
    """A fixed number of programs is made so small that each has several units of work."""
    few = {"PROGRAMS": 3} if "PROGRAMS" in one.knobs else {}
    return with_knobs(Language.TRITON, one.source, few)


@pytest.mark.parametrize("slug", FAMILIES)
def test_outputs_are_right(slug, interpreted):
    for ran in interpreted[slug]:
        ran.check()


@pytest.mark.exhaustive
@pytest.mark.parametrize("slug", WORKLOADS)
def test_outputs_of_every_structure_are_right(slug, tmp_path):
    draw = random.Random(2)
    everything = all_structures(slug, Language.TRITON)
    found = [specimen(slug, Language.TRITON, blueprint, draw) for blueprint in everything]
    prepared = prepare(found, tmp_path)
    interpret([one.folder for one in prepared])
    for ran in prepared:
        ran.check()


@pytest.mark.exhaustive
@pytest.mark.parametrize("slug", WORKLOADS)
def test_every_structure_compiles_for_an_h200(slug, tmp_path):
    from tests.gpuworker.playbook_compiling import SHARED_BYTES, compile_module

    workload = WORKLOADS[slug]
    axes = LARGE.get(workload.op_type, {"M": 4096, "N": 8192})
    sizes = workload.sizes(workload.cases[0].model_copy(update={"axes": axes}))
    for number, blueprint in enumerate(all_structures(slug, Language.TRITON)):
        path = tmp_path / f"kernel_{number}.py"
        path.write_text(specimen(slug, Language.TRITON, blueprint, None).source)
        for kernel in compile_module(path, workload, sizes):
            assert kernel.shared <= SHARED_BYTES, f"{blueprint.title}: {kernel}"
            if kernel.name.startswith("gemm") and not kernel.name.endswith(("combine", "fixup")):
                assert kernel.matrix_unit or workload.inputs["a"].dtype == "float32", blueprint.title
