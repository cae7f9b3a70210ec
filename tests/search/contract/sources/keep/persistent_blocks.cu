// KNOBS {"THREADS": 256, "PROGRAMS": 264}
// rmsnorm: persistent_rows
// also: no_torch_compute = true
#include <algorithm>
#include <cstdint>
#include <cuda_runtime.h>

__global__ void rmsnorm_rows(const float* x, const float* w, float* y, int64_t M, int64_t N) {
  __shared__ float part[THREADS];
  for (int64_t row = blockIdx.x; row < M; row += gridDim.x) {
    float s = 0.0f;
    for (int64_t j = threadIdx.x; j < N; j += THREADS) { const float v = x[row * N + j]; s = fmaf(v, v, s); }
    part[threadIdx.x] = s;
    __syncthreads();
    for (int step = THREADS / 2; step > 0; step /= 2) {
      if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
      __syncthreads();
    }
    const float scale = rsqrtf(part[0] / N + 1e-6f);
    for (int64_t j = threadIdx.x; j < N; j += THREADS) y[row * N + j] = x[row * N + j] * scale * __ldg(&w[j]);
    __syncthreads();
  }
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t programs = std::min<int64_t>(axes[0], PROGRAMS);
  rmsnorm_rows<<<programs, THREADS, 0, (cudaStream_t)stream>>>(
      (const float*)buffers[0], (const float*)buffers[1], (float*)buffers[2], axes[0], axes[1]);
  return 0;
}
