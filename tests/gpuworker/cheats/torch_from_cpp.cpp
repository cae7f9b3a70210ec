// RUNTIME_ERROR: looks for torch in its own process and on disk, to call its operation.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

static bool mapped(const char* word) {
  char line[1024];
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  while (maps && std::fgets(line, sizeof line, maps))
    if (std::strstr(line, word)) return true;
  return false;
}

extern "C" int run(void**, const int64_t*, void*) {
  const bool found = mapped("torch") || mapped("python") || dlopen("libtorch_cpu.so", RTLD_NOW) ||
                     dlsym(RTLD_DEFAULT, "cblas_sgemm");
  if (found) std::puts("LEAK torch");
  return 1;
}
