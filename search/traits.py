"""What kind of work a workload is: facts that decide which actions may apply to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from search.workload import Workload

WIDE_ROW = 8192
"""A row of so many elements leaves more parallelism inside a row than between few rows."""
DEEP_CONTRACTION = 1024

TRAITS: dict[str, str] = {
    "row_reduction": "every output row depends on all of one input row",
    "softmax": "a row reduction by maximum and sum of exponentials",
    "sum_of_squares": "a row reduction by a sum of squares",
    "wide_rows": f"some case has rows of at least {WIDE_ROW} elements",
    "contraction": "two inputs share an axis that the output lacks",
    "pointwise_epilogue": "a contraction followed by a function of each output and a vector",
    "gelu": "the epilogue is GELU",
    "deep_contraction": f"some case contracts at least {DEEP_CONTRACTION} elements",
}
"""Every trait that a library may name, with its meaning."""

TRAIT_SETS: tuple[frozenset[str], ...] = (
    frozenset({"row_reduction", "softmax", "wide_rows"}),
    frozenset({"row_reduction", "sum_of_squares", "wide_rows"}),
    frozenset({"contraction", "pointwise_epilogue", "gelu", "deep_contraction"}),
)
"""The richest combinations that `traits` can answer; an action that fits none of them is unreachable."""

_ROW_OPERATIONS = {"softmax": "softmax", "rmsnorm": "sum_of_squares"}


def traits(workload: Workload) -> frozenset[str]:
    """Traits of a workload, from its shapes, operation, tags and public cases."""
    return frozenset(_row_traits(workload) | _contraction_traits(workload))


def contracted_axis(workload: Workload) -> str | None:
    """The axis that exactly two inputs share and the first output lacks; None if this is no contraction."""
    output = _output_axes(workload)
    for axis in workload.axes:
        holders = [tensor for tensor in workload.inputs.values() if axis in (tensor.shape or ())]
        if axis not in output and len(holders) == 2 and all(len(t.shape or ()) == 2 for t in holders):
            return axis
    return None


def _output_axes(workload: Workload) -> tuple[str, ...]:
    return next(iter(workload.outputs.values())).shape or ()


def _row_traits(workload: Workload) -> set[str]:
    reduced = _ROW_OPERATIONS.get(workload.op_type)
    axes = _output_axes(workload)
    same_shape = any(tensor.shape == axes for tensor in workload.inputs.values())
    if reduced is None or len(axes) != 2 or not same_shape:
        return set()
    found = {"row_reduction", reduced}
    if _largest(workload, axes[1]) >= WIDE_ROW:
        found.add("wide_rows")
    return found


def _contraction_traits(workload: Workload) -> set[str]:
    axis = contracted_axis(workload)
    output = _output_axes(workload)
    if axis is None or len(output) != 2:
        return set()
    found = {"contraction"}
    if _largest(workload, axis) >= DEEP_CONTRACTION:
        found.add("deep_contraction")
    vectors = [t.shape for t in workload.inputs.values() if t.shape == output[1:]]
    if vectors and "gelu" in workload.tags:
        found |= {"pointwise_epilogue", "gelu"}
    return found


def _largest(workload: Workload, axis: str) -> int:
    return max((workload.sizes(case)[axis] for case in workload.cases if not case.hidden), default=0)
