"""Fixtures in the foreign formats, written for these tests: one text file a format, paths between `==>` lines."""

from __future__ import annotations

from pathlib import Path

from format_samples import PAGED_DECODE, case_line, encode, problem, trace_set
from tensor_files import blobs

from search.formats import FORMATS, Collection
from search.workload import shipped_workload

_FOLDER = Path(__file__).parent / "fixtures"
PROGRAMS = _FOLDER / "programs"
"""A C++ program for each workload of a foreign format, by the workload's name."""

MOE = {
    "name": "moe_routing_e8_k2",
    "op_type": "moe",
    "axes": {
        "tokens": {"type": "var"},
        "hidden": {"type": "const", "value": 32},
        "experts": {"type": "const", "value": 8},
        "k": {"type": "const", "value": 2},
    },
    "inputs": {
        "x": {"shape": ["tokens", "hidden"], "dtype": "bfloat16"},
        "gate": {"shape": ["experts", "hidden"], "dtype": "bfloat16"},
    },
    "outputs": {
        "weights": {"shape": ["tokens", "k"], "dtype": "float32"},
        "places": {"shape": ["tokens", "k"], "dtype": "int32"},
    },
    "reference": """import torch


def run(x, gate):
    wide = torch.promote_types(x.dtype, torch.float32)
    chances = (x.to(wide) @ gate.to(wide).T).softmax(-1)
    weights, places = chances.topk(2)
    return (weights / weights.sum(-1, keepdim=True)), places.int()
""",
}


def files_of(format_name: str) -> dict[str, bytes]:
    """The fixture files of a format."""
    if format_name == "flashinfer_trace":
        case = {
            "uuid": "a",
            "axes": {"tokens": 5},
            "inputs": {"x": {"type": "random"}, "gate": {"type": "random"}},
        }
        more = {
            "definitions/moe/moe_routing_e8_k2.json": [MOE],
            "workloads/moe/moe_routing_e8_k2.jsonl": [case_line(MOE["name"], case)],
        }
        return encode(trace_set() | more) | blobs()
    if format_name == "kernelsite":
        return FORMATS[format_name].write(
            Collection((shipped_workload("rmsnorm"), shipped_workload("softmax")))
        )[0]
    if format_name == "sol_execbench":
        return encode(problem())
    parts = (_FOLDER / f"{format_name}.txt").read_text("utf-8").split("==> ")[1:]
    return {name: text.encode() for name, _, text in (part.partition("\n") for part in parts)}


def all_items() -> dict[str, list]:
    """Workloads of every format, by its name."""
    return {name: list(form.parse(files_of(name))[0].workloads) for name, form in FORMATS.items()}


__all__ = ["MOE", "PAGED_DECODE", "PROGRAMS", "all_items", "files_of"]
