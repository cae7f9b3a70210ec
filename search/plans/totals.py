"""Plans of what is reduced to one value or to a few bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.plans.parts import clear, inner_axes, launch, output_axes, plan, stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.plans.plan import Plan
    from search.records import Language
    from search.workload import Workload


def plan_total(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """All elements to one value: by one program, by two kernels, atomically, or by the program that ends last."""
    inner = inner_axes(workload)
    parts = ("SPLITS",)
    match choices["form"]:
        case "two_kernel":
            launches = [
                launch("total_partials", "the sum of one part", parts, inner),
                launch("total_combine", "the sum of the parts in their order", (), parts),
            ]
            return plan(launches, [stored("partials", parts, "total_partials", "total_combine")], sums=True)
        case "atomic":
            kernel = launch("total_atomic", "a part, added to the total", parts, inner)
            return plan([clear(()), kernel], [], sums=True, atomic=True)
        case "last_program":
            name = "total_last"
            tensors = [stored("partials", parts, name, name), stored("arrivals", (), name, name, "int32")]
            kernel = launch(name, "a part; the last one adds all", parts, inner)
            return plan([kernel], tensors, sums=True)
    return plan([launch("total", "all elements by one program", (), inner)], [], sums=True)


def plan_histogram(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """Counts by atomics in memory, by atomics on chip, or in copies that a second kernel adds up."""
    bins, inner = output_axes(workload), inner_axes(workload)
    match choices["form"]:
        case "on_chip":
            return plan(
                [launch("count_on_chip", "bins on chip, then added to memory", inner)], [], sums=False
            )
        case "copies":
            copies = ("SPLITS", *bins)
            launches = [
                launch("count_copies", "bins of one part", ("SPLITS",), inner),
                launch("add_copies", "the sum of the copies", bins, ("SPLITS",)),
            ]
            tensor = stored("copies", copies, "count_copies", "add_copies", "int32")
            return plan(launches, [tensor], sums=False)
    kernel = launch("count", "bins in memory, by atomic additions", inner)
    return plan([clear(bins), kernel], [], sums=False)
