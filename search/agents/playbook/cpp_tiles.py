"""C++ pieces of a tiled GEMM: how output tiles are dealt to threads, and how one tile is multiplied.

A tile covers rows m0 .. m0 + height and columns n0 .. n0 + width; its sums stay in the local array `tile` while
K is walked in steps of BLOCK_K. Operands are read through `a_tile` and `b_tile`, in place or packed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.playbook.text import fill

if TYPE_CHECKING:
    from collections.abc import Mapping

# Dealing -------------------------------------------------------------------------------------------

_ROWS = """\
#pragma omp parallel for schedule(@schedule@)
for (int64_t m0 = 0; m0 < M; m0 += BLOCK_M) {
  for (int64_t n0 = 0; n0 < N; n0 += BLOCK_N) {
    @tile@
  }
}
"""

_BOTH_AXES = """\
#pragma omp parallel for collapse(2) schedule(@schedule@)
for (int64_t m0 = 0; m0 < M; m0 += BLOCK_M) {
  for (int64_t n0 = 0; n0 < N; n0 += BLOCK_N) {
    @tile@
  }
}
"""

_PARTS_AND_ROWS = """\
const int64_t length = (K + SPLITS - 1) / SPLITS;
#pragma omp parallel for collapse(2) schedule(@schedule@)
for (int64_t s = 0; s < SPLITS; ++s) {
  for (int64_t m0 = 0; m0 < M; m0 += BLOCK_M) {
    const int64_t k_first = std::min(s * length, K);
    const int64_t k_last = std::min(k_first + length, K);
    for (int64_t n0 = 0; n0 < N; n0 += BLOCK_N) {
      @tile@
    }
  }
}
"""

_NUMBERED = """\
const int64_t tile_rows = (M + BLOCK_M - 1) / BLOCK_M;
const int64_t tile_columns = (N + BLOCK_N - 1) / BLOCK_N;
#pragma omp parallel for schedule(@schedule@)
for (int64_t t = 0; t < tile_rows * tile_columns; ++t) {
  @place@
  @tile@
}
"""

_PERSISTENT = """\
const int64_t tile_rows = (M + BLOCK_M - 1) / BLOCK_M;
const int64_t tile_columns = (N + BLOCK_N - 1) / BLOCK_N;
#pragma omp parallel
{
  const int64_t threads = omp_get_num_threads();
  const int64_t share = (tile_rows * tile_columns + threads - 1) / threads;
  const int64_t first = std::min(omp_get_thread_num() * share, tile_rows * tile_columns);
  const int64_t last = std::min(first + share, tile_rows * tile_columns);
  for (int64_t t = first; t < last; ++t) {
    @place@
    @tile@
  }
}
"""

_PLACES = {
    "row_major": """\
const int64_t m0 = t / tile_columns * BLOCK_M;
const int64_t n0 = t % tile_columns * BLOCK_N;
""",
    # Inside a group of GROUP tile rows (fewer in the last one) tiles are numbered column by column.
    "grouped": """\
const int64_t group_first = t / (GROUP * tile_columns) * GROUP;
const int64_t group_rows = std::min<int64_t>(GROUP, tile_rows - group_first);
const int64_t in_group = t % (GROUP * tile_columns);
const int64_t m0 = (group_first + in_group % group_rows) * BLOCK_M;
const int64_t n0 = in_group / group_rows * BLOCK_N;
""",
}

SCHEDULES = {"grid": "static, TASK", "dynamic": "dynamic, TASK"}


def deal_tiles(choices: Mapping[str, str], tile: str) -> str:
    """The outer loops: output tiles, or parts of K and tile rows, dealt to threads, each running `tile`."""
    place = _PLACES[choices["tile_order"]]
    if choices["scheduling"] == "persistent":
        return fill(_PERSISTENT, place=place, tile=tile)
    schedule = SCHEDULES[choices["scheduling"]]
    if choices["ownership"] == "split_k":
        return fill(_PARTS_AND_ROWS, schedule=schedule, tile=tile)
    if choices["tile_order"] == "grouped":
        return fill(_NUMBERED, schedule=schedule, place=place, tile=tile)
    return fill(_BOTH_AXES if choices["mapping"] == "tiles" else _ROWS, schedule=schedule, tile=tile)


# One tile ------------------------------------------------------------------------------------------

_TILE = """\
const int64_t height = std::min<int64_t>(BLOCK_M, M - m0);
const int64_t width = std::min<int64_t>(BLOCK_N, N - n0);
const float* a_tile = @a_tile@;
const float* b_tile = @b_tile@;
float tile[BLOCK_M * BLOCK_N];
std::fill_n(tile, height * BLOCK_N, 0.0f);
for (int64_t k0 = @k_first@; k0 < @k_last@; k0 += BLOCK_K) {
  const int64_t k1 = std::min<int64_t>(k0 + BLOCK_K, @k_last@);
  @multiply@
}
for (int64_t i = 0; i < height; ++i) {
  #pragma omp simd
  for (int64_t j = 0; j < width; ++j) {
    @store@
  }
}
"""

_DOT = """\
for (int64_t i = 0; i < height; ++i) {
  for (int64_t j = 0; j < width; ++j) {
    const int64_t even = k1 - (k1 - k0) % SUMS;
    float sums[SUMS] = {};
    #pragma GCC unroll unrolled
    for (int64_t k = k0; k < even; k += SUMS) {
      for (int64_t s = 0; s < SUMS; ++s) sums[s] += @a_ks@ * @b_ks@;
    }
    float sum = 0.0f;
    for (int64_t s = 0; s < SUMS; ++s) sum += sums[s];
    for (int64_t k = even; k < k1; ++k) sum += @a@ * @b@;
    tile[i * BLOCK_N + j] += sum;
  }
}
"""

_AXPY = """\
for (int64_t i = 0; i < height; ++i) {
  for (int64_t k = k0; k < k1; ++k) {
    const float factor = @a@;
    #pragma GCC unroll unrolled
    for (int64_t j = 0; j < width; ++j) tile[i * BLOCK_N + j] += factor * @b@;
  }
}
"""

_ACCUMULATORS = """\
for (int64_t j = 0; j < width; j += NR) {
  for (int64_t i = 0; i < height; i += MR) {
    if (i + MR > height || j + NR > width) {
      for (int64_t r = i; r < std::min<int64_t>(i + MR, height); ++r) {
        for (int64_t k = k0; k < k1; ++k) {
          for (int64_t v = j; v < std::min<int64_t>(j + NR, width); ++v) tile[r * BLOCK_N + v] += @a_r@ * @b_v@;
        }
      }
      continue;
    }
    float block[MR][NR] = {};
    #pragma GCC unroll unrolled
    for (int64_t k = k0; k < k1; ++k) {
      for (int64_t r = 0; r < MR; ++r) {
        const float factor = @a_ir@;
        #pragma omp simd
        for (int64_t v = 0; v < NR; ++v) block[r][v] += factor * @b_jv@;
      }
    }
    for (int64_t r = 0; r < MR; ++r) {
      for (int64_t v = 0; v < NR; ++v) tile[(i + r) * BLOCK_N + j + v] += block[r][v];
    }
  }
}
"""


def multiply_tile(choices: Mapping[str, str], store: str) -> str:
    """One tile from operands to `store`, a statement for its element (i, j)."""
    a, b = ("a_tile[{i} * K + {k}]", "b_tile[{k} * N + {j}]")
    a_tile, b_tile = "a + m0 * K", "b + n0"
    if choices["staging"] == "packed_ab":
        a, a_tile = "a_tile[{k} * height + {i}]", "packed_a + m0 * K"
    if choices["staging"] != "stream":
        b, b_tile = "b_tile[{k} * width + {j}]", "packed_b + n0 * K"
    split = choices["ownership"] == "split_k"
    return fill(
        _TILE,
        a_tile=a_tile,
        b_tile=b_tile,
        k_first="k_first" if split else "0",
        k_last="k_last" if split else "K",
        multiply=_multiply(choices, a, b),
        store=store,
    )


def _multiply(choices: Mapping[str, str], a: str, b: str) -> str:
    if choices["register_tile"] == "accumulators":
        return fill(
            _ACCUMULATORS,
            a_r=a.format(i="r", k="k"),
            b_v=b.format(k="k", j="v"),
            a_ir=a.format(i="(i + r)", k="k"),
            b_jv=b.format(k="k", j="(j + v)").replace("(j + v)]", "j + v]"),
        )
    template = _DOT if choices["loop_order"] == "dot" else _AXPY
    return fill(
        template,
        a=a.format(i="i", k="k"),
        b=b.format(k="k", j="j"),
        a_ks=a.format(i="i", k="(k + s)"),
        b_ks=b.format(k="(k + s)", j="j"),
    )
