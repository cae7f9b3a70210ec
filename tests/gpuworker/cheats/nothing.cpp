// INCORRECT_NUMERICAL: writes nothing, in case the right answer is still in the buffer.
#include <cstdint>

extern "C" int run(void**, const int64_t*, void*) { return 0; }
