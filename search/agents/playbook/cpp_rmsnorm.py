"""RMSNorm in C++/OpenMP: one function per way of reducing a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.playbook.cpp import Kernel, Program, source_file
from search.agents.playbook.cpp_rows import (
    CHUNK_OF_ROW,
    ROW,
    ROWS_HEAD,
    STREAM,
    Fold,
    RowLayout,
    Span,
    deal_chunks,
    deal_rows,
    declare,
    sweep,
    write,
)
from search.agents.playbook.family import axes_of, epsilon
from search.agents.playbook.text import fill

if TYPE_CHECKING:
    from search.blueprint import Blueprint
    from search.workload import Workload

_HEAD = """\
constexpr float EPSILON = @epsilon@f;
"""

SUM = Fold("sum")


def rmsnorm(blueprint: Blueprint, workload: Workload) -> str:
    """The C++ file for an RMSNorm blueprint."""
    layout = RowLayout.of(blueprint.choices)
    functions = [ROWS_HEAD, fill(_HEAD, epsilon=epsilon(workload))]
    functions += [STREAM] if layout.streaming else []
    if blueprint.choices["ownership"] == "split_row":
        kernels = _split(layout)
    else:
        body = deal_rows(layout, REDUCTIONS[blueprint.choices["reduction"]](layout))
        kernels = [Kernel("rmsnorm_rows", reads=("x", "weight"), writes=("y",), body=body)]
    return source_file(
        blueprint, workload, Program(functions, kernels, ("x", "weight"), "y", axes_of(workload))
    )


# One kernel ----------------------------------------------------------------------------------------


def _two_pass(layout: RowLayout) -> str:
    return sweep(layout, SUM, "sum += row[n] * row[n];", ahead=True) + _normalise(layout, "row[n]")


def _resident(layout: RowLayout) -> str:
    keep = "kept[n] = row[n];\nsum += kept[n] * kept[n];"
    return sweep(layout, SUM, keep, ahead=True) + _normalise(layout, "kept[n]")


def _normalise(layout: RowLayout, value: str, span: Span = ROW) -> str:
    scale = declare(layout, "scale", "1.0f / std::sqrt(sum / N + EPSILON)")
    return scale + write(layout, f"{value} * scale * weight[n]", span)


REDUCTIONS = {"two_pass": _two_pass, "resident": _resident}

# Two kernels ---------------------------------------------------------------------------------------

_STORE_PARTIAL = """\
partial_sum[m * SPLITS + s] = sum;
"""

_MERGE_PARTIALS = """\
float sum = 0.0f;
for (int64_t p = 0; p < SPLITS; ++p) sum += partial_sum[m * SPLITS + p];
"""


def _split(layout: RowLayout) -> list[Kernel]:
    statistics = sweep(layout, SUM, "sum += row[n] * row[n];", CHUNK_OF_ROW, ahead=True) + _STORE_PARTIAL
    result = _MERGE_PARTIALS + _normalise(layout, "row[n]", CHUNK_OF_ROW)
    return [
        Kernel("rmsnorm_partials", ("x",), ("partial_sum",), deal_chunks(statistics, writes=False)),
        Kernel(
            "rmsnorm_combine",
            ("x", "weight", "partial_sum"),
            ("y",),
            deal_chunks(result, writes=True),
        ),
    ]
