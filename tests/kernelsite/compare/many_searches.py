"""Many searches of one strategy at once."""

from __future__ import annotations

from dataclasses import replace

from kernelsite.compare.launch import ComparisonOrder, launch_comparison


def launch_many(base, seeds):
    order = ComparisonOrder(replace(base, key="many"), strategies=("two_stage",), seeds=tuple(range(seeds)))
    comparison, _ = launch_comparison(order)
    return list(comparison.searches.order_by("pk"))
