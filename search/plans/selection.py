"""Plans of selections: the largest elements of a row, and where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.plans.parts import launch, plan, stored
from search.traits import row_axes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.plans.plan import Plan
    from search.records import Language
    from search.workload import Workload

_COMPUTES = {
    "repeated": "the largest element that is left, once per place",
    "running": "the best so far, kept on chip in one sweep",
    "threshold": "the bits of the last place by counting, then all above it",
}


def plan_selection(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """One kernel over rows, or candidates of chunks and a second kernel that selects among them."""
    rows, columns = row_axes(workload)
    if choices["form"] != "split":
        name = {"threshold": "select_threshold", "running": "select_running"}.get(
            choices["form"], "select_rows"
        )
        return plan([launch(name, _COMPUTES[choices["form"]], (rows,), (columns,))], [], sums=False)
    places = next(iter(workload.outputs.values())).shape or ()
    shape = (rows, "SPLITS", *(axis for axis in places if axis != rows))
    first, second = "select_partials", "select_combine"
    launches = [
        launch(first, "the candidates of each chunk of a row", (rows, "SPLITS"), (columns,)),
        launch(second, "the selection among the candidates", (rows,), ("SPLITS",)),
    ]
    tensors = [
        stored("partial_values", shape, first, second),
        stored("partial_indices", shape, first, second, "int32"),
    ]
    return plan(launches, tensors, sums=False)
