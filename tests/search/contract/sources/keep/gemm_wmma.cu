// KNOBS {}
// gemm_bias_gelu: fused_epilogue
// also: contraction(K) = {"form": "dot", "blocked": true}
// also: numerics = {"accumulate": "float32", "tf32": true}
// also: fusion(gemm) = ["a", "b", "bias", "c"]
// also: warp_specialisation = false
#include <cmath>
#include <cstdint>
#include <cuda_runtime.h>
#include <mma.h>
using namespace nvcuda;

__global__ void gemm(const float* a, const float* b, const float* bias, float* c, int M, int N, int K) {
  __shared__ float tile[16 * 16];
  const int row = blockIdx.y * 16, col = blockIdx.x * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc;
  wmma::fill_fragment(acc, 0.0f);
  for (int k = 0; k < K; k += 8) {
    wmma::load_matrix_sync(fa, a + row * K + k, K);
    wmma::load_matrix_sync(fb, b + k * N + col, N);
    wmma::mma_sync(acc, fa, fb, acc);
  }
  wmma::store_matrix_sync(tile, acc, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32) {
    const float v = tile[i] + bias[col + i % 16];
    c[(row + i / 16) * N + col + i % 16] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const dim3 tiles(axes[1] / 16, axes[0] / 16);
  gemm<<<tiles, 32, 0, (cudaStream_t)stream>>>((const float*)buffers[0], (const float*)buffers[1],
      (const float*)buffers[2], (float*)buffers[3], axes[0], axes[1], axes[2]);
  return 0;
}
