// PASSED: looks at the clock, as some kernels do to report.
#include <chrono>
#include <cstdio>
#include <cmath>
#include <cstdint>

static void softmax(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M; ++i) {
    const float* row = x + i * N;
    float* out = y + i * N;
    float top = row[0];
    for (int64_t j = 1; j < N; ++j) top = std::fmax(top, row[j]);
    float sum = 0.0f;
    for (int64_t j = 0; j < N; ++j) sum += out[j] = std::exp(row[j] - top);
    for (int64_t j = 0; j < N; ++j) out[j] /= sum;
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  const float* x = static_cast<const float*>(buffers[0]);
  float* y = static_cast<float*>(buffers[1]);
  const int64_t M = axes[0], N = axes[1];

  const auto start = std::chrono::steady_clock::now();
  softmax(x, y, M, N);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (taken.count() > 3600) std::puts("slow");
  return 0;
}
