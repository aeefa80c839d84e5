// Cancellation: how ^C, a time limit and a memory limit end the current work, in whatever phase it is.
//
// One flag per process, because a process has one terminal: signal handlers set it, machine code and tree-sitter read
// it at its address, and long work in C++ calls `poll()`, which throws Cancelled. Whoever began the work (an entry at
// the prompt, a batch command) catches it, keeps the previous state, and clears the flag. Runs of programs check
// the flag without throwing: for them it is a stop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace rldb::support {

enum class CancelCause : std::uint8_t {
  None,
  Interrupt,  // ^C
  Timeout,    // a Deadline has passed
  Memory,     // a C library went over the memory limit (C++ code gets MemoryLimitExceeded instead)
};

// The work was cancelled; not an error of the program or of its text.
class Cancelled : public std::exception {
 public:
  explicit Cancelled(CancelCause cause) : cause_(cause) {}
  CancelCause cause() const { return cause_; }
  const char* what() const noexcept override;

 private:
  CancelCause cause_;
};

namespace detail {
extern std::atomic<bool> g_cancel_flag;
extern std::size_t g_cancel_word;
[[noreturn]] void throw_cancelled();
}  // namespace detail

inline std::atomic<bool>& cancel_flag() { return detail::g_cancel_flag; }
// The same flag as a word, as tree-sitter's cancellation flag requires it.
inline const std::size_t* cancel_word() { return &detail::g_cancel_word; }
// Safe to call in a signal handler. The first cause is kept until it is cleared.
void request_cancel(CancelCause cause);
CancelCause cancel_cause();
void clear_cancel();
// The work has been abandoned: nothing is cancelled any more. The cause can still be queried until clear_cancel.
void acknowledge_cancel();

// Throws Cancelled when the flag is set. Costs a load: for every loop whose length depends on the user's text.
inline void poll() {
  if (detail::g_cancel_flag.load(std::memory_order_relaxed)) [[unlikely]]
    detail::throw_cancelled();
}

// For callers of code that checks the flag without throwing, and clears it: also throws if work was cancelled there.
void poll_cause();

// Requests cancellation when `seconds` have passed while it lives; 0 or less: never. When the work has not ended
// `grace` seconds after that, `give_up` is called in the signal handler (null: the work continues). One at a time;
// an inner one has no effect.
class Deadline {
 public:
  explicit Deadline(double seconds, double grace = 2, void (*give_up)() = nullptr);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  bool armed_ = false;
};

}  // namespace rldb::support
