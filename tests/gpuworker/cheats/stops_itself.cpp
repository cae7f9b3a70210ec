// HANG: stops itself and waits for nobody.
#include <csignal>
#include <cstdint>

extern "C" int run(void**, const int64_t*, void*) {
  std::signal(SIGTERM, SIG_IGN);
  raise(SIGSTOP);
  for (;;) {
  }
}
