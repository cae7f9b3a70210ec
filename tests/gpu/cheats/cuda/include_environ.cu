// expect: COMPILE_ERROR
// Takes secrets into the program while it is compiled.
#include <cstdint>

static const char* secrets =
#include "/proc/self/environ"
    ;

extern "C" int run(void** buffers, const int64_t* axes, void* stream) { return secrets[0]; }
