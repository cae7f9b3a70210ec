// KNOBS {"THREADS": 256}
// softmax: resident_row
// also: descriptors = false
#include <cstdint>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern __shared__ float kept[];

__global__ void softmax_rows(const float* __restrict__ x, float* __restrict__ y, int64_t N) {
  cg::thread_block block = cg::this_thread_block();
  __shared__ float part[32];
  const float4* in = reinterpret_cast<const float4*>(x + blockIdx.x * N);
  float m = -1e30f;
  for (int64_t j = threadIdx.x; j < N / 4; j += blockDim.x) {
    const float4 v = in[j];
    kept[4 * j] = v.x; kept[4 * j + 1] = v.y; kept[4 * j + 2] = v.z; kept[4 * j + 3] = v.w;
    m = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
  }
  part[threadIdx.x % 32] = m;
  block.sync();
  for (int i = 0; i < 32; ++i) m = fmaxf(m, part[i]);
  float s = 0.0f;
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) { kept[j] = __expf(kept[j] - m); s += kept[j]; }
  block.sync();
  part[threadIdx.x % 32] = s;
  block.sync();
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) y[blockIdx.x * N + j] = kept[j] / part[0];
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t N = axes[1];
  const size_t bytes = N * sizeof(float);
  cudaFuncSetAttribute(softmax_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  softmax_rows<<<axes[0], THREADS, bytes, (cudaStream_t)stream>>>((const float*)buffers[0], (float*)buffers[1], N);
  return 0;
}
