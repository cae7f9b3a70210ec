// CRASH: sends SIGKILL to every process it may.
#include <csignal>
#include <cstdint>

extern "C" int run(void**, const int64_t*, void*) {
  for (int pid = 1; pid < 4000; ++pid) kill(pid, SIGKILL);
  kill(-1, SIGKILL);
  return 1;
}
