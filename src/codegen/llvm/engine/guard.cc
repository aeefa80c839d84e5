// The signal handlers of guarded calls: a fault inside one jumps back to its caller, any other is passed on.
#include "codegen/llvm/engine/guard.h"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "rldb/runtime/foreign_code.h"

namespace rldb::codegen {

namespace {

struct Point {
  sigjmp_buf jump;
  volatile int signal = 0;
  volatile std::uintptr_t address = 0;
};

thread_local Point* t_point = nullptr;

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction g_before[NSIG];

void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& before = g_before[signal];
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {
    // The default again: the instruction faults once more and ends the process as it would have.
    struct sigaction plain = {};
    plain.sa_handler = SIG_DFL;
    sigaction(signal, &plain, nullptr);
  }
}

void on_signal(int signal, siginfo_t* info, void* context) {
  Point* point = t_point;
  // A signal that somebody sent is not a fault of the code.
  if (!point || info->si_code <= 0) {
    pass_on(signal, info, context);
    return;
  }
  point->signal = signal;
  point->address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  t_point = nullptr;
  siglongjmp(point->jump, 1);
}

bool is_ours(const struct sigaction& a) { return (a.sa_flags & SA_SIGINFO) && a.sa_sigaction == on_signal; }

// Some system calls.
void install_now() {
  struct sigaction now = {};
  if (sigaction(kSignals[0], nullptr, &now) == 0 && is_ours(now)) return;
  for (const int signal : kSignals) {
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    struct sigaction before = {};
    if (sigaction(signal, &action, &before) == 0 && !is_ours(before)) g_before[signal] = before;
  }
}

// Checked at a call after others (a test runner, a plugin) could have installed theirs: a system call when all is well,
// which takes longer than a small kernel.
void install() {
  static std::atomic<std::uint64_t> checked{0};
  const std::uint64_t runs = runtime::foreign_code_runs();
  if (checked.load(std::memory_order_relaxed) == runs) return;
  install_now();
  checked.store(runs, std::memory_order_relaxed);
}

// An alternate stack for the handlers of this thread, unless it has one.
struct AltStack {
  AltStack() {
    stack_t now = {};
    if (sigaltstack(nullptr, &now) == 0 && !(now.ss_flags & SS_DISABLE)) return;
    constexpr std::size_t kBytes = 64 * 1024;
    memory = std::make_unique<char[]>(kBytes);
    stack_t mine = {};
    mine.ss_sp = memory.get();
    mine.ss_size = kBytes;
    if (sigaltstack(&mine, nullptr) != 0) memory.reset();
  }
  ~AltStack() {
    if (!memory) return;
    stack_t off = {};
    off.ss_flags = SS_DISABLE;
    sigaltstack(&off, nullptr);
  }
  std::unique_ptr<char[]> memory;
};

}  // namespace

Trap call_guarded(runtime::KernelEntry entry, const runtime::KernelWord* words, const std::int64_t* variables,
                  runtime::KernelFault* fault, std::int32_t& status) {
  install();
  thread_local AltStack stack;
  (void)stack;
  Point point;
  Point* const outer = t_point;
  // No signal mask is saved: the handlers do not block their signals, and a system call per kernel would be noticeable.
  if (sigsetjmp(point.jump, 0) == 0) {
    t_point = &point;
    status = entry(words, variables, fault);
    t_point = outer;
    return {};
  }
  t_point = outer;
  return {point.signal, point.address};
}

Trap call_guarded(void (*call)(void*), void* context) {
  install();
  thread_local AltStack stack;
  (void)stack;
  Point point;
  Point* const outer = t_point;
  if (sigsetjmp(point.jump, 0) == 0) {
    t_point = &point;
    call(context);
    t_point = outer;
    return {};
  }
  t_point = outer;
  return {point.signal, point.address};
}

GuardPause::GuardPause() : saved_(t_point) { t_point = nullptr; }
GuardPause::~GuardPause() { t_point = static_cast<Point*>(saved_); }

}  // namespace rldb::codegen
