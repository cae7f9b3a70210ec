// RUNTIME_ERROR: takes memory that its own limits do not count.
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int run(void**, const int64_t*, void*) {
  static char block[1 << 20];
  std::memset(block, 1, sizeof block);
  for (;;) {
    const int fd = memfd_create("bomb", 0);
    if (fd < 0) return 1;
    while (write(fd, block, sizeof block) > 0) {
    }
  }
}
