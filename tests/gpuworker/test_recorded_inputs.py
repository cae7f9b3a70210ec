"""Recorded tensors reach a candidate as they are; what is no value of its type does not."""

from __future__ import annotations

import struct

import pytest
import torch

from gpuworker.inputs import Flavour, admit, draw
from gpuworker.verdicts import RejectedError
from search.workload import SafetensorsInput, Workload, shipped_workload


def workload(dtype: str, content: bytes, **axes: int) -> Workload:
    document = shipped_workload("softmax").dump()
    document["inputs"]["x"]["dtype"] = dtype
    source = SafetensorsInput(path="a.safetensors", tensor_key="x").packing(content).dump()
    document["cases"] = [{"name": "one", "axes": {"M": 2, "N": 3} | axes, "inputs": {"x": source}}]
    return Workload.load(document)


def drawn(made: Workload) -> torch.Tensor:
    admit(made)
    return draw(made, made.cases[0], Flavour.HEAVY_TAIL, torch.Generator())[0]


def test_every_element_is_where_it_was():
    value = drawn(workload("int32", struct.pack("<6i", *range(6))))
    assert value.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert value.dtype is torch.int32
    floats = drawn(workload("float32", struct.pack("<6f", *range(6))))
    assert floats.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], "no flavour changes what was recorded"


def test_a_bool_has_two_values():
    assert drawn(workload("bool", bytes([0, 1, 2, 255, 0, 1]))).view(torch.uint8).flatten().tolist() == [
        *(0, 1, 1),
        *(1, 0, 1),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (struct.pack("<6f", *range(5), float("nan")), "holds NaN"),
        (struct.pack("<5f", *range(5)), "not 24 bytes"),
        (bytes(10_000_000), "not 24 bytes"),
    ],
)
def test_what_is_no_value_is_refused(content, words):
    with pytest.raises(RejectedError, match=words) as refused:
        drawn(workload("float32", content))
    assert refused.value.status == "INVALID_REFERENCE"


def test_nothing_is_recorded_of_an_empty_batch():
    with pytest.raises(RejectedError, match="outputs are empty"):
        admit(workload("float32", b"", M=0))
    empty = workload("float32", b"", M=0)
    assert draw(empty, empty.cases[0], Flavour.DECLARED, torch.Generator())[0].shape == (0, 3)
