"""A small set of playbook structures that together use every word of every decision, with their right answers."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from search.agents.playbook.writers import write_source
from search.knobs import with_knobs
from search.library import shipped_library, shipped_workload, structures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from search.blueprint import Blueprint
    from search.records import KnobValue, Language
    from search.workload import Workload

Arrays = list[np.ndarray]


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
    workload, draw = shipped_workload(slug), random.Random(seed)
    found = []
    for blueprint in _cover(list(structures(workload, shipped_library(), language)), draw):
        knobs = {knob.name: draw.choice(knob.choices) for knob in blueprint.knobs}
        source = with_knobs(language, write_source(blueprint, workload, language).content, knobs)
        found.append(Specimen(workload, blueprint, knobs, source))
    return found


def _cover(everything: list[Blueprint], draw: random.Random) -> Iterator[Blueprint]:
    """The direct structure, then greedily those that bring most words not seen yet."""
    missing = {pair for blueprint in everything for pair in blueprint.choices.items()}
    chosen, pool = everything[0], draw.sample(everything, len(everything))
    while missing:
        yield chosen
        missing -= set(chosen.choices.items())
        chosen = max(pool, key=lambda blueprint: len(missing & set(blueprint.choices.items())))


# Inputs and answers --------------------------------------------------------------------------------


def draw_inputs(workload: Workload, sizes: dict[str, int], seed: int = 0) -> Arrays:
    """Standard normal inputs; softmax gets a half masked row, too."""
    draw = np.random.default_rng(seed)
    shapes = [workload.shape(tensor, sizes) for tensor in workload.inputs.values()]
    arrays = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
    if workload.op_type == "softmax":
        arrays[0][0, : sizes["N"] // 2] = -np.inf
    return arrays


def answer(workload: Workload, inputs: Arrays) -> np.ndarray:
    """The output in float64."""
    wide = [array.astype(np.float64) for array in inputs]
    match workload.op_type:
        case "softmax":
            powers = np.exp(wide[0] - wide[0].max(axis=1, keepdims=True))
            return powers / powers.sum(axis=1, keepdims=True)
        case "rmsnorm":
            x, weight = wide
            return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6) * weight
        case "gemm":
            a, b, bias = wide
            v = a @ b + bias
            return 0.5 * v * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (v + 0.044715 * v**3)))
    raise AssertionError(f"no answer for {workload.op_type}")


def error(workload: Workload, out: np.ndarray, right: np.ndarray) -> float:
    """Largest error in units of the workload's tolerance; infinite where a value is not finite."""
    rms = np.sqrt((right * right).mean(axis=1, keepdims=True))
    eps = float(np.finfo(np.float32).eps)
    allowed = workload.tolerance.scale * eps * rms + workload.tolerance.relative * np.abs(right)
    return float(np.nan_to_num(np.abs(out - right) / allowed, nan=np.inf).max())
