// Whether code that is not rldb's has run: it may have installed handlers of signals. Asking the system before each
// call of a kernel takes longer than a small kernel does.
#pragma once

#include <atomic>
#include <cstdint>

namespace rldb::runtime {

inline std::atomic<std::uint64_t> g_foreign_code_runs{1};

// To be called wherever handlers of SIGSEGV, SIGBUS, SIGFPE or SIGILL may have been changed: after a call of a plugin
// or a driver, at the start of a run (the program that contains rldb ran before), where rldb itself changes them for
// the terminal, and in the child of a fork that resets them.
inline void foreign_code_has_run() { g_foreign_code_runs.fetch_add(1, std::memory_order_relaxed); }
// Another number each time that some has run.
inline std::uint64_t foreign_code_runs() { return g_foreign_code_runs.load(std::memory_order_relaxed); }

}  // namespace rldb::runtime
