// KNOBS {"THREADS": 128}
// softmax: direct
// violated: grid(softmax_rows)
#include <cmath>
#include <cstdint>
#include <cuda_runtime.h>

__global__ void softmax_rows(const float* x, float* y, int64_t M, int64_t N) {
  const int64_t row = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= M) return;
  float m = -INFINITY, s = 0.0f;
  for (int64_t j = 0; j < N; ++j) m = fmaxf(m, x[row * N + j]);
  for (int64_t j = 0; j < N; ++j) s += expf(x[row * N + j] - m);
  for (int64_t j = 0; j < N; ++j) y[row * N + j] = expf(x[row * N + j] - m) / s;
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t M = axes[0];
  softmax_rows<<<(M + THREADS - 1) / THREADS, THREADS, 0, (cudaStream_t)stream>>>(
      (const float*)buffers[0], (float*)buffers[1], M, axes[1]);
  return 0;
}
