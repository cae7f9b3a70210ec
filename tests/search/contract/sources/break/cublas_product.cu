// KNOBS {"THREADS": 256}
// gemm_bias_gelu: direct
// also: no_torch_compute = true
// violated: kernels, grid(gemm), reduction(K), no_torch_compute, intermediates, grid(bias_gelu)
// undecidable: numerics
#include <cublas_v2.h>
#include <cstdint>
#include <cuda_runtime.h>

static cublasHandle_t handle;

__global__ void bias_gelu(const float* bias, float* c, int64_t M, int64_t N) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= M * N) return;
  const float v = c[i] + bias[i % N];
  c[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
}

extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const int64_t M = axes[0], N = axes[1], K = axes[2];
  const float one = 1.0f, zero = 0.0f;
  float* c = (float*)buffers[3];
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, (const float*)buffers[1], N, (const float*)buffers[0], K, &zero, c, N);
  bias_gelu<<<1024, THREADS, 0, (cudaStream_t)stream>>>((const float*)buffers[2], c, M, N);
  return 0;
}
