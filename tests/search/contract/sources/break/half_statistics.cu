// KNOBS {"THREADS": 256}
// rmsnorm: direct
// violated: numerics
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void rmsnorm_rows(const float* x, const float* w, float* y, int64_t N) {
  __shared__ float part[32];
  const int64_t row = blockIdx.x;
  float s = 0.0f;
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) {
    const __half h = __float2half(x[row * N + j]);
    s += __half2float(h) * __half2float(h);
  }
  for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0.0f;
  for (int i = 0; i < THREADS / 32; ++i) s += part[i];
  const float scale = rsqrtf(s / N + 1e-6f);
  for (int64_t j = threadIdx.x; j < N; j += blockDim.x) y[row * N + j] = x[row * N + j] * scale * w[j];
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  rmsnorm_rows<<<axes[0], THREADS, 0, (cudaStream_t)stream>>>(
      (const float*)buffers[0], (const float*)buffers[1], (float*)buffers[2], axes[1]);
  return 0;
}
