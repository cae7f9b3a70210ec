"""Which plan belongs to which kind of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.plans.attention import plan_attention
from search.plans.composite import plan_composite
from search.plans.contraction import plan_contraction
from search.plans.convolution import plan_convolution
from search.plans.moves import with_moves
from search.plans.paged_decode import plan_paged_decode
from search.plans.pointwise import plan_gather, plan_pointwise
from search.plans.products import plan_chain, plan_diagonal, plan_siblings
from search.plans.routing import plan_routing
from search.plans.rows import plan_rows
from search.plans.scans import plan_recurrence, plan_scan
from search.plans.selection import plan_selection
from search.plans.stencil import plan_stencil
from search.plans.totals import plan_histogram, plan_total
from search.traits import traits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from search.plans.plan import Plan
    from search.records import Language
    from search.workload import Workload

PLANS: dict[str, Callable[[Workload, Mapping[str, str], Language], Plan]] = {
    "contraction": plan_contraction,
    "row_reduction": plan_rows,
    "sibling_products": plan_siblings,
    "product_chain": plan_chain,
    "diagonal_product": plan_diagonal,
    "dense_attention": plan_attention,
    "convolution": plan_convolution,
    "scan": plan_scan,
    "linear_recurrence": plan_recurrence,
    "selection": plan_selection,
    "moe_routing": plan_routing,
    "pointwise": plan_pointwise,
    "gather": plan_gather,
    "total": plan_total,
    "histogram": plan_histogram,
    "paged_decode": plan_paged_decode,
    "box_stencil": plan_stencil,
    "composite": plan_composite,
}
"""By the trait that tells the kind of work; of several traits the first here counts."""


class NoPlanError(ValueError):
    """A library decides something for a kind of work that has no plan."""


def plan_of(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """Plan of a structure.

    Args:
        workload: What is computed.
        choices: Decisions of the structure, optional ones included.
        language: What candidates are written in.

    Raises:
        KeyError: the plan needs a decision that is not among the choices; its name is the argument.
        NoPlanError: no plan belongs to the traits of the workload.
    """
    known = traits(workload)
    for trait, plan in PLANS.items():
        if trait in known:
            return with_moves(trait, plan(workload, choices, language), workload, choices)
    raise NoPlanError(
        f"no plan belongs to {workload.name} with the traits {', '.join(sorted(known)) or 'none'}"
    )
