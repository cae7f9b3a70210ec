// KNOBS {}
// softmax: resident_row
#include <cmath>
#include <cstdint>
#include <vector>

void softmax_rows(const float* x, float* y, long M, long N) {
  #pragma omp parallel
  {
    std::vector<float> kept(N);
    #pragma omp for
    for (long i = 0; i < M; ++i) {
      float top = -INFINITY;
      for (long j = 0; j < N; ++j) { kept[j] = x[i * N + j]; top = kept[j] > top ? kept[j] : top; }
      float s = 0;
      for (long j = 0; j < N; ++j) { kept[j] = std::exp(kept[j] - top); s += kept[j]; }
      for (long j = 0; j < N; ++j) y[i * N + j] = kept[j] / s;
    }
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  (void)stream;
  softmax_rows((const float*)buffers[0], (float*)buffers[1], axes[0], axes[1]);
  return 0;
}
