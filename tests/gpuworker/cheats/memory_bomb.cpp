// OOM: takes memory until there is none.
#include <cstdint>
#include <cstring>

extern "C" int run(void**, const int64_t*, void*) {
  for (;;) std::memset(new char[64 << 20], 1, 64 << 20);
}
