// KNOBS {"THREADS": 256, "SPLITS": 8}
// rmsnorm: split_row
// also: atomics = []
#include <cstdint>
#include <cuda_runtime.h>

__device__ float summed(float v) {
  __shared__ float part[THREADS];
  part[threadIdx.x] = v;
  __syncthreads();
  float s = 0.0f;
  for (int i = 0; i < THREADS; ++i) s += part[i];
  return s;
}

__global__ void rmsnorm_partials(const float* x, float* partial, int64_t N) {
  const int64_t length = (N + SPLITS - 1) / SPLITS, first = blockIdx.y * length;
  const int64_t last = min(first + length, N);
  float s = 0.0f;
  for (int64_t j = first + threadIdx.x; j < last; j += blockDim.x) { const float v = x[blockIdx.x * N + j]; s += v * v; }
  s = summed(s);
  if (threadIdx.x == 0) partial[blockIdx.x * SPLITS + blockIdx.y] = s;
}

__global__ void rmsnorm_combine(const float* x, const float* w, const float* partial, float* y, int64_t N) {
  const int64_t length = (N + SPLITS - 1) / SPLITS, first = blockIdx.y * length;
  const int64_t last = min(first + length, N);
  float s = 0.0f;
  for (int p = 0; p < SPLITS; ++p) s += partial[blockIdx.x * SPLITS + p];
  const float scale = rsqrtf(s / N + 1e-6f);
  for (int64_t j = first + threadIdx.x; j < last; j += blockDim.x) y[blockIdx.x * N + j] = x[blockIdx.x * N + j] * scale * w[j];
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t M = axes[0], N = axes[1];
  cudaStream_t s = (cudaStream_t)stream;
  float* partial_sum = nullptr;
  cudaMallocAsync(&partial_sum, M * SPLITS * sizeof(float), s);
  dim3 grid(M, SPLITS);
  rmsnorm_partials<<<grid, THREADS, 0, s>>>((const float*)buffers[0], partial_sum, N);
  rmsnorm_combine<<<grid, THREADS, 0, s>>>((const float*)buffers[0], (const float*)buffers[1], partial_sum, (float*)buffers[2], N);
  cudaFreeAsync(partial_sum, s);
  return 0;
}
