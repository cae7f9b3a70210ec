"""Plans of scans and linear recurrences.

No clause speaks of their accumulators: what a scan primitive accumulates in cannot be read off a source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.plans.parts import launch, output_axes, plan, stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.plans.plan import Plan
    from search.records import Language
    from search.workload import Workload


def plan_scan(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """A scan along the last axis: row by row, over totals of chunks, or by looking back at earlier chunks."""
    *outer, along = output_axes(workload)
    rows = tuple(outer)
    chunks = (*rows, "SPLITS")
    match choices["form"]:
        case "two_level":
            launches = [
                launch("scan_totals", "the total of each chunk", chunks, (along,)),
                launch("scan_chunks", "the chunk, starting from the totals before it", chunks, (along,)),
            ]
            return plan(launches, [stored("totals", chunks, "scan_totals", "scan_chunks")], sums=False)
        case "look_back":
            kernel = launch("scan_look_back", "the chunk, starting from what earlier ones publish", chunks)
            tensors = [
                stored("totals", chunks, "scan_look_back", "scan_look_back"),
                stored("states", chunks, "scan_look_back", "scan_look_back", "int32"),
            ]
            return plan([kernel], tensors, sums=False)
    return plan([launch("scan_rows", "the row from its start to its end", rows, (along,))], [], sums=False)


def plan_recurrence(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """A state per sequence that is walked step by step, or chunk by chunk with dense products inside a chunk."""
    axes = output_axes(workload)
    chunked = choices["steps"] == "chunked"
    name = "recurrence_chunks" if chunked else "recurrence_steps"
    computes = "dense products inside a chunk, the state from chunk to chunk" if chunked else "step by step"
    return plan([launch(name, computes, axes[:1], axes[1:])], [], sums=False)
