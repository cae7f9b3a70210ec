"""Hand-written C++ products: what is innermost, what is blocked, what is stored between kernels."""

from __future__ import annotations

import pytest

from search.records import ClauseKind, Verdict
from tests.search.contract.contract_factories import blueprint, passes, refused, verdicts


def cpp_gemm(kernels: str, calls: str, host: str = "") -> str:
    return f"""\
// KNOBS {{}}
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

static inline float gelu(float x) {{ return 0.5f * x * (1.0f + std::tanh(0.7978846f * (x + 0.044715f * x * x * x))); }}

{kernels}

extern "C" int run(void** buffers, const int64_t* axes, void*) {{
  const int64_t M = axes[0], N = axes[1], K = axes[2];
  const float* a = static_cast<const float*>(buffers[0]);
  const float* b = static_cast<const float*>(buffers[1]);
  const float* bias = static_cast<const float*>(buffers[2]);
  float* c = static_cast<float*>(buffers[3]);
  {host}
  {calls}
  return 0;
}}
"""


ARGUMENTS = "const float* a, const float* b, const float* bias, float* c, int64_t M, int64_t N, int64_t K"
FUSED_CALL = "gemm(a, b, bias, c, M, N, K);"


def fused(body: str, call: str = FUSED_CALL, host: str = "") -> str:
    return cpp_gemm(f"static void gemm({ARGUMENTS}) {{\n  #pragma omp parallel for\n{body}\n}}", call, host)


DOT = """\
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) {
      float sum = 0.0f;
      for (int64_t k = 0; k < K; ++k) sum += a[i * K + k] * b[k * N + j];
      c[i * N + j] = gelu(sum + bias[j]);
    }
"""
AXPY = """\
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) c[i * N + j] = 0.0f;
    for (int64_t k = 0; k < K; ++k)
      for (int64_t j = 0; j < N; ++j) c[i * N + j] += a[i * K + k] * b[k * N + j];
    for (int64_t j = 0; j < N; ++j) c[i * N + j] = gelu(c[i * N + j] + bias[j]);
  }
"""
BLOCK = """\
  for (int64_t i0 = 0; i0 < M; i0 += 4)
    for (int64_t j0 = 0; j0 < N; j0 += 8) {
      float tile[4][8] = {};
      for (int64_t k0 = 0; k0 < K; k0 += 64)
        for (int64_t k = k0; k < std::min<int64_t>(k0 + 64, K); ++k)
          for (int r = 0; r < 4; ++r)
            for (int v = 0; v < 8; ++v)
              tile[r][v] += (i0 + r < M && j0 + v < N) ? a[(i0 + r) * K + k] * b[k * N + j0 + v] : 0.0f;
      for (int64_t i = i0; i < std::min<int64_t>(i0 + 4, M); ++i)
        for (int64_t j = j0; j < std::min<int64_t>(j0 + 8, N); ++j) c[i * N + j] = gelu(tile[i - i0][j - j0] + bias[j]);
    }
"""
SPLIT = """\
static void gemm_partials(const float* a, const float* b, float* partials, int64_t M, int64_t N, int64_t K) {
  const int64_t part = (K + SPLITS - 1) / SPLITS;
  #pragma omp parallel for collapse(2)
  for (int64_t s = 0; s < SPLITS; ++s)
    for (int64_t i0 = 0; i0 < M; i0 += 16)
      for (int64_t i = i0; i < std::min<int64_t>(i0 + 16, M); ++i)
        for (int64_t j = 0; j < N; ++j) {
          float sum = 0.0f;
          for (int64_t k0 = s * part; k0 < std::min<int64_t>((s + 1) * part, K); k0 += 64)
            for (int64_t k = k0; k < std::min<int64_t>(k0 + 64, std::min<int64_t>((s + 1) * part, K)); ++k)
              sum += a[i * K + k] * b[k * N + j];
          partials[(s * M + i) * N + j] = sum;
        }
}
static void gemm_combine(const float* partials, const float* bias, float* c, int64_t M, int64_t N) {
  #pragma omp parallel for
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) {
      float sum = 0.0f;
      for (int64_t s = 0; s < SPLITS; ++s) sum += partials[(s * M + i) * N + j];
      c[i * N + j] = gelu(sum + bias[j]);
    }
}
"""
SPLIT_CALLS = (
    "gemm_partials(a, b, partials.data(), M, N, K);\n  gemm_combine(partials.data(), bias, c, M, N);"
)
SPLIT_HOST = "static std::vector<float> partials(SPLITS * M * N);"
SEPARATE = """\
static void gemm(const float* a, const float* b, float* product, int64_t M, int64_t N, int64_t K) {
  #pragma omp parallel for
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) {
      float sum = 0.0f;
      for (int64_t k = 0; k < K; ++k) sum += a[i * K + k] * b[k * N + j];
      product[i * N + j] = sum;
    }
}
static void bias_gelu(const float* product, const float* bias, float* c, int64_t M, int64_t N) {
  #pragma omp parallel for
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) c[i * N + j] = gelu(product[i * N + j] + bias[j]);
}
"""
SEPARATE_CALLS = "gemm(a, b, product, M, N, K);\n  bias_gelu(product, bias, c, M, N);\n  delete[] product;"

KEPT = {
    "separate": ((), cpp_gemm(SEPARATE, SEPARATE_CALLS.replace("\n  delete[] product;", ""), "float* product = new float[M * N];")),
    "dot products": (("fused_epilogue",), fused(DOT)),
    "row updates": (("fused_epilogue", "axpy_order"), fused(AXPY)),
    "a register block": (("output_tiles", "register_accumulators", "fused_epilogue"), fused(BLOCK)),
    "split K": (("split_k", "fused_epilogue"), cpp_gemm(SPLIT, SPLIT_CALLS, SPLIT_HOST)),
}  # fmt: skip

BROKEN = {
    "row updates for dot products": (("fused_epilogue",), fused(AXPY), ClauseKind.CONTRACTION),
    "dot products for row updates": (("fused_epilogue", "axpy_order"), fused(DOT), ClauseKind.CONTRACTION),
    "no tiles": (("output_tiles", "fused_epilogue"), fused(DOT), ClauseKind.CONTRACTION),
    "no blocks of rows": (("output_tiles", "fused_epilogue"), fused(DOT), ClauseKind.GRID),
    "tiles that nobody asked for": (("fused_epilogue",), fused(BLOCK), ClauseKind.GRID),
    "no register block": (
        ("output_tiles", "register_accumulators", "fused_epilogue"),
        fused(DOT),
        ClauseKind.CONTRACTION,
    ),
    "the epilogue is fused": ((), fused(DOT), ClauseKind.KERNELS),
    "no product in memory": ((), fused(DOT), ClauseKind.INTERMEDIATES),
    "a whole product instead of parts": (
        ("split_k", "fused_epilogue"),
        cpp_gemm(SPLIT.replace("for (int64_t s = 0; s < SPLITS; ++s) sum += partials[(s * M + i) * N + j];", "sum = partials[i * N + j];"), SPLIT_CALLS, SPLIT_HOST),
        ClauseKind.REDUCTION,
    ),
    "partials of half the size": (
        ("split_k", "fused_epilogue"),
        cpp_gemm(SPLIT, SPLIT_CALLS, SPLIT_HOST.replace("SPLITS * ", "4 * ")),
        ClauseKind.INTERMEDIATES,
    ),
    "a library tangent": (("fused_epilogue", "polynomial_gelu"), fused(DOT), ClauseKind.NUMERICS),
    "a double sum": (("fused_epilogue",), fused(DOT.replace("float sum", "double sum")), ClauseKind.NUMERICS),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_an_honest_product_passes_every_clause(name):
    actions, source = KEPT[name]
    found = verdicts(blueprint("gemm_bias_gelu", *actions), source)
    assert passes(found), [
        (v.clause.text, v.verdict, v.evidence) for v in found if v.verdict is not Verdict.PASS
    ]


@pytest.mark.parametrize("name", BROKEN)
def test_its_twin_breaks_the_named_clause(name):
    actions, source, kind = BROKEN[name]
    found = verdicts(blueprint("gemm_bias_gelu", *actions), source)
    assert kind in refused(found), [(v.clause.text, v.verdict, v.evidence) for v in found]
