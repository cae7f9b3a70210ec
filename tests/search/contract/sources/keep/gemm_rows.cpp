// KNOBS {}
// gemm_bias_gelu: fused_epilogue
// also: fusion(gemm) = ["bias", "c"]
#include <cmath>
#include <cstdint>

static float gelu(float v) { return 0.5f * v * (1.0f + std::tanh(0.79788456f * (v + 0.044715f * v * v * v))); }

static void gemm(const float* a, const float* b, const float* bias, float* c, int64_t M, int64_t N, int64_t K) {
  #pragma omp parallel for
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      float sum = 0.0f;
      for (int64_t k = 0; k < K; ++k) sum += a[i * K + k] * b[k * N + j];
      c[i * N + j] = gelu(sum + bias[j]);
    }
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  gemm((const float*)buffers[0], (const float*)buffers[1], (const float*)buffers[2], (float*)buffers[3],
       axes[0], axes[1], axes[2]);
  return 0;
}
