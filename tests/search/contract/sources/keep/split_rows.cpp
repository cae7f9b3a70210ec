// KNOBS {"SPLITS": 4}
// rmsnorm: split_row
// also: no_torch_compute = true
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

static void rmsnorm_partials(const float* x, float* partial, int64_t M, int64_t N) {
  const int64_t length = (N + SPLITS - 1) / SPLITS;
  #pragma omp parallel for collapse(2)
  for (int64_t i = 0; i < M; ++i)
    for (int64_t p = 0; p < SPLITS; ++p) {
      float s = 0.0f;
      for (int64_t j = p * length; j < std::min((p + 1) * length, N); ++j) s += x[i * N + j] * x[i * N + j];
      partial[i * SPLITS + p] = s;
    }
}

static void rmsnorm_combine(const float* x, const float* w, const float* partial, float* y, int64_t M, int64_t N) {
  const int64_t length = (N + SPLITS - 1) / SPLITS;
  #pragma omp parallel for collapse(2)
  for (int64_t i = 0; i < M; ++i)
    for (int64_t p = 0; p < SPLITS; ++p) {
      float s = 0.0f;
      for (int64_t q = 0; q < SPLITS; ++q) s += partial[i * SPLITS + q];
      const float scale = 1.0f / std::sqrt(s / N + 1e-6f);
      for (int64_t j = p * length; j < std::min((p + 1) * length, N); ++j) y[i * N + j] = x[i * N + j] * scale * w[j];
    }
}

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  const int64_t M = axes[0], N = axes[1];
  const float* x = static_cast<const float*>(buffers[0]);
  const float* w = static_cast<const float*>(buffers[1]);
  float* y = static_cast<float*>(buffers[2]);
  std::vector<float> partial_sum(M * SPLITS);
  rmsnorm_partials(x, partial_sum.data(), M, N);
  rmsnorm_combine(x, w, partial_sum.data(), y, M, N);
  return 0;
}
