// KNOBS {"THREADS": 256}
// softmax: direct
// also: no_torch_compute = true
// also: atomics = []
// also: barriers = []
// also: fusion(softmax_rows) = ["x", "y"]
#include <cmath>
#include <cstdint>
#include <cuda_runtime.h>

__device__ __forceinline__ float warp_max(float v) {
  for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, o));
  return v;
}
__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
  return v;
}
template <bool MAX>
__device__ float block_reduce(float v) {
  __shared__ float red[32];
  v = MAX ? warp_max(v) : warp_sum(v);
  if ((threadIdx.x & 31) == 0) red[threadIdx.x >> 5] = v;
  __syncthreads();
  float r = MAX ? -INFINITY : 0.0f;
  for (int i = 0; i < blockDim.x / 32; ++i) r = MAX ? fmaxf(r, red[i]) : r + red[i];
  __syncthreads();
  return r;
}

__global__ void __launch_bounds__(THREADS)
softmax_rows(const float* __restrict__ x, float* __restrict__ y, int64_t M, int64_t N) {
  const int64_t row = blockIdx.x;
  const float* in = x + row * N;
  float* out = y + row * N;
  float m = -INFINITY;
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) m = fmaxf(m, in[j]);
  m = block_reduce<true>(m);
  float s = 0.0f;
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) s += __expf(in[j] - m);
  s = block_reduce<false>(s);
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) out[j] = __expf(in[j] - m) / s;
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t M = axes[0], N = axes[1];
  softmax_rows<<<M, THREADS, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const float*>(buffers[0]), static_cast<float*>(buffers[1]), M, N);
  return cudaGetLastError();
}
