// PASSED: sums by atomics, so the last bits differ from call to call.
#include <atomic>
#include <cmath>
#include <cstdint>

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  const float* x = static_cast<const float*>(buffers[0]);
  float* y = static_cast<float*>(buffers[1]);
  const int64_t M = axes[0], N = axes[1];
  for (int64_t i = 0; i < M; ++i) {
    float top = -INFINITY, sum = 0.0f;
    for (int64_t j = 0; j < N; ++j) top = std::fmax(top, x[i * N + j]);
#pragma omp parallel for num_threads(4)
    for (int64_t j = 0; j < N; ++j) {
      y[i * N + j] = std::exp(x[i * N + j] - top);
#pragma omp atomic
      sum += y[i * N + j];
    }
    for (int64_t j = 0; j < N; ++j) y[i * N + j] /= sum;
  }
  return 0;
}
