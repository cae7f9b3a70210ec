"""Plans of pointwise operations and of gathered rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.plans.parts import launch, output_axes, plan
from search.plans.plan import suffix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.plans.plan import Plan
    from search.records import Language
    from search.workload import Workload


def plan_pointwise(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """One kernel for all outputs, or one each; over rows or over a flat range of elements."""
    part = "elements" if choices["mapping"] == "flat" else "rows"
    part += suffix(choices, {"access": {"vector": "_vector"}})
    if choices.get("outputs") == "separate":
        launches = [
            launch(f"pointwise_{name}_{part}", f"the output {name}", tensor.shape or ())
            for name, tensor in workload.outputs.items()
        ]
        return plan(launches, [], sums=False)
    kernel = launch(f"pointwise_{part}", "every output of an element", output_axes(workload))
    return plan([kernel], [], sums=False)


def plan_gather(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """Rows that an index tensor picks, one or several per program."""
    rows, *width = output_axes(workload)
    part = "groups" if choices["ownership"] == "rows" else "rows"
    part += suffix(choices, {"indices": {"ahead": "_ahead"}})
    return plan([launch(f"gather_{part}", "picked rows", (rows,), tuple(width))], [], sums=False)
