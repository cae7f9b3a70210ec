// KNOBS {}
// softmax: persistent_rows
#include <cmath>
#include <cstdint>
#include <algorithm>
#include <omp.h>

static void softmax_rows(const float* __restrict x, float* __restrict y, int64_t M, int64_t N) {
  #pragma omp parallel
  {
    const int64_t worker = omp_get_thread_num(), workers = omp_get_num_threads();
    const int64_t share = (M + workers - 1) / workers;
    const int64_t last = std::min((worker + 1) * share, M);
    for (int64_t i = worker * share; i < last; ++i) {
      float m = -INFINITY;
      for (int64_t j = 0; j < N; ++j) m = std::fmax(m, x[i * N + j]);
      float s = 0.0f;
      for (int64_t j = 0; j < N; ++j) s += std::exp(x[i * N + j] - m);
      for (int64_t j = 0; j < N; ++j) y[i * N + j] = std::exp(x[i * N + j] - m) / s;
    }
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  softmax_rows((const float*)buffers[0], (float*)buffers[1], axes[0], axes[1]);
  return 0;
}
