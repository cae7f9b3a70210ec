"""What the kernels of a plan move and compute, for the cost model: one function per kind of work."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search.plans.moves_of_contraction import contraction_moves
from search.plans.moves_of_decode import decode_moves
from search.plans.moves_of_rows import row_moves

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from search.blueprint import KernelPlan
    from search.plans.plan import Plan
    from search.workload import Workload

MOVES: dict[str, Callable[[Plan, Workload, Mapping[str, str]], tuple[KernelPlan, ...]]] = {
    "contraction": contraction_moves,
    "paged_decode": decode_moves,
    "row_reduction": row_moves,
}
"""By the trait that tells the kind of work. Plans of other kinds fill in their kernels themselves."""


def with_moves(trait: str, plan: Plan, workload: Workload, choices: Mapping[str, str]) -> Plan:
    """The plan with what each kernel moves and computes; plans that say it themselves stay as they are."""
    filled = MOVES.get(trait)
    if filled is None or any(kernel.reads or kernel.writes for kernel in plan.kernels):
        return plan
    return replace(plan, kernels=filled(plan, workload, choices))
