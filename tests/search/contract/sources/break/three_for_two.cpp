// KNOBS {}
// softmax: online_softmax
// violated: reduction(N)
#include <algorithm>
#include <cmath>
#include <cstdint>

static void softmax_rows(const float* x, float* y, int64_t M, int64_t N) {
  #pragma omp parallel for
  for (int64_t i = 0; i < M; ++i) {
    float online_m = -INFINITY, online_s = 0.0f;
    for (int64_t j = 0; j < N; ++j) online_m = std::max(online_m, x[i * N + j]);
    for (int64_t j = 0; j < N; ++j) online_s += std::exp(x[i * N + j] - online_m);
    for (int64_t j = 0; j < N; ++j) y[i * N + j] = std::exp(x[i * N + j] - online_m) / online_s;
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  softmax_rows((const float*)buffers[0], (float*)buffers[1], axes[0], axes[1]);
  return 0;
}
