// NONFINITE: writes NaN, which some comparisons take for equal.
#include <cmath>
#include <cstdint>

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  float* y = static_cast<float*>(buffers[1]);
  for (int64_t i = 0; i < axes[0] * axes[1]; ++i) y[i] = NAN;
  return 0;
}
