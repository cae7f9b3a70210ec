// KNOBS {}
// gemm_bias_gelu: fused_epilogue
// also: no_torch_compute = true
// violated: kernels, reduction(K), contraction(K), no_torch_compute
// undecidable: numerics
#include <cblas.h>
#include <cmath>
#include <cstdint>

static void gemm(const float* bias, float* c, int64_t M, int64_t N) {
  #pragma omp parallel for
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) {
      const float v = c[i * N + j] + bias[j];
      c[i * N + j] = 0.5f * v * (1.0f + std::tanh(0.79788456f * (v + 0.044715f * v * v * v)));
    }
}

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  const int64_t M = axes[0], N = axes[1], K = axes[2];
  const float* a = (const float*)buffers[0];
  const float* b = (const float*)buffers[1];
  float* c = (float*)buffers[3];
  cblas_sgemm(101, 111, 111, M, N, K, 1.0f, a, K, b, N, 0.0f, c, N);
  gemm((const float*)buffers[2], c, M, N);
  return 0;
}
