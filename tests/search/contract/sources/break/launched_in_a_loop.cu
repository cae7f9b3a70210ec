// KNOBS {"THREADS": 256}
// rmsnorm: direct
// also: no_torch_compute = true
// undecidable: kernels, grid(rmsnorm_rows), reduction(N), intermediates, numerics, no_torch_compute, atomics
// How often the kernel runs follows from a loop on the host.
#include <cstdint>
#include <cuda_runtime.h>

__global__ void rmsnorm_rows(const float* x, const float* w, float* y, int64_t N) {
  __shared__ float part[THREADS];
  float s = 0.0f;
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) s += x[blockIdx.x * N + j] * x[blockIdx.x * N + j];
  part[threadIdx.x] = s;
  __syncthreads();
  s = 0.0f;
  for (int i = 0; i < THREADS; ++i) s += part[i];
  const float scale = rsqrtf(s / N + 1e-6f);
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) y[blockIdx.x * N + j] = x[blockIdx.x * N + j] * scale * w[j];
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  for (int again = 0; again < 2; ++again) {
    rmsnorm_rows<<<axes[0], THREADS, 0, (cudaStream_t)stream>>>(
        (const float*)buffers[0], (const float*)buffers[1], (float*)buffers[2], axes[1]);
  }
  return 0;
}
