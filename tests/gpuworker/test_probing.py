"""Programs that only a run explains: run behind the walls, told of, and made workloads that the judge can use."""

from __future__ import annotations

import json

import pytest

from gpuworker import probing_command
from gpuworker.reading import InputError
from gpuworker.runner import StartError
from search.workload import Workload

PICKS = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Linear(width, 32)

    def forward(self, x):
        return torch.nonzero(torch.ones(6)).float(), torch.softmax(self.lin(x), -1)


def get_inputs():
    return [torch.rand(64, 128)]


def get_init_inputs():
    return [128]
"""
COUNTS = """import torch


def counts(x):
    return torch.bincount(x, minlength=8)[x.unique().sum() * 0 :]
"""
CALLS = {
    "function": "counts",
    "cases": [{"name": "main", "inputs": {"x": {"shape": [50], "dtype": "int64", "low": 0, "high": 8}}}],
}


def test_a_model_is_probed_and_finished(runner, tmp_path):
    (tmp_path / "picks.py").write_text(PICKS)
    wanted = probing_command.wanted(tmp_path / "picks.py")
    text, code = probing_command.probe(runner, wanted, tmp_path / "out")
    assert code == 0, text
    workload = Workload.model_validate_json((tmp_path / "out/picks.workload.json").read_text())
    sizes = workload.sizes(workload.cases[0])
    assert [workload.shape(one, sizes) for one in workload.outputs.values()] == [(6, 1), (64, 32)]
    assert list(workload.inputs) == ["x", "lin_weight", "lin_bias"]


def test_a_function_is_probed_on_each_of_its_cases(runner, tmp_path):
    (tmp_path / "counts.py").write_text(COUNTS)
    (tmp_path / "counts.inputs.json").write_text(json.dumps(CALLS))
    text, code = probing_command.probe(runner, probing_command.wanted(tmp_path), None)
    assert (code, "workload counts with 1 cases" in text) == (0, True), text


def test_operators_are_ranked_and_become_workloads(runner, tmp_path):
    (tmp_path / "picks.py").write_text(PICKS)
    one = probing_command.program(tmp_path / "picks.py")
    ranked = json.loads(probing_command.profile(runner, one, tmp_path / "out", 2, as_json=True))
    assert sum(row["share"] for row in ranked) == pytest.approx(1, abs=1e-3)
    assert "aten.addmm.default" in [row["operator"]["name"] for row in ranked]
    assert len(list((tmp_path / "out").glob("*.workload.json"))) == 2


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise RuntimeError('no such luck')", "no such luck"),
        ("import os; os._exit(0)", "exit"),
        (
            "import socket; socket.create_connection(('1.1.1.1', 80), 1)",
            "refused|cannot|denied|unreachable|permitted",
        ),
        ("print('x' * 10_000_000); raise ValueError('too much said')", "too much said|closed|exit"),
    ],
)
def test_a_program_that_misbehaves_is_a_sentence(runner, tmp_path, body, words):
    source = PICKS.replace("        return torch.nonzero", f"        {body}\n        return torch.nonzero")
    (tmp_path / "picks.py").write_text(source)
    with pytest.raises(StartError, match=f"(?i){words}"):
        probing_command.profile(runner, probing_command.program(tmp_path / "picks.py"), None, 2, as_json=True)


def test_what_can_be_read_is_not_run(tmp_path):
    (tmp_path / "double.py").write_text(PICKS.replace("torch.nonzero(torch.ones(6)).float(), ", ""))
    with pytest.raises(InputError, match="nothing in it has to be run"):
        probing_command.wanted(tmp_path / "double.py")
