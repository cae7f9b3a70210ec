// KNOBS {"CHUNK": 256}
// softmax: online_softmax
// also: barriers = []
#include <cmath>
#include <cstdint>
namespace {
using i64 = std::int64_t;
struct Pair { float m; float s; };

template <typename T>
void softmax_rows(T const* in, T* out, i64 rows, i64 cols) {
#pragma omp parallel for
  for (i64 r = 0; r < rows; r++) {
    float m = -INFINITY, s = 0.f;
    for (i64 c = 0; c < cols; c++) {
      const float v = in[r * cols + c];
      const float larger = v > m ? v : m;
      s = s * expf(m - larger) + expf(v - larger);
      m = larger;
    }
    const float inverse = 1.0f / s;
    for (i64 c = 0; c < cols; c++) out[r * cols + c] = expf(in[r * cols + c] - m) * inverse;
  }
}
}  // namespace
extern "C" int run(void** buffers, const int64_t* axes, void*) {
  auto* in = reinterpret_cast<const float*>(buffers[0]);
  auto* out = reinterpret_cast<float*>(buffers[1]);
  softmax_rows<float>(in, out, axes[0], axes[1]);
  return 0;
}
