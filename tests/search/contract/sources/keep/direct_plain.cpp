// KNOBS {"TASK": 1}
// softmax: direct
// also: no_torch_compute = true
// also: atomics = []
// also: fusion(softmax_rows) = ["x", "y"]
#include <algorithm>
#include <cmath>
#include <cstdint>

static void softmax_rows(const float* x, float* y, int64_t M, int64_t N) {
  #pragma omp parallel for schedule(static, TASK)
  for (int64_t i = 0; i < M; ++i) {
    const float* row = x + i * N;
    float* out = y + i * N;
    float top = -INFINITY;
    for (int64_t j = 0; j < N; ++j) top = std::max(top, row[j]);
    float sum = 0.0f;
    for (int64_t j = 0; j < N; ++j) sum += std::exp(row[j] - top);
    for (int64_t j = 0; j < N; ++j) out[j] = std::exp(row[j] - top) / sum;
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  softmax_rows(static_cast<const float*>(buffers[0]), static_cast<float*>(buffers[1]), axes[0], axes[1]);
  return 0;
}
