"""Plans of row reductions: softmax and RMSNorm over rows x columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.blueprint import Intermediate, KernelPlan
from search.plans.plan import Launch, Plan, assemble
from search.records import Clause, ClauseKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

_COMPUTES = {
    "three_pass": "maximum, sum of exponentials, then the quotients",
    "stored_exp": "maximum, exponentials into the output, then scaled in place",
    "online": "running maximum and sum, then the quotients",
    "two_pass": "sum of squares, then the scaled row",
    "resident": "the row on chip: statistics and result from one read",
}
_STATISTICS = {"softmax": ("partial_max", "partial_sum"), "rmsnorm": ("partial_sum",)}


def plan_rows(name: str, choices: Mapping[str, str], axes: tuple[str, str]) -> Plan:
    """Plan of a row reduction.

    Args:
        name: `softmax` or `rmsnorm`; kernel names start with it.
        choices: Decisions of the structure.
        axes: Row axis and column axis.
    """
    rows, columns = axes
    own = [
        Clause(kind=ClauseKind.REDUCTION, subject=columns, value=choices["reduction"]),
        Clause(kind=ClauseKind.NUMERICS, value=_numerics(choices)),
    ]
    if choices["ownership"] == "split_row":
        return assemble(_split_kernels(name, rows, columns), _partials(name, rows), own)
    kernel = KernelPlan(
        name=f"{name}_rows",
        computes=_COMPUTES[choices["reduction"]],
        parallel=(rows,),
        sequential=(columns,),
    )
    unit = "block" if choices["ownership"] == "rows" else "single"
    return assemble([Launch(kernel, choices["scheduling"], unit)], [], own)


def _numerics(choices: Mapping[str, str]) -> dict[str, JsonValue]:
    value: dict[str, JsonValue] = {"accumulate": "float32"}
    if "exp" in choices:
        value["exp"] = choices["exp"]
    if "lanes" in choices:
        value["lanes"] = choices["lanes"]
    return value


def _split_kernels(name: str, rows: str, columns: str) -> list[Launch]:
    first = KernelPlan(
        name=f"{name}_partials",
        computes="statistics of each chunk of a row",
        parallel=(rows, "SPLITS"),
        sequential=(columns,),
    )
    second = KernelPlan(
        name=f"{name}_combine",
        computes="merges the statistics of a row and writes one chunk",
        parallel=(rows, "SPLITS"),
        sequential=("SPLITS", columns),
    )
    return [Launch(first), Launch(second)]


def _partials(name: str, rows: str) -> list[Intermediate]:
    return [
        Intermediate(
            name=statistic,
            shape=(rows, "SPLITS"),
            dtype="float32",
            written_by=f"{name}_partials",
            read_by=f"{name}_combine",
        )
        for statistic in _STATISTICS[name]
    ]
