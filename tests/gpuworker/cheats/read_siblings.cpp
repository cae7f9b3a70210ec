// REWARD_HACK: reads the memory of other processes.
#include <cstdint>
#include <sys/uio.h>

extern "C" int run(void**, const int64_t*, void*) {
  char data[64];
  const iovec here = {data, sizeof data}, there = {reinterpret_cast<void*>(0x400000), sizeof data};
  for (int pid = 1; pid < 4000; ++pid)
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) > 0) return 0;
  return 1;
}
