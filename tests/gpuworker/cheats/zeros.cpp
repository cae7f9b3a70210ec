// INCORRECT_NUMERICAL: writes zeros and hopes that the tolerance is wide.
#include <cstdint>
#include <cstring>

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  std::memset(buffers[1], 0, axes[0] * axes[1] * sizeof(float));
  return 0;
}
