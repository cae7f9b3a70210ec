// Runs a compiled candidate: maps the judge's buffers, locks itself in, loads the library, answers passes.
//
// Started by exec inside a cell, so that nothing of Python or torch is in the address space of a C++ candidate.
// Arguments: open files control, plan, inputs, outputs, library. `launch.py` writes the plan.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

namespace {

// The codes of `verdicts.Exit`.
enum Exit { kOutOfMemory = 97, kLoadFailed = 98, kRaised = 99, kNonzero = 100, kOurs = 104 };

struct Plan {
  uint64_t input_bytes, output_bytes;
  uint32_t sealed, inputs, tensors, axes, slots, filter_bytes;
  char attached[8], ready[8], entry[64];
};

struct Slot {
  std::vector<void*> buffers;
  std::vector<int64_t> axes;
};

using Run = int (*)(void**, const int64_t*, void*);

[[noreturn]] void leave(Exit code, const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::fflush(nullptr);
  _exit(code);
}

void read_all(int fd, void* data, size_t size) {
  for (char* at = static_cast<char*>(data); size;) {
    const ssize_t got = read(fd, at, size);
    if (got <= 0) _exit(0);  // the judge closed
    at += got;
    size -= got;
  }
}

void write_all(int fd, const void* data, size_t size) {
  if (write(fd, data, size) != static_cast<ssize_t>(size)) _exit(0);
}

char* map(int fd, size_t size, bool writable) {
  void* at = mmap(nullptr, size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) leave(kOurs, "cannot map the judge's buffers");
  close(fd);  // without the file nothing can be mapped anew
  return static_cast<char*>(at);
}

std::vector<Slot> read_slots(int fd, const Plan& plan, char* inputs, char* outputs) {
  std::vector<Slot> slots(plan.slots);
  for (Slot& slot : slots) {
    std::vector<uint64_t> offsets(plan.tensors);
    read_all(fd, offsets.data(), offsets.size() * sizeof(uint64_t));
    for (uint32_t i = 0; i < plan.tensors; ++i)
      slot.buffers.push_back((i < plan.inputs ? inputs : outputs) + offsets[i]);
    slot.axes.resize(plan.axes);
    read_all(fd, slot.axes.data(), plan.axes * sizeof(int64_t));
  }
  return slots;
}

void lock_in(int fd, const Plan& plan) {
  std::vector<char> code(plan.filter_bytes);
  read_all(fd, code.data(), code.size());
  close(fd);
  prctl(PR_SET_DUMPABLE, 0);
  if (code.empty()) return;
  sock_fprog program = {static_cast<unsigned short>(code.size() / sizeof(sock_filter)),
                        reinterpret_cast<sock_filter*>(code.data())};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) leave(kOurs, "no system call filter");
}

Run load(int fd, const char* entry) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) leave(kLoadFailed, dlerror());
  close(fd);
  void* found = dlsym(library, entry);
  if (!found) leave(kLoadFailed, dlerror());
  return reinterpret_cast<Run>(found);
}

void call(Run run, Slot& slot) {
  try {
    if (run(slot.buffers.data(), slot.axes.data(), nullptr) == 0) return;
  } catch (const std::exception& error) {
    leave(kRaised, error.what());
  }
  leave(kNonzero, "run returned an error code");
}

}  // namespace

int main(int, char** arguments) {
  const int control = std::atoi(arguments[1]), file = std::atoi(arguments[2]);
  prctl(PR_SET_NAME, "candidate");
  Plan plan;
  read_all(file, &plan, sizeof plan);
  char* inputs = map(std::atoi(arguments[3]), plan.input_bytes, !plan.sealed);
  char* outputs = map(std::atoi(arguments[4]), plan.output_bytes, true);
  std::vector<Slot> slots = read_slots(file, plan, inputs, outputs);
  lock_in(file, plan);
  std::set_new_handler([] { leave(kOutOfMemory, "out of memory"); });
  std::vector<uint32_t> order;
  order.reserve(slots.size());
  write_all(control, plan.attached, sizeof plan.attached);
  const Run run = load(std::atoi(arguments[5]), plan.entry);
  write_all(control, plan.ready, sizeof plan.ready);
  for (;;) {
    struct {
      char nonce[8];
      uint32_t count;
    } pass;
    read_all(control, &pass, 12);
    order.resize(pass.count);
    read_all(control, order.data(), pass.count * sizeof(uint32_t));
    for (const uint32_t slot : order) call(run, slots[slot]);
    write_all(control, pass.nonce, sizeof pass.nonce);
  }
}
