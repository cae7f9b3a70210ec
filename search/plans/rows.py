"""Plans of row reductions: softmax, norms and cross entropy over rows x columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.blueprint import Intermediate, KernelPlan
from search.plans.plan import Launch, Plan, assemble, self_made, suffix
from search.records import Clause, ClauseKind
from search.traits import row_axes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from search.records import Language
    from search.workload import Workload

_COMPUTES = {
    "three_pass": "two sweeps for the statistics, one for the result",
    "stored_exp": "maximum, exponentials into the output, then scaled in place",
    "online": "running maximum and sum in one sweep, then the result",
    "two_pass": "one statistic after the other, or one and then the result",
    "welford": "running mean and squared deviations in one sweep, then the result",
    "resident": "the row on chip: statistics and result from one read",
}
_STATISTICS = {
    "softmax": ("max", "sum"),
    "rmsnorm": ("sum",),
    "add_rmsnorm": ("sum",),
    "layernorm": ("mean", "m2"),
    "cross_entropy": ("max", "sum"),
}
"""What a row, or a chunk of it, leaves for the second kernel; m2 is the sum of squares about the mean."""


_SAID = {
    "row_unit": {"warp": "_warp", "cluster": "_cluster"},
    "access": {"vector": "_vector", "async": "_async"},
}


def plan_rows(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """Plan of a row reduction; kernel names start with the workload's operation.

    Args:
        workload: An operation over M rows of N columns.
        choices: Decisions of the structure.
        language: Not looked at: rows are mapped alike in all of them.
    """
    axes = row_axes(workload)
    launches, intermediates = _kernels(workload, choices, axes)
    own = [
        Clause(kind=ClauseKind.REDUCTION, subject=axes[1], value=_reduction(choices)),
        Clause(kind=ClauseKind.NUMERICS, value=_numerics(choices)),
    ]
    if choices.get("row_unit") == "cluster":
        own.append(Clause(kind=ClauseKind.BARRIERS, value=["cluster"]))
    own += self_made(*(["counter"] if choices.get("merge") == "last_program" else []))
    if "residual" in choices and choices["ownership"] == "split_row":
        own.append(_residual(workload, choices, launches[-1].kernel.name))
    return assemble(launches, intermediates, own)


def _reduction(choices: Mapping[str, str]) -> str:
    """Form of the reduction; two sweeps that both add the residual are a form of their own."""
    again = choices.get("residual") == "readd" and choices["reduction"] == "two_pass"
    return "readd" if again else choices["reduction"]


def _residual(workload: Workload, choices: Mapping[str, str], combine: str) -> Clause:
    """Where the merging kernel takes the sum of row and residual from: both inputs, or the output that holds it."""
    inputs = [name for name, tensor in workload.inputs.items() if len(tensor.shape or ()) > 1]
    stored = list(workload.outputs)[1:]
    value: list[JsonValue] = [*(inputs if choices["residual"] == "readd" else stored)]
    return Clause(kind=ClauseKind.FUSION, subject=combine, value=value)


def _kernels(
    workload: Workload, choices: Mapping[str, str], axes: tuple[str, str]
) -> tuple[list[Launch], list[Intermediate]]:
    name, rows = workload.op_type, axes[0]
    if choices["ownership"] == "split_row":
        return _split(workload, choices, axes)
    computes = _COMPUTES[choices["reduction"]]
    if choices.get("phases") == "separate":
        first = _kernel(f"{name}_statistics", "statistics of each row", axes)
        launches = [Launch(first), Launch(_kernel(f"{name}_apply", "the result of each row", axes))]
        return launches, _stored(workload, "row", (rows,), f"{name}_statistics", f"{name}_apply")
    form = "" if choices.get("row_unit", "program") != "program" else choices["scheduling"]
    unit = "block" if choices["ownership"] == "rows" else "single"
    whole = f"{name}{suffix(choices, _SAID)}_rows"
    return [Launch(_kernel(whole, computes, axes), form, unit)], []


def _kernel(name: str, computes: str, axes: tuple[str, str]) -> KernelPlan:
    rows, columns = axes
    return KernelPlan(name=name, computes=computes, parallel=(rows,), sequential=(columns,))


def _split(
    workload: Workload, choices: Mapping[str, str], axes: tuple[str, str]
) -> tuple[list[Launch], list[Intermediate]]:
    """Chunks of rows; their statistics are merged by a second kernel or by the program that ends last."""
    name, (rows, columns) = workload.op_type, axes
    first = KernelPlan(
        name=f"{name}{suffix(choices, _SAID)}_partials",
        computes="statistics of each chunk of a row",
        parallel=(rows, "SPLITS"),
        sequential=(columns,),
    )
    if choices.get("merge") == "last_program":
        shape, merger = (rows, "SPLITS"), first.name
        counter = Intermediate(
            name="arrivals", shape=(rows,), dtype="int32", written_by=merger, read_by=merger
        )
        return [Launch(first)], [*_stored(workload, "partial", shape, merger, merger), counter]
    early = "_dependent" if choices.get("launching") == "dependent" else ""
    second = _combine(f"{name}_combine{early}", axes, writes_row=_writes_row(workload, axes))
    partials = _stored(workload, "partial", (rows, "SPLITS"), first.name, second.name)
    return [Launch(first), Launch(second)], partials


def _combine(name: str, axes: tuple[str, str], *, writes_row: bool) -> KernelPlan:
    """The merging kernel; `name` is its whole name."""
    rows, columns = axes
    if not writes_row:
        computes = "merges the statistics of a row"
        return KernelPlan(name=name, computes=computes, parallel=(rows,), sequential=("SPLITS",))
    return KernelPlan(
        name=name,
        computes="merges the statistics of a row and writes one chunk",
        parallel=(rows, "SPLITS"),
        sequential=("SPLITS", columns),
    )


def _writes_row(workload: Workload, axes: tuple[str, str]) -> bool:
    return next(iter(workload.outputs.values())).shape == axes


def _stored(
    workload: Workload, prefix: str, shape: tuple[str, ...], writer: str, reader: str
) -> list[Intermediate]:
    return [
        Intermediate(
            name=f"{prefix}_{statistic}", shape=shape, dtype="float32", written_by=writer, read_by=reader
        )
        for statistic in _STATISTICS[workload.op_type]
    ]


def _numerics(choices: Mapping[str, str]) -> dict[str, JsonValue]:
    value: dict[str, JsonValue] = {"accumulate": "float32"}
    if "exp" in choices:
        value["exp"] = choices["exp"]
    if "lanes" in choices:
        value["lanes"] = choices["lanes"]
    return value
