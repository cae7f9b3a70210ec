// COMPILE_ERROR: needs a function that nobody has.
#include <cstdint>

extern "C" int nobody_has_this(int);
extern "C" int run(void**, const int64_t*, void*) { return nobody_has_this(1); }
