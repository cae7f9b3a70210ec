// KNOBS {"ROWS": 8}
// softmax: row_groups, online_softmax
#include <cmath>
#include <cstdint>
#include <cuda_runtime.h>

__global__ void softmax_rows(const float* x, float* y, int64_t M, int64_t N) {
  const int lane = threadIdx.x & 31;
  const int64_t row = int64_t(blockIdx.x) * ROWS + (threadIdx.x >> 5);
  if (row >= M) return;
  x += row * N;
  y += row * N;
  float m = -INFINITY, s = 0.0f;
  for (int64_t j = lane; j < N; j += 32) {
    const float v = x[j];
    const float larger = fmaxf(m, v);
    s = s * __expf(m - larger) + __expf(v - larger);
    m = larger;
  }
  for (int o = 16; o; o /= 2) {
    const float other_m = __shfl_xor_sync(~0u, m, o);
    const float other_s = __shfl_xor_sync(~0u, s, o);
    const float larger = fmaxf(m, other_m);
    s = s * __expf(m - larger) + other_s * __expf(other_m - larger);
    m = larger;
  }
  for (int64_t j = lane; j < N; j += 32) y[j] = __expf(x[j] - m) / s;
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t M = axes[0], N = axes[1];
  const dim3 grid((M + ROWS - 1) / ROWS);
  softmax_rows<<<grid, 32 * ROWS, 0, (cudaStream_t)stream>>>((const float*)buffers[0], (float*)buffers[1], M, N);
  return 0;
}
