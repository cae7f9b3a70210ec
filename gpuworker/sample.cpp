// KNOBS {"LANES": 16}
// A plain row softmax that `doctor` and `bench` judge.
#include <cmath>
#include <cstdint>

static void softmax(const float* x, float* y, int64_t M, int64_t N) {
#pragma omp parallel for
  for (int64_t i = 0; i < M; ++i) {
    const float* row = x + i * N;
    float* out = y + i * N;
    float tops[LANES], sums[LANES];
    for (int lane = 0; lane < LANES; ++lane) tops[lane] = -INFINITY, sums[lane] = 0.0f;
    int64_t j = 0;
    for (; j + LANES <= N; j += LANES)
      for (int lane = 0; lane < LANES; ++lane) tops[lane] = std::fmax(tops[lane], row[j + lane]);
    float top = tops[0];
    for (int lane = 1; lane < LANES; ++lane) top = std::fmax(top, tops[lane]);
    for (int64_t k = j; k < N; ++k) top = std::fmax(top, row[k]);
    for (j = 0; j + LANES <= N; j += LANES)
      for (int lane = 0; lane < LANES; ++lane)
        sums[lane] += out[j + lane] = std::exp(row[j + lane] - top);
    float sum = 0.0f;
    for (int lane = 0; lane < LANES; ++lane) sum += sums[lane];
    for (; j < N; ++j) sum += out[j] = std::exp(row[j] - top);
    const float scale = 1.0f / sum;
    for (j = 0; j < N; ++j) out[j] *= scale;
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t M = axes[0], N = axes[1];
  softmax(static_cast<const float*>(buffers[0]), static_cast<float*>(buffers[1]), M, N);
  return 0;
}
