// expect: INCORRECT_NUMERICAL
// Counts its calls in device memory of its own and stops working after some.
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

__device__ int calls = 0;

static __global__ void sometimes(const float* x, float* y, int64_t N) {
  __shared__ int now;
  if (threadIdx.x == 0) now = blockIdx.x == 0 ? atomicAdd(&calls, 1) : atomicAdd(&calls, 0);
  __syncthreads();
  if (now > 60) return;
  const float* row = x + blockIdx.x * N;
  float top = -INFINITY, sum = 0.0f;
  for (int64_t j = 0; j < N; ++j) top = fmaxf(top, row[j]);
  for (int64_t j = 0; j < N; ++j) sum += expf(row[j] - top);
  for (int64_t j = threadIdx.x; j < N; j += 256) y[blockIdx.x * N + j] = expf(row[j] - top) / sum;
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const float* x = static_cast<const float*>(buffers[0]);
  float* y = static_cast<float*>(buffers[1]);
  const int64_t M = axes[0], N = axes[1];
  sometimes<<<M, 256, 0, static_cast<cudaStream_t>(stream)>>>(x, y, N);
  return cudaGetLastError();
}
