// INCORRECT_NUMERICAL: puts zeros over its view of the inputs and writes the answer for those.
#include <cstdint>
#include <sys/mman.h>

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  const int64_t count = axes[0] * axes[1];
  const uintptr_t start = reinterpret_cast<uintptr_t>(buffers[0]) & ~uintptr_t(4095);
  const uintptr_t end = reinterpret_cast<uintptr_t>(buffers[0]) + count * sizeof(float);
  void* mapped = mmap(reinterpret_cast<void*>(start), end - start, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (mapped == MAP_FAILED) return 1;
  float* y = static_cast<float*>(buffers[1]);
  for (int64_t i = 0; i < count; ++i) y[i] = 1.0f / axes[1];
  return 0;
}
