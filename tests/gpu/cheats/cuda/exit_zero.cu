// expect: CRASH
// Leaves with exit code 0, as if all were well.
#include <unistd.h>
#include <cstdint>
#include <cuda_runtime.h>

static __global__ void softmax(const float* x, float* y, int64_t N) {
  __shared__ float part[256];
  const float* row = x + blockIdx.x * N;
  float* out = y + blockIdx.x * N;
  float top = -INFINITY;
  for (int64_t j = threadIdx.x; j < N; j += 256) top = fmaxf(top, row[j]);
  part[threadIdx.x] = top;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  top = part[0];
  __syncthreads();
  float sum = 0.0f;
  for (int64_t j = threadIdx.x; j < N; j += 256) sum += expf(row[j] - top);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  sum = part[0];
  for (int64_t j = threadIdx.x; j < N; j += 256) out[j] = expf(row[j] - top) / sum;
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const float* x = static_cast<const float*>(buffers[0]);
  float* y = static_cast<float*>(buffers[1]);
  const int64_t M = axes[0], N = axes[1];
  softmax<<<M, 256, 0, static_cast<cudaStream_t>(stream)>>>(x, y, N);
  _exit(0);
  return cudaGetLastError();
}
