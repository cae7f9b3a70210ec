"""Plans of work of no known kind: how many kernels, and what they may use. All else is the program's own affair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.plans.parts import launch, output_axes
from search.plans.plan import Plan
from search.records import Clause, ClauseKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.records import Language
    from search.workload import Workload

_KERNELS = {
    "single": (("whole", "everything, in one launch"),),
    "pair": (("first", "everything that the second kernel needs"), ("second", "every output, from that")),
}
"""Names that the contract asks for, with what they compute, by the word of `launches`."""


def plan_composite(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """One kernel, two, or as many as the program likes: what lies between them is not known here."""
    named = _KERNELS.get(choices["launches"], ())
    axes = output_axes(workload)
    kernels = tuple(launch(name, computes, axes).kernel for name, computes in named)
    return Plan(kernels, (), tuple(_clauses([name for name, _ in named], choices)))


def _clauses(names: list[str], choices: Mapping[str, str]) -> list[Clause]:
    clauses = [Clause(kind=ClauseKind.KERNELS, value=[*names])] if names else []
    if choices["sums"] == "ordered":
        clauses.append(Clause(kind=ClauseKind.ATOMICS, value=[]))
    if choices.get("products") != "library":
        clauses.append(Clause(kind=ClauseKind.NO_TORCH_COMPUTE, value=True))
    return clauses
