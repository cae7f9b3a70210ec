// KNOBS {"TASK": 2}
// rmsnorm: dynamic_rows
#include <cmath>
#include <cstdint>

static inline float scale_of(const float* row, int64_t n) {
  float total = 0.0f;
  for (int64_t j = 0; j < n; ++j) total += row[j] * row[j];
  return 1.0f / std::sqrt(total / n + 1e-6f);
}

static void rmsnorm_rows(const float* x, const float* w, float* y, int64_t M, int64_t N) {
  #pragma omp parallel for schedule(dynamic, TASK)
  for (int64_t i = 0; i < M; ++i) {
    const float scale = scale_of(x + i * N, N);
    for (int64_t j = 0; j < N; ++j) y[i * N + j] = x[i * N + j] * scale * w[j];
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  rmsnorm_rows((const float*)buffers[0], (const float*)buffers[1], (float*)buffers[2], axes[0], axes[1]);
  return 0;
}
