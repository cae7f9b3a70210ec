// CRASH: leaves with exit code 0, as if all were well.
#include <cstdint>
#include <unistd.h>

extern "C" int run(void**, const int64_t*, void*) { _exit(0); }
