"""The shapes and types that were read in a text are those that PyTorch makes of it."""

from __future__ import annotations

import pytest
from format_fixtures import all_items, files_of

from search.formats import FORMATS as ALL
from search.formats.flashinfer_trace import candidate_of
from search.workload import CustomInput, ScalarInput

torch = pytest.importorskip("torch")

KERNELBENCH = ALL["kernelbench"]
FORMATS = ("kernelbench", "gpu_mode", "python_function")
WORKLOADS = [workload for name in FORMATS for workload in all_items()[name]]


def drawn(source, tensor, shape):
    dtype = getattr(torch, tensor.dtype)
    if isinstance(source, ScalarInput):
        return source.value
    if tensor.dtype.is_float:
        return torch.rand(shape).to(dtype)
    low, high = (source.low, source.high) if source.low is not None else (0, 2)
    return torch.randint(low, high, shape, dtype=dtype)


def made_of(workload, case, program):
    """Inputs as the judge would make them."""
    sizes = workload.sizes(case)
    made = {}
    for name, tensor in workload.inputs.items():
        source = case.inputs[name]
        if not isinstance(source, CustomInput):
            made[name] = drawn(source, tensor, workload.shape(tensor, sizes))
    if len(made) < len(workload.inputs):
        given = program[workload.custom_inputs_entrypoint](sizes, torch.device("cpu"))
        for name in workload.inputs:
            if name not in made:
                assert tuple(given[name].shape) == workload.shape(workload.inputs[name], sizes), name
                assert str(given[name].dtype) == f"torch.{workload.inputs[name].dtype}", name
                made[name] = given[name]
    return [made[name] for name in workload.inputs]


@pytest.mark.parametrize("workload", WORKLOADS, ids=[workload.name for workload in WORKLOADS])
def test_what_was_read_is_what_pytorch_makes(workload):
    program: dict = {}
    exec(compile(workload.reference, workload.name, "exec"), program)
    for case in workload.cases:
        inputs = made_of(workload, case, program)
        before = [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]
        result = program["run"](*inputs)
        outputs = result if isinstance(result, tuple | list) else [result]
        sizes = workload.sizes(case)
        for (name, tensor), output in zip(workload.outputs.items(), outputs, strict=True):
            assert tuple(output.shape) == workload.shape(tensor, sizes), (case.name, name)
            assert str(output.dtype) == f"torch.{tensor.dtype}", (case.name, name)
        for value, old in zip(inputs, before, strict=True):
            assert not isinstance(value, torch.Tensor) or torch.equal(value, old)


def test_weights_that_come_in_are_those_that_count():
    (workload,) = [one for one in WORKLOADS if one.name == "linear_softmax"]
    program: dict = {}
    exec(workload.reference, program)
    x, weight, bias = torch.randn(6, 16), torch.randn(10, 16), torch.randn(10)
    expected = torch.softmax((x @ weight.T + bias) * 2.0, dim=-1)
    torch.testing.assert_close(program["run"](x, weight, bias), expected)
    wide = program["run"](x.double(), weight.double(), bias.double())
    assert wide.dtype is torch.float64


def test_dropout_is_off_and_every_call_gives_the_same():
    (workload,) = [one for one in WORKLOADS if one.name == "blocks"]
    program: dict = {}
    exec(workload.reference, program)
    inputs = made_of(workload, workload.cases[0], program)
    assert torch.equal(program["run"](*inputs), program["run"](*inputs))


def test_a_shared_weight_is_one_input_that_counts_everywhere():
    source = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 5)
        self.head = nn.Linear(5, 7, bias=False)
        self.head.weight = self.table.weight

    def forward(self, index):
        return self.head(self.table(index))

def get_inputs():
    return [torch.randint(0, 7, (3,))]

def get_init_inputs():
    return []
"""
    (workload,) = KERNELBENCH.parse({"tied.py": source.encode()})[0].workloads
    assert list(workload.inputs) == ["index", "table_weight"]
    program: dict = {}
    exec(workload.reference, program)
    index, weight = torch.tensor([1, 6, 2]), torch.randn(7, 5)
    torch.testing.assert_close(program["run"](index, weight), weight[index] @ weight.T)


def test_recurrent_weights_that_come_in_are_those_that_count():
    (workload,) = [one for one in WORKLOADS if one.name == "recurrent"]
    program: dict = {}
    exec(workload.reference, program)
    lstm = torch.nn.LSTM(6, 4, 2, batch_first=True, bidirectional=True)
    head = torch.nn.Linear(8, 3)
    states = torch.randn(4, 3, 4), torch.randn(4, 3, 4)
    x = torch.randn(3, 5, 6)
    weights = {f"lstm_{name}": value.detach() for name, value in lstm.named_parameters()}
    weights |= {f"fc_{name}": value.detach() for name, value in head.named_parameters()}
    result, last = program["run"](x, *states, **weights)
    expected, (hidden, _) = lstm(x, states)
    torch.testing.assert_close(result, head(expected[:, -1, :]).detach())
    torch.testing.assert_close(last, hidden.detach())


def test_a_new_model_is_a_program_with_the_same_weights():
    collection, _ = KERNELBENCH.parse(files_of("kernelbench"))
    (workload,) = [one for one in collection.workloads if one.name == "linear_softmax"]
    (solution,) = collection.solutions
    reference: dict = {}
    program: dict = {}
    exec(workload.reference, reference)
    exec(candidate_of(solution).sources[0].content, program)
    inputs = torch.randn(6, 16), torch.randn(10, 16), torch.randn(10)
    output = torch.empty(6, 10)
    program["run"](*inputs, output)
    torch.testing.assert_close(output, reference["run"](*inputs))
