"""Plans of box stencils: every output is the sum of a square window of inputs around its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.blueprint import Intermediate, KernelPlan
from search.plans.plan import Launch, Plan, assemble
from search.records import Clause, ClauseKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.records import Language
    from search.workload import Workload

_NAMES = {"row": "rows", "tile": "tiles", "strip": "strips"}


def plan_stencil(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """Plan of a box stencil.

    Args:
        workload: An image of M x N and an output of the same shape.
        choices: Decisions of the structure.
        language: Not looked at: work is mapped alike in all of them.
    """
    rows, columns = next(iter(workload.outputs.values())).shape or ()
    own = [Clause(kind=ClauseKind.NUMERICS, value={"accumulate": "float32"})]
    if choices["window"] != "two_kernels":
        computes = "running sums of rows" if choices["window"] == "sliding" else "sums of windows"
        kernel = f"stencil_{_NAMES[choices['ownership']]}"
        launch = _launch(kernel, computes, choices["ownership"], choices["scheduling"], (rows, columns))
        return assemble([launch], [], own)
    launches = [
        _launch(name, f"sums along the {axis}", choices["ownership"], "grid", (rows, columns))
        for name, axis in (("stencil_row_sums", "columns"), ("stencil_column_sums", "rows"))
    ]
    sums = Intermediate(
        name="row_sums",
        shape=(rows, columns),
        dtype="float32",
        written_by="stencil_row_sums",
        read_by="stencil_column_sums",
    )
    return assemble(launches, [sums], own)


def _launch(name: str, computes: str, ownership: str, form: str, axes: tuple[str, str]) -> Launch:
    rows, columns = axes
    if ownership == "row":
        kernel = KernelPlan(name=name, computes=computes, parallel=(rows,), sequential=(columns,))
        return Launch(kernel, form)
    walked = (rows,) if ownership == "strip" else ()
    kernel = KernelPlan(name=name, computes=computes, parallel=axes, sequential=walked)
    return Launch(kernel, form, "block")
