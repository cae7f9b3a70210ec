"""CUDA structures of the library: an honest source passes its own contract and breaks that of another structure."""

from __future__ import annotations

import pytest
from library_workloads import WORKLOADS

from search.contract import check
from search.library import compose, shipped_library
from search.records import Candidate, Language, SourceFile, Verdict

THREE_PASS = r"""// KNOBS {"THREADS": 256, "UNROLL": 1}
#include <cuda_fp16.h>
#include <cstdint>
#include <cmath>
__global__ void softmax_rows(const half* x, half* y, int64_t N) {
  __shared__ float part[32];
  const int64_t row = blockIdx.x;
  float m = -INFINITY;
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) m = fmaxf(m, __half2float(x[row * N + j]));
  for (int o = 16; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = m;
  __syncthreads();
  for (int w = 0; w < blockDim.x / 32; ++w) m = fmaxf(m, part[w]);
  __syncthreads();
  float s = 0.0f;
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) s += expf(__half2float(x[row * N + j]) - m);
  for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0.0f;
  for (int w = 0; w < blockDim.x / 32; ++w) s += part[w];
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x)
    y[row * N + j] = __float2half(expf(__half2float(x[row * N + j]) - m) / s);
}
extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t M = axes[0];
  const int64_t N = axes[1];
  const half* x = static_cast<const half*>(buffers[0]);
  half* y = static_cast<half*>(buffers[1]);
  softmax_rows<<<M, THREADS, 0, static_cast<cudaStream_t>(stream)>>>(x, y, N);
  return 0;
}
"""
WARP = r"""// KNOBS {"WARPS": 4, "UNROLL": 1}
#include <cuda_fp16.h>
#include <cstdint>
#include <cmath>
__global__ void softmax_warp_rows(const half* x, half* y, int64_t M, int64_t N) {
  const int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= M) return;
  float m = -INFINITY;
  for (int64_t j = lane; j < N; j += 32) m = fmaxf(m, __half2float(x[row * N + j]));
  for (int o = 16; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
  float s = 0.0f;
  for (int64_t j = lane; j < N; j += 32) s += expf(__half2float(x[row * N + j]) - m);
  for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
  for (int64_t j = lane; j < N; j += 32) y[row * N + j] = __float2half(expf(__half2float(x[row * N + j]) - m) / s);
}
extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t M = axes[0];
  const int64_t N = axes[1];
  const half* x = static_cast<const half*>(buffers[0]);
  half* y = static_cast<half*>(buffers[1]);
  const int64_t blocks = (M + WARPS - 1) / WARPS;
  softmax_warp_rows<<<blocks, WARPS * 32, 0, static_cast<cudaStream_t>(stream)>>>(x, y, M, N);
  return 0;
}
"""
GEMM = r"""// KNOBS {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "THREADS": 256, "PAD": 1}
#include <cuda_fp16.h>
#include <cstdint>
__global__ void gemm_shared(const half* a, const half* b, half* c, int64_t M, int64_t N, int64_t K) {
  __shared__ float ta[16][17];
  __shared__ float tb[16][17];
  const int64_t row = (int64_t)blockIdx.y * 16 + threadIdx.y;
  const int64_t col = (int64_t)blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int64_t k = 0; k < K; k += 16) {
    ta[threadIdx.y][threadIdx.x] =
        row < M && k + threadIdx.x < K ? __half2float(a[row * K + k + threadIdx.x]) : 0.0f;
    tb[threadIdx.y][threadIdx.x] =
        k + threadIdx.y < K && col < N ? __half2float(b[(k + threadIdx.y) * N + col]) : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  if (row < M && col < N) c[row * N + col] = __float2half(sum);
}
extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t M = axes[0];
  const int64_t N = axes[1];
  const int64_t K = axes[2];
  const half* a = static_cast<const half*>(buffers[0]);
  const half* b = static_cast<const half*>(buffers[1]);
  half* c = static_cast<half*>(buffers[2]);
  const dim3 grid((N + 15) / 16, (M + 15) / 16);
  gemm_shared<<<grid, dim3(16, 16), 0, static_cast<cudaStream_t>(stream)>>>(a, b, c, M, N, K);
  return 0;
}
"""

HONEST = {
    "direct": ("softmax", (), THREE_PASS),
    "warp_per_row": ("softmax", ("warp_per_row",), WARP),
    "shared_operands": ("gemm", ("shared_operands",), GEMM),
}
OTHER = {"direct": ("online_softmax",), "warp_per_row": (), "shared_operands": ("split_k",)}


def verdicts(slug: str, actions: tuple[str, ...], source: str):
    blueprint = compose(WORKLOADS[slug], shipped_library(), actions, Language.CUDA)
    file = SourceFile(path="kernel.cu", content=source)
    return check(blueprint.contract, Candidate(language=Language.CUDA, sources=(file,)))


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_source_keeps_its_contract(name):
    found = verdicts(*HONEST[name])
    assert [(one.clause.text, one.evidence) for one in found if one.verdict is not Verdict.PASS] == []


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_source_breaks_the_contract_of_another_structure(name):
    slug, _, source = HONEST[name]
    assert Verdict.VIOLATED in {one.verdict for one in verdicts(slug, OTHER[name], source)}
