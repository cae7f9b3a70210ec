// KNOBS {"THREADS": 512, "ITEMS": 16}
// softmax: resident_row
#include <cmath>
#include <cstdint>
#include <cuda_runtime.h>
#include <cub/cub.cuh>

__global__ void softmax_rows(const float* x, float* y, long N) {
  using Reduce = cub::BlockReduce<float, THREADS>;
  __shared__ typename Reduce::TempStorage temp;
  __shared__ float top, total;
  float v[ITEMS];
  float m = -INFINITY;
  for (int i = 0; i < ITEMS; ++i) {
    const long j = threadIdx.x + i * THREADS;
    v[i] = j < N ? x[blockIdx.x * N + j] : -INFINITY;
    m = fmaxf(m, v[i]);
  }
  m = Reduce(temp).Reduce(m, cub::Max());
  if (threadIdx.x == 0) top = m;
  __syncthreads();
  float s = 0.0f;
  for (int i = 0; i < ITEMS; ++i) { v[i] = expf(v[i] - top); s += v[i]; }
  s = Reduce(temp).Sum(s);
  if (threadIdx.x == 0) total = s;
  __syncthreads();
  for (int i = 0; i < ITEMS; ++i) {
    const long j = threadIdx.x + i * THREADS;
    if (j < N) y[blockIdx.x * N + j] = v[i] / total;
  }
}

extern "C" int run(void** b, const int64_t* axes, void* stream) {
  dim3 grid(axes[0]), block(THREADS);
  softmax_rows<<<grid, block, 0, (cudaStream_t)stream>>>((const float*)b[0], (float*)b[1], axes[1]);
  return 0;
}
