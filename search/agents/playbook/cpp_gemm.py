"""GEMM with bias and GELU in C++/OpenMP: C = gelu(A B + bias), A is M x K, B is K x N, all row-major.

A kernel is put together from three questions: which outputs a unit of work owns (`_element`, `_tiles`), how it
multiplies (`_dot`, `_axpy`, `_accumulators`) and what it does with a finished product (`_finish`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.agents.playbook.cpp import EXPONENTIALS, Kernel, Program, source_file
from search.agents.playbook.cpp_tiles import SCHEDULES, deal_tiles, multiply_tile
from search.agents.playbook.family import axes_of
from search.agents.playbook.text import fill

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.blueprint import Blueprint
    from search.workload import Workload

_HEAD = """\
constexpr int unrolled = UNROLL;
"""

LIBM_GELU = """\
static inline float gelu(float x) {
  return 0.5f * x * (1.0f + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
}
"""

POLYNOMIAL_GELU = """\
// x / (1 + exp(-2u)) with the exponential of -|2u|, which neither overflows nor loses the sign.
static inline float gelu(float x) {
  const float twice = 1.59576912f * (x + 0.044715f * x * x * x);
  const float e = exponential(twice < 0.0f ? twice : -twice);
  return x * (twice < 0.0f ? e : 1.0f) / (1.0f + e);
}
"""

GELUS = {"libm": [LIBM_GELU], "polynomial": [EXPONENTIALS["polynomial"], POLYNOMIAL_GELU]}


def gemm(blueprint: Blueprint, workload: Workload) -> str:
    """The C++ file for a GEMM blueprint."""
    choices = blueprint.choices
    functions = [_HEAD, *GELUS.get(choices.get("gelu", ""), [])]
    kernels = _packing(choices) + _products(choices)
    if choices.get("epilogue") == "separate":
        kernels.append(Kernel("bias_gelu", ("product", "bias"), ("c",), _BIAS_GELU))
    inputs = ("a", "b", "bias")[: len(workload.inputs)]
    return source_file(blueprint, workload, Program(functions, kernels, inputs, "c", axes_of(workload)))


# Kernels -------------------------------------------------------------------------------------------

_BIAS_GELU = """\
#pragma omp parallel for schedule(static)
for (int64_t m = 0; m < M; ++m) {
  #pragma omp simd
  for (int64_t n = 0; n < N; ++n) {
    c[m * N + n] = gelu(product[m * N + n] + bias[n]);
  }
}
"""

_COMBINE = """\
#pragma omp parallel for schedule(static)
for (int64_t m = 0; m < M; ++m) {
  #pragma omp simd
  for (int64_t n = 0; n < N; ++n) {
    float sum = 0.0f;
    for (int64_t s = 0; s < SPLITS; ++s) sum += partials[(s * M + m) * N + n];
    @target@[m * N + n] = @value@;
  }
}
"""

_PACK_A = """\
#pragma omp parallel for schedule(static)
for (int64_t m0 = 0; m0 < M; m0 += BLOCK_M) {
  const int64_t height = std::min<int64_t>(BLOCK_M, M - m0);
  for (int64_t k = 0; k < K; ++k) {
    for (int64_t i = 0; i < height; ++i) {
      packed_a[m0 * K + k * height + i] = a[(m0 + i) * K + k];
    }
  }
}
"""

_PACK_B = """\
#pragma omp parallel for schedule(static)
for (int64_t n0 = 0; n0 < N; n0 += BLOCK_N) {
  const int64_t width = std::min<int64_t>(BLOCK_N, N - n0);
  for (int64_t k = 0; k < K; ++k) {
    for (int64_t j = 0; j < width; ++j) {
      packed_b[n0 * K + k * width + j] = b[k * N + n0 + j];
    }
  }
}
"""


def _packing(choices: Mapping[str, str]) -> list[Kernel]:
    pack_a = Kernel("pack_a", ("a",), ("packed_a",), _PACK_A)
    pack_b = Kernel("pack_b", ("b",), ("packed_b",), _PACK_B)
    return {"stream": [], "packed_b": [pack_b], "packed_ab": [pack_a, pack_b]}[choices["staging"]]


def _products(choices: Mapping[str, str]) -> list[Kernel]:
    reads = (
        "packed_a" if choices["staging"] == "packed_ab" else "a",
        "b" if choices["staging"] == "stream" else "packed_b",
    )
    finish = FINISHES[choices.get("epilogue", "none")]
    if choices["ownership"] == "split_k":
        store = "partials[(s * M + m0 + i) * N + n0 + j] = tile[i * BLOCK_N + j];"
        partials = deal_tiles(choices, multiply_tile(choices, store))
        combine = fill(_COMBINE, target=finish.target, value=finish.value("sum", "n"))
        return [
            Kernel("gemm_partials", reads, ("partials",), partials),
            Kernel("gemm_combine", ("partials", *finish.reads), (finish.target,), combine),
        ]
    if choices["ownership"] == "tile":
        value = finish.value("tile[i * BLOCK_N + j]", "n0 + j")
        store = f"{finish.target}[(m0 + i) * N + n0 + j] = {value};"
        body = deal_tiles(choices, multiply_tile(choices, store))
    else:
        body = _elements(choices, finish)
    return [Kernel("gemm", (*reads, *finish.reads), (finish.target,), body)]


@dataclass(frozen=True)
class Finish:
    """What is done with a finished sum before it is stored, and where it goes."""

    target: str
    reads: tuple[str, ...] = ()

    def value(self, total: str, column: str) -> str:
        """Expression of the stored value."""
        return f"gelu({total} + bias[{column}])" if self.reads else total


FINISHES = {"none": Finish("c"), "separate": Finish("product"), "fused": Finish("c", ("bias",))}

# Element by element --------------------------------------------------------------------------------

_ELEMENT_DOT = """\
#pragma omp parallel for schedule(@schedule@)
for (int64_t m = 0; m < M; ++m) {
  for (int64_t n = 0; n < N; ++n) {
    const int64_t even = K - K % SUMS;
    float sums[SUMS] = {};
    #pragma GCC unroll unrolled
    for (int64_t k = 0; k < even; k += SUMS) {
      for (int64_t s = 0; s < SUMS; ++s) sums[s] += a[m * K + k + s] * b[(k + s) * N + n];
    }
    float sum = 0.0f;
    for (int64_t s = 0; s < SUMS; ++s) sum += sums[s];
    for (int64_t k = even; k < K; ++k) sum += a[m * K + k] * b[k * N + n];
    @target@[m * N + n] = @of_sum@;
  }
}
"""

_ELEMENT_AXPY = """\
#pragma omp parallel for schedule(@schedule@)
for (int64_t m = 0; m < M; ++m) {
  for (int64_t n0 = 0; n0 < N; n0 += STRIP) {
    const int64_t width = std::min<int64_t>(STRIP, N - n0);
    float strip[STRIP] = {};
    for (int64_t k = 0; k < K; ++k) {
      const float factor = a[m * K + k];
      #pragma GCC unroll unrolled
      for (int64_t j = 0; j < width; ++j) strip[j] += factor * b[k * N + n0 + j];
    }
    #pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      @target@[m * N + n0 + j] = @of_strip@;
    }
  }
}
"""


def _elements(choices: Mapping[str, str], finish: Finish) -> str:
    return fill(
        _ELEMENT_DOT if choices["loop_order"] == "dot" else _ELEMENT_AXPY,
        schedule=SCHEDULES[choices["scheduling"]],
        target=finish.target,
        of_sum=finish.value("sum", "n"),
        of_strip=finish.value("strip[j]", "n0 + j"),
    )
