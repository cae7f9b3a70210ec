"""Row softmax in C++/OpenMP: one function per way of reducing a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.playbook.cpp import EXPONENTIALS, Kernel, Program, source_file
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
    each_row,
    sweep,
    write,
)
from search.agents.playbook.family import axes_of
from search.agents.playbook.text import fill

if TYPE_CHECKING:
    from search.blueprint import Blueprint
    from search.workload import Workload

LARGER = """\
constexpr float LOWEST = std::numeric_limits<float>::lowest();

// The larger of two. A NaN in `value` is passed over here; its exponential brings it back.
static inline float larger(float value, float best) { return value > best ? value : best; }
"""

TOP = Fold("top", "larger", "-INFINITY")
# A maximum that is merged with others starts at the lowest finite number: a chunk of only -inf then sums to
# zero instead of NaN, and a row of only -inf still gives 0 / 0 = NaN, as torch does.
MERGED_TOP = Fold("top", "larger", "LOWEST")
HIGH = Fold("high", "larger", "LOWEST")
PART = Fold("part")
SUM = Fold("sum")


SCALED = """\
static inline float scaled(float value, float scale) { return RECIPROCAL ? value * scale : value / scale; }
"""


def softmax(blueprint: Blueprint, workload: Workload) -> str:
    """The C++ file for a softmax blueprint."""
    layout = RowLayout.of(blueprint.choices)
    functions = [ROWS_HEAD, LARGER, SCALED, EXPONENTIALS[blueprint.choices["exp"]]]
    functions += [STREAM] if layout.streaming else []
    if blueprint.choices["ownership"] == "split_row":
        kernels = _split(layout)
    else:
        body = deal_rows(layout, REDUCTIONS[blueprint.choices["reduction"]](layout))
        kernels = [Kernel("softmax_rows", reads=("x",), writes=("y",), body=body)]
    return source_file(blueprint, workload, Program(functions, kernels, ("x",), "y", axes_of(workload)))


# One kernel ----------------------------------------------------------------------------------------


def _three_pass(layout: RowLayout) -> str:
    return (
        sweep(layout, TOP, "top = larger(row[n], top);", ahead=True)
        + sweep(layout, SUM, "sum += exponential(row[n] - top);")
        + _normalise(layout, "exponential(row[n] - top)")
    )


def _stored_exp(layout: RowLayout) -> str:
    store = "const float e = exponential(row[n] - top);\nout[n] = e;\nsum += e;"
    return (
        sweep(layout, TOP, "top = larger(row[n], top);", ahead=True)
        + sweep(layout, SUM, store)
        + _normalise(layout, "out[n]")
    )


def _resident(layout: RowLayout) -> str:
    store = "const float e = exponential(kept[n] - top);\nkept[n] = e;\nsum += e;"
    return (
        sweep(layout, TOP, "kept[n] = row[n];\ntop = larger(kept[n], top);", ahead=True)
        + sweep(layout, SUM, store)
        + _normalise(layout, "kept[n]")
    )


_CHUNKS = """\
@start@
for (int64_t c = 0; c < N; c += CHUNK) {
  const int64_t end = std::min<int64_t>(c + CHUNK, N);
  @whole@
  @high@
  @best@
  @part@
  @merge@
}
"""


def _online(layout: RowLayout) -> str:
    chunk = Span("c", "chunk_whole", "end")
    streamed = fill(
        _CHUNKS,
        start=declare(layout, "top", "LOWEST") + declare(layout, "sum", "0.0f"),
        whole="const int64_t chunk_whole = end - (end - c) % LANES;" if layout.lanes else "",
        high=sweep(layout, HIGH, "high = larger(row[n], high);", chunk, ahead=True),
        best=declare(layout, "best", "larger(high, top)"),
        part=sweep(layout, PART, "part += exponential(row[n] - best);", chunk),
        merge=each_row(layout, "sum = sum * exponential(top - best) + part;\ntop = best;"),
    )
    return streamed + _normalise(layout, "exponential(row[n] - top)")


def _normalise(layout: RowLayout, value: str, span: Span = ROW) -> str:
    scale = declare(layout, "scale", "RECIPROCAL ? 1.0f / sum : sum")
    return scale + write(layout, f"scaled({value}, scale)", span)


REDUCTIONS = {"three_pass": _three_pass, "stored_exp": _stored_exp, "resident": _resident, "online": _online}


# Two kernels ---------------------------------------------------------------------------------------

_STORE_PARTIALS = """\
partial_max[m * SPLITS + s] = top;
partial_sum[m * SPLITS + s] = sum;
"""

_MERGE_PARTIALS = """\
float top = LOWEST;
for (int64_t p = 0; p < SPLITS; ++p) top = larger(partial_max[m * SPLITS + p], top);
float sum = 0.0f;
for (int64_t p = 0; p < SPLITS; ++p) {
  sum += partial_sum[m * SPLITS + p] * exponential(partial_max[m * SPLITS + p] - top);
}
"""


def _split(layout: RowLayout) -> list[Kernel]:
    statistics = (
        sweep(layout, MERGED_TOP, "top = larger(row[n], top);", CHUNK_OF_ROW, ahead=True)
        + sweep(layout, SUM, "sum += exponential(row[n] - top);", CHUNK_OF_ROW)
        + _STORE_PARTIALS
    )
    result = _MERGE_PARTIALS + _normalise(layout, "exponential(row[n] - top)", CHUNK_OF_ROW)
    partials = ("partial_max", "partial_sum")
    return [
        Kernel("softmax_partials", ("x",), partials, deal_chunks(statistics, writes=False)),
        Kernel("softmax_combine", ("x", *partials), ("y",), deal_chunks(result, writes=True)),
    ]
