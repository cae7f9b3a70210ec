// KNOBS {"THREADS": 256, "SPLITS": 8}
// rmsnorm: split_row
// also: atomics = []
// violated: kernels, reduction(N), atomics, intermediates
#include <cstdint>
#include <cuda_runtime.h>

__global__ void rmsnorm_partials(const float* x, float* total, int64_t N) {
  const int64_t length = (N + SPLITS - 1) / SPLITS, first = blockIdx.y * length;
  const int64_t last = min(first + length, N);
  float s = 0.0f;
  for (int64_t j = first + threadIdx.x; j < last; j += blockDim.x) s = fmaf(x[blockIdx.x * N + j], x[blockIdx.x * N + j], s);
  atomicAdd(&total[blockIdx.x], s);
}

__global__ void rmsnorm_combine(const float* x, const float* w, const float* total, float* y, int64_t N) {
  const int64_t length = (N + SPLITS - 1) / SPLITS, first = blockIdx.y * length;
  const int64_t last = min(first + length, N);
  const float scale = rsqrtf(total[blockIdx.x] / N + 1e-6f);
  for (int64_t j = first + threadIdx.x; j < last; j += blockDim.x) y[blockIdx.x * N + j] = x[blockIdx.x * N + j] * scale * w[j];
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t M = axes[0], N = axes[1];
  cudaStream_t s = (cudaStream_t)stream;
  float* row_sum;
  cudaMallocAsync(&row_sum, M * sizeof(float), s);
  cudaMemsetAsync(row_sum, 0, M * sizeof(float), s);
  const dim3 grid(M, SPLITS);
  rmsnorm_partials<<<grid, THREADS, 0, s>>>((const float*)buffers[0], row_sum, N);
  rmsnorm_combine<<<grid, THREADS, 0, s>>>((const float*)buffers[0], (const float*)buffers[1], row_sum, (float*)buffers[2], N);
  return 0;
}
