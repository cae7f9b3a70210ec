"""A small set of playbook structures that together use every word of every decision, with their right answers."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from search.agents.playbook.writers import write_source, writes
from search.knobs import with_knobs
from search.library import shipped_library, structures
from search.workload import ScalarInput
from tests.search.agents.playbook_families import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from search.blueprint import Blueprint
    from search.records import KnobValue, Language
    from search.workload import Tolerance, Workload

Given = torch.Tensor | float

SIZES = {
    "softmax": {"M": 5, "N": 300},
    "rmsnorm": {"M": 5, "N": 300},
    "layernorm": {"M": 5, "N": 300},
    "add_rmsnorm": {"M": 5, "N": 300},
    "cross_entropy": {"M": 5, "N": 300},
    "gemm": {"M": 35, "N": 70, "K": 50},
    "gqa_paged": {"batch_size": 3, "num_kv_heads": 8, "num_pages": 11, "num_kv_indices": 9},
    "stencil": {"H": 19, "W": 70},
}
"""Small sizes by operation; no multiples of a block."""


@dataclass(frozen=True)
class Specimen:
    """A structure with drawn knob values, as source text."""

    workload: Workload
    blueprint: Blueprint
    knobs: dict[str, KnobValue]
    source: str

    @property
    def name(self) -> str:
        """For test ids and messages."""
        return f"{self.workload.name}: {self.blueprint.title} {self.knobs}"


def specimens(slug: str, language: Language, seed: int = 0) -> list[Specimen]:
    """Structures that cover every word, knobs drawn from the seed."""
    draw = random.Random(seed)
    everything = list(all_structures(slug, language))
    return [specimen(slug, language, blueprint, draw) for blueprint in _cover(everything, draw)]


def all_structures(slug: str, language: Language) -> Iterator[Blueprint]:
    """Every structure that the playbook writes of a workload."""
    workload = WORKLOADS[slug]
    return structures(workload, shipped_library(), language, allowed=writes(workload, language))


def specimen(slug: str, language: Language, blueprint: Blueprint, draw: random.Random | None) -> Specimen:
    """One structure with drawn knob values, or with the default ones."""
    knobs = {knob.name: draw.choice(knob.choices) if draw else knob.default for knob in blueprint.knobs}
    source = write_source(blueprint, WORKLOADS[slug], language).content
    return Specimen(WORKLOADS[slug], blueprint, knobs, with_knobs(language, source, knobs))


def _cover(everything: list[Blueprint], draw: random.Random) -> Iterator[Blueprint]:
    """The direct structure, then greedily those that bring most words not seen yet."""
    missing = {pair for blueprint in everything for pair in blueprint.choices.items()}
    chosen, pool = everything[0], draw.sample(everything, len(everything))
    while missing:
        yield chosen
        missing -= set(chosen.choices.items())
        chosen = max(pool, key=lambda blueprint: len(missing & set(blueprint.choices.items())))


# Inputs and answers --------------------------------------------------------------------------------


def in_half(workload: Workload) -> Workload:
    """The same workload in float16: the interpreter is wrong and numpy silent about bfloat16."""
    return type(workload).model_validate_json(workload.model_dump_json().replace("bfloat16", "float16"))


def draw_inputs(workload: Workload, sizes: dict[str, int], seed: int = 0) -> list[Given]:
    """Standard normal inputs, indices as the workload makes them; softmax gets a half masked row, too."""
    draw = torch.Generator().manual_seed(seed)
    custom = _custom(workload, sizes, seed)
    given = [_input(workload, name, sizes, draw, custom) for name in workload.inputs]
    if workload.op_type == "softmax":
        given[0][0, : sizes["N"] // 2] = -torch.inf
    return given


def _custom(workload: Workload, sizes: dict[str, int], seed: int) -> dict[str, torch.Tensor]:
    if workload.custom_inputs_entrypoint is None:
        return {}
    torch.manual_seed(seed)
    return _scope(workload)[workload.custom_inputs_entrypoint](sizes, "cpu")


def _input(
    workload: Workload,
    name: str,
    sizes: dict[str, int],
    draw: torch.Generator,
    custom: dict[str, torch.Tensor],
) -> Given:
    tensor, source = workload.inputs[name], workload.cases[0].inputs[name]
    shape, dtype = workload.shape(tensor, sizes), getattr(torch, tensor.dtype)
    if isinstance(source, ScalarInput):
        return source.value
    if name in custom:
        return custom[name]
    if not tensor.dtype.is_float:
        return torch.randint(0, sizes["N"], shape, generator=draw, dtype=dtype)
    return torch.randn(shape, generator=draw).to(dtype)


def _scope(workload: Workload) -> dict:
    scope: dict = {}
    exec(compile(workload.reference, workload.name, "exec"), scope)
    return scope


def answers(workload: Workload, given: list[Given]) -> list[torch.Tensor]:
    """The outputs in float64, by the workload's own reference."""
    wide = [
        one.double() if isinstance(one, torch.Tensor) and one.is_floating_point() else one for one in given
    ]
    found = _scope(workload)["run"](*wide)
    return list(found) if isinstance(found, tuple) else [found]


def empty_outputs(workload: Workload, sizes: dict[str, int], device: str = "cpu") -> list[torch.Tensor]:
    """Outputs that hold no number yet."""
    return [
        torch.full(
            workload.shape(tensor, sizes), torch.nan, dtype=getattr(torch, tensor.dtype), device=device
        )
        for tensor in workload.outputs.values()
    ]


def error(workload: Workload, outs: list[torch.Tensor], rights: list[torch.Tensor]) -> float:
    """Largest error in units of the workload's tolerance; infinite where a value is not the infinity that is right."""
    tolerances = [tensor.tolerance or workload.tolerance for tensor in workload.outputs.values()]
    return max(_error(*given) for given in zip(tolerances, outs, rights, strict=True))


def _error(tolerance: Tolerance, out: torch.Tensor, right: torch.Tensor) -> float:
    eps, out = torch.finfo(out.dtype).eps, out.cpu().double()
    finite = torch.where(right.isfinite(), right, 0.0)
    rms = finite.square().mean(dim=-1, keepdim=True).sqrt()
    allowed = tolerance.scale * eps * rms + tolerance.relative * finite.abs()
    apart = torch.where(out == right, 0.0, (out - right).abs() / allowed)
    return float(apart.nan_to_num(nan=torch.inf).max())
