// KNOBS {"THREADS": 256}
// rmsnorm: direct
// also: descriptors = false
// also: warp_specialisation = false
// violated: descriptors, warp_specialisation
#include <cstdint>
#include <cuda_runtime.h>

__global__ void rmsnorm_rows(const float* x, const float* w, float* y, int64_t N) {
  __shared__ float part[THREADS];
  if (threadIdx.x < 32) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile [%0], [%1, {%2}];" ::"r"(0), "l"(x), "r"(0));
  }
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
  rmsnorm_rows<<<axes[0], THREADS, 0, (cudaStream_t)stream>>>(
      (const float*)buffers[0], (const float*)buffers[1], (float*)buffers[2], axes[1]);
  return 0;
}
