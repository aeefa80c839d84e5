// Guard: calls machine code so that a signal inside it (SIGSEGV, SIGBUS, SIGFPE, SIGILL) comes back as a value.
//
// Handlers stay installed and pass on signals that did not arise inside a guarded call of the same thread.
#pragma once

#include <cstdint>

#include "rldb/runtime/kernel.h"

namespace rldb::codegen {

struct Trap {
  int signal = 0;  // 0: none
  std::uintptr_t address = 0;
};

Trap call_guarded(runtime::KernelEntry entry, const runtime::KernelWord* words, const std::int64_t* variables,
                  runtime::KernelFault* fault, std::int32_t& status);
// The same for a part of a kernel's code.
Trap call_guarded(void (*call)(void*), void* context);

// While one lives, signals are not the kernel's (a helper has called out of it).
class GuardPause {
 public:
  GuardPause();
  ~GuardPause();
  GuardPause(const GuardPause&) = delete;
  GuardPause& operator=(const GuardPause&) = delete;

 private:
  void* saved_;
};

}  // namespace rldb::codegen
