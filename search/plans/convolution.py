"""Plans of convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.plans.parts import inner_axes, launch, output_axes, plan, stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.plans.plan import Plan
    from search.records import Language
    from search.workload import Workload


def plan_convolution(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """A direct loop over the window, a product with computed addresses, or Winograd's transforms.

    Args:
        workload: Its second input is the filter (…, R, R).
        choices: Decisions of the structure.
        language: Not looked at.
    """
    axes, inner = output_axes(workload), inner_axes(workload)
    if choices["form"] == "winograd":
        channels = (list(workload.inputs.values())[1].shape or ())[:-2]
        launches = [
            launch("transform_filter", "the filter in the transformed domain", channels),
            launch("winograd", "tiles transformed, multiplied and transformed back", axes, inner),
        ]
        return plan(launches, [stored("filter_tiles", channels, "transform_filter", "winograd")], sums=True)
    halo = "_halo" if choices["window"] == "halo" else ""
    name = "convolution_gemm" if choices["form"] == "implicit_gemm" else f"convolution{halo}"
    return plan([launch(name, "weighted sums over windows", axes, inner)], [], sums=True)
