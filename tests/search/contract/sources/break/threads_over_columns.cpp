// KNOBS {}
// softmax: direct
// violated: kernels, grid(softmax_rows), reduction(N)
#include <algorithm>
#include <cmath>
#include <cstdint>

static void softmax_rows(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M; ++i) {
    float m = -INFINITY, s = 0.0f;
    #pragma omp parallel for reduction(max : m)
    for (int64_t j = 0; j < N; ++j) m = std::max(m, x[i * N + j]);
    #pragma omp parallel for reduction(+ : s)
    for (int64_t j = 0; j < N; ++j) s += std::exp(x[i * N + j] - m);
    #pragma omp parallel for
    for (int64_t j = 0; j < N; ++j) y[i * N + j] = std::exp(x[i * N + j] - m) / s;
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  softmax_rows((const float*)buffers[0], (float*)buffers[1], axes[0], axes[1]);
  return 0;
}
