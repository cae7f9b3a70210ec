// KNOBS {"SPLITS": 4}
// rmsnorm: split_row
// also: atomics = []
// violated: atomics, reduction(N), grid(rmsnorm_combine)
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

static void rmsnorm_partials(const float* x, float* total, int64_t M, int64_t N) {
  const int64_t length = (N + SPLITS - 1) / SPLITS;
  #pragma omp parallel for collapse(2)
  for (int64_t i = 0; i < M; ++i)
    for (int64_t p = 0; p < SPLITS; ++p) {
      float s = 0.0f;
      for (int64_t j = p * length; j < std::min((p + 1) * length, N); ++j) s += x[i * N + j] * x[i * N + j];
      #pragma omp atomic
      total[i * SPLITS] += s;
    }
}

static void rmsnorm_combine(const float* x, const float* w, const float* total, float* y, int64_t M, int64_t N) {
  #pragma omp parallel for
  for (int64_t i = 0; i < M; ++i) {
    const float scale = 1.0f / std::sqrt(total[i * SPLITS] / N + 1e-6f);
    for (int64_t j = 0; j < N; ++j) y[i * N + j] = x[i * N + j] * scale * w[j];
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  const int64_t M = axes[0], N = axes[1];
  std::vector<float> partial_sum(M * SPLITS);
  rmsnorm_partials((const float*)buffers[0], partial_sum.data(), M, N);
  rmsnorm_combine((const float*)buffers[0], (const float*)buffers[1], partial_sum.data(), (float*)buffers[2], M, N);
  return 0;
}
