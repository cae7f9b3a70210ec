"""A plan: kernels, intermediates and the clauses that fix them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.records import Clause, ClauseKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from search.blueprint import Intermediate, KernelPlan


_TILE_SIZES = {"PROGRAMS", "BLOCK_M", "BLOCK_N"}
"""Knobs that say how large a tensor is but are no axis, so that a clause does not speak of them."""


@dataclass(frozen=True)
class Plan:
    """What a structure looks like, derived from its choices."""

    kernels: tuple[KernelPlan, ...]
    intermediates: tuple[Intermediate, ...]
    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class Launch:
    """A kernel and how its work is dealt out."""

    kernel: KernelPlan
    form: str = "grid"
    """Scheduling word; empty where honest sources deal out their work in so many ways that no clause says how."""
    unit: str = "single"
    """What one program or iteration owns along its axes: a `single` index or a `block` of them."""
    order: str = ""
    """Order of tiles, where it is decided."""

    @property
    def clause(self) -> Clause:
        """What the contract says of its grid."""
        value: dict[str, JsonValue] = {
            "axes": list(self.kernel.parallel),
            "form": self.form,
            "unit": self.unit,
        }
        if self.order:
            value["order"] = self.order
        return Clause(kind=ClauseKind.GRID, subject=self.kernel.name, value=value)


def assemble(
    launches: list[Launch],
    intermediates: list[Intermediate],
    own: list[Clause],
) -> Plan:
    """A plan with the clauses every kind of work has: kernels, a grid per kernel, intermediates.

    Args:
        launches: In launch order.
        intermediates: Tensors in memory between kernels.
        own: Further clauses of this kind of work.
    """
    names: list[JsonValue] = [launch.kernel.name for launch in launches]
    stored: dict[str, JsonValue] = {
        tensor.name: [size for size in tensor.shape if size not in _TILE_SIZES] for tensor in intermediates
    }
    clauses = [
        Clause(kind=ClauseKind.KERNELS, value=names),
        *(launch.clause for launch in launches if launch.form),
        *(clause for clause in own if clause.kind is not ClauseKind.NUMERICS),
        Clause(kind=ClauseKind.INTERMEDIATES, value=stored),
        *(clause for clause in own if clause.kind is ClauseKind.NUMERICS),
    ]
    return Plan(tuple(launch.kernel for launch in launches), tuple(intermediates), tuple(clauses))


def self_made(*atomics: str) -> list[Clause]:
    """Clauses of a structure that does all its work in kernels of its own; `atomics` are the kinds that it has."""
    return [
        Clause(kind=ClauseKind.ATOMICS, value=[*atomics]),
        Clause(kind=ClauseKind.NO_TORCH_COMPUTE, value=True),
    ]


def suffix(choices: Mapping[str, str], words: Mapping[str, Mapping[str, str]]) -> str:
    """What a kernel's name says of choices that no clause can see in a source.

    Args:
        choices: Decisions of the structure.
        words: By decision and its word, what is added to the name.
    """
    return "".join(said.get(choices.get(decision, ""), "") for decision, said in words.items())
