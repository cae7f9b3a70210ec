"""C++ pieces of row reductions: how rows are dealt to threads, how a row is swept and how it is written.

The arithmetic of a sweep is written once, for one element of one row (`sum += row[n] * row[n];`). A
`RowLayout` then decides the loops around it: one row or ROWS rows, one accumulator or LANES of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from search.agents.playbook.text import fill, rename

if TYPE_CHECKING:
    from collections.abc import Mapping

_PER_ROW = ("row", "out", "kept", "top", "high", "best", "part", "sum", "scale")
"""Locals that become arrays of ROWS elements where a program owns several rows."""


@dataclass(frozen=True)
class RowLayout:
    """The decisions that shape every loop over a row."""

    rows: bool
    lanes: bool
    scheduling: str
    resident: bool
    streaming: bool

    @classmethod
    def of(cls, choices: Mapping[str, str]) -> RowLayout:
        """Read them from a blueprint's choices."""
        return cls(
            rows=choices["ownership"] == "rows",
            lanes=choices["lanes"] == "vector",
            scheduling=choices["scheduling"],
            resident=choices["reduction"] == "resident",
            streaming=choices["store"] == "streaming",
        )


@dataclass(frozen=True)
class Fold:
    """A value folded over a row: a maximum by `larger`, or a sum."""

    name: str
    kind: Literal["larger", "sum"] = "sum"
    start: str = "0.0f"

    def into(self, target: str, value: str) -> str:
        """Statement that folds one value in."""
        return f"{target} = larger({value}, {target});" if self.kind == "larger" else f"{target} += {value};"


@dataclass(frozen=True)
class Span:
    """Names of the bounds of a sweep; `whole` ends the part that fills all lanes."""

    first: str = "0"
    whole: str = "whole"
    last: str = "N"


ROW = Span()

ROWS_HEAD = """\
constexpr int unrolled = UNROLL;
"""

# Sweeps ------------------------------------------------------------------------------------------

_ONE_BY_ONE = """\
#pragma GCC unroll unrolled
for (int64_t n = @first@; n < @last@; ++n) {
  @body@
}
"""

_BY_LANES = """\
#pragma GCC unroll unrolled
for (int64_t n = @first@; n < @whole@; n += LANES) {
  @body@
}
"""

_EACH_LANE = """\
#pragma omp simd simdlen(LANES)
for (int64_t l = 0; l < LANES; ++l) {
  @body@
}
"""

_RAGGED_END = """\
for (int64_t n = @whole@; n < @last@; ++n) {
  @body@
}
"""

_EACH_ROW = """\
for (int64_t r = 0; r < ROWS; ++r) {
  @body@
}
"""

_AHEAD = "if (PREFETCH > 0) __builtin_prefetch(row + n + 16 * PREFETCH);\n"


def sweep(layout: RowLayout, fold: Fold, body: str, span: Span = ROW, *, ahead: bool = False) -> str:
    """Declare the folded value and run `body`, which folds element `n` in, over a span of the row(s).

    With `ahead`, cache lines are fetched before they are needed: for the sweep that meets a row first.
    """
    bounds = {"first": span.first, "whole": span.whole, "last": span.last}
    total, fetch = declare(layout, fold.name, fold.start), _AHEAD if ahead else ""
    if not layout.lanes:
        return total + fill(_ONE_BY_ONE, body=each_row(layout, fetch + body), **bounds)
    lane = f"{fold.name}_lanes[r][l]" if layout.rows else f"{fold.name}_lanes[l]"
    in_lanes = fetch + fill(_EACH_LANE, body=rename(body, {"n": "n + l", fold.name: lane}))
    return (
        _declare_lanes(layout, fold, lane)
        + fill(_BY_LANES, body=each_row(layout, in_lanes), **bounds)
        + total
        + each_row(layout, f"for (int64_t l = 0; l < LANES; ++l) {fold.into(fold.name, lane)}")
        + fill(_RAGGED_END, body=each_row(layout, body), **bounds)
    )


def each_row(layout: RowLayout, code: str) -> str:
    """The code for the one row, or for each of ROWS rows."""
    if not layout.rows:
        return code.rstrip("\n") + "\n"
    return fill(_EACH_ROW, body=_of_row(code))


def declare(layout: RowLayout, name: str, value: str) -> str:
    """A local per row that later code may change."""
    if not layout.rows:
        return f"float {name} = {value};\n"
    return f"float {name}[ROWS];\n" + each_row(layout, f"{name} = {value};")


def _declare_lanes(layout: RowLayout, fold: Fold, lane: str) -> str:
    extent = "[ROWS][LANES]" if layout.rows else "[LANES]"
    start = f"for (int64_t l = 0; l < LANES; ++l) {lane} = {fold.start};"
    return f"float {fold.name}_lanes{extent};\n" + each_row(layout, start)


def _of_row(code: str) -> str:
    return rename(code, {name: f"{name}[r]" for name in _PER_ROW})


# Writing -----------------------------------------------------------------------------------------

_PAST_CACHES = """\
for (int64_t n = @first@; n < @last@; n += BURST) {
  float burst[BURST];
  const int64_t count = std::min<int64_t>(BURST, @last@ - n);
  @simd@
  for (int64_t k = 0; k < count; ++k) {
    burst[k] = @value@;
  }
  stream(out + n, burst, count);
}
drain();
"""

_OWNED_ROWS = """\
for (int64_t r = 0; r < height; ++r) {
  @body@
}
"""

STREAM = """\
#if defined(__AVX__)
#include <immintrin.h>
#endif

constexpr int64_t BURST = 256;

// Stores past the caches: vectors where the address allows, plain stores at the ragged ends.
static inline void stream(float* to, const float* from, int64_t count) {
  int64_t k = 0;
#if defined(__AVX__)
  for (; k < count && reinterpret_cast<uintptr_t>(to + k) % 32 != 0; ++k) to[k] = from[k];
  for (; k + 8 <= count; k += 8) _mm256_stream_ps(to + k, _mm256_loadu_ps(from + k));
#endif
  for (; k < count; ++k) to[k] = from[k];
}

// Stores past the caches are not ordered with others until a fence.
static inline void drain() {
#if defined(__AVX__)
  _mm_sfence();
#endif
}
"""


def write(layout: RowLayout, value: str, span: Span = ROW) -> str:
    """Store `value`, an expression of element `n`, over a span of the row(s) a program owns."""
    code = _written(layout, value, span)
    return fill(_OWNED_ROWS, body=_of_row(code)) if layout.rows else code


def _written(layout: RowLayout, value: str, span: Span) -> str:
    bounds = {"first": span.first, "whole": span.whole, "last": span.last}
    if layout.streaming:
        simd = "#pragma omp simd simdlen(LANES)" if layout.lanes else ""
        return fill(_PAST_CACHES, simd=simd, value=rename(value, {"n": "n + k"}), **bounds)
    store = f"out[n] = {value};"
    if not layout.lanes:
        return fill(_ONE_BY_ONE, body=store, **bounds)
    in_lanes = fill(_EACH_LANE, body=rename(store, {"n": "n + l"}))
    return fill(_BY_LANES, body=in_lanes, **bounds) + fill(_RAGGED_END, body=store, **bounds)


# Mapping -----------------------------------------------------------------------------------------

_LOOP = """\
#pragma omp parallel for schedule(@schedule@)
for (int64_t m = 0; m < M; @step@) {
  @program@
}
"""

_PERSISTENT = """\
#pragma omp parallel
{
  const int64_t threads = omp_get_num_threads();
  const int64_t share = (M + threads - 1) / threads;
  const int64_t first = std::min(omp_get_thread_num() * share, M);
  const int64_t last = std::min(first + share, M);
  for (int64_t m = first; m < last; @step@) {
    @program@
  }
}
"""

_ONE_ROW = """\
@whole@
const float* row = x + m * N;
float* out = y + m * N;
@kept@
"""

# A group that hangs over the end reads its last row again and writes only the rows it owns.
_SEVERAL_ROWS = """\
@whole@
const int64_t height = std::min<int64_t>(ROWS, @end@ - m);
@kept@
const float* row[ROWS];
float* out[ROWS];
for (int64_t r = 0; r < ROWS; ++r) {
  row[r] = x + (m + std::min(r, height - 1)) * N;
  out[r] = y + (m + std::min(r, height - 1)) * N;
}
"""

_KEPT_ROW = """\
static thread_local std::vector<float> buffer;
if (static_cast<int64_t>(buffer.size()) < N) buffer.resize(N);
float* kept = buffer.data();
"""

_KEPT_ROWS = """\
static thread_local std::vector<float> buffer;
if (static_cast<int64_t>(buffer.size()) < ROWS * N) buffer.resize(ROWS * N);
float* kept[ROWS];
for (int64_t r = 0; r < ROWS; ++r) kept[r] = buffer.data() + r * N;
"""


def deal_rows(layout: RowLayout, program: str) -> str:
    """The outer loop: rows, or groups of ROWS, dealt to threads, each running `program`."""
    end = "last" if layout.scheduling == "persistent" else "M"
    whole = "const int64_t whole = N - N % LANES;" if "whole" in _identifiers(program) else ""
    if layout.rows:
        owned = fill(_SEVERAL_ROWS, whole=whole, end=end, kept=_KEPT_ROWS if layout.resident else "")
    else:
        owned = fill(_ONE_ROW, whole=whole, kept=_KEPT_ROW if layout.resident else "")
    step = "m += ROWS" if layout.rows else "++m"
    if layout.scheduling == "persistent":
        return fill(_PERSISTENT, step=step, program=owned + program)
    return fill(_LOOP, schedule=SCHEDULES[layout.scheduling], step=step, program=owned + program)


SCHEDULES = {"grid": "static, TASK", "dynamic": "dynamic, TASK"}


# Splitting ---------------------------------------------------------------------------------------

_SPLIT = """\
const int64_t length = (N + SPLITS - 1) / SPLITS;
#pragma omp parallel for collapse(2) schedule(static, TASK)
for (int64_t m = 0; m < M; ++m) {
  for (int64_t s = 0; s < SPLITS; ++s) {
    const int64_t first = std::min(s * length, N);
    const int64_t last = std::min(first + length, N);
    @whole@
    const float* row = x + m * N;
    @out@
    @program@
  }
}
"""

CHUNK_OF_ROW = Span("first", "whole", "last")


def deal_chunks(program: str, *, writes: bool) -> str:
    """The outer loops of a split row: SPLITS chunks of every row dealt to threads."""
    return fill(
        _SPLIT,
        whole="const int64_t whole = last - (last - first) % LANES;"
        if "whole" in _identifiers(program)
        else "",
        out="float* out = y + m * N;" if writes else "",
        program=program,
    )


def _identifiers(code: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", code))
