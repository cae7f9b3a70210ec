// KNOBS {}
// rmsnorm: direct
// violated: numerics
#include <cmath>
#include <cstdint>

static void rmsnorm_rows(const float* x, const float* w, float* y, int64_t M, int64_t N) {
  #pragma omp parallel for
  for (int64_t i = 0; i < M; ++i) {
    _Float16 total = 0;
    for (int64_t j = 0; j < N; ++j) total += x[i * N + j] * x[i * N + j];
    const float scale = 1.0f / std::sqrt((float)total / N + 1e-6f);
    for (int64_t j = 0; j < N; ++j) y[i * N + j] = x[i * N + j] * scale * w[j];
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  rmsnorm_rows((const float*)buffers[0], (const float*)buffers[1], (float*)buffers[2], axes[0], axes[1]);
  return 0;
}
