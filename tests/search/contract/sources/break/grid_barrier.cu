// KNOBS {"THREADS": 256, "SPLITS": 8}
// rmsnorm: split_row
// also: barriers = []
// violated: kernels, grid(rmsnorm_combine), reduction(N), barriers
#include <cooperative_groups.h>
#include <cstdint>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

__global__ void rmsnorm_partials(const float* x, const float* w, float* partial, float* y, int64_t N) {
  auto grid = cg::this_grid();
  const int64_t length = (N + SPLITS - 1) / SPLITS, first = blockIdx.y * length;
  const int64_t last = min(first + length, N);
  float s = 0.0f;
  for (int64_t j = first + threadIdx.x; j < last; j += blockDim.x) { const float v = x[blockIdx.x * N + j]; s += v * v; }
  if (threadIdx.x == 0) partial[blockIdx.x * SPLITS + blockIdx.y] = s;
  grid.sync();
  float all = 0.0f;
  for (int p = 0; p < SPLITS; ++p) all += partial[blockIdx.x * SPLITS + p];
  const float scale = rsqrtf(all / N + 1e-6f);
  for (int64_t j = first + threadIdx.x; j < last; j += blockDim.x) y[blockIdx.x * N + j] = x[blockIdx.x * N + j] * scale * w[j];
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t M = axes[0], N = axes[1];
  float* partial_sum;
  cudaMallocAsync((void**)&partial_sum, M * SPLITS * sizeof(float), (cudaStream_t)stream);
  rmsnorm_partials<<<dim3(M, SPLITS), THREADS, 0, (cudaStream_t)stream>>>(
      (const float*)buffers[0], (const float*)buffers[1], partial_sum, (float*)buffers[2], N);
  return 0;
}
