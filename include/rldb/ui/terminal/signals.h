// Signals of an interactive session, as events: handlers only set flags, and the flags are checked where something can
// be done about them.
//
// ^C at the prompt drops the entry, in work it cancels; ^\ does the same in work and nothing at the prompt; SIGTERM and
// SIGHUP cancel the work and end the session in order, the second time at once; ^Z stops and resumes. At the prompt
// signals are delivered only inside `wait`, so that no library is interrupted in the middle of something.
#pragma once

#include <csignal>

namespace rldb::ui {

// For as long as the session is interactive.
class SessionSignals {
 public:
  SessionSignals();
  ~SessionSignals();
  SessionSignals(const SessionSignals&) = delete;
  SessionSignals& operator=(const SessionSignals&) = delete;
  // The signal that asked the session to end, 0 when none did.
  static int ended_by();

 private:
  struct sigaction before_[3];
};

enum class PromptEvent { Input, Other, Pause, Interrupt, Suspend, Continue, Resize, End };

// While an entry is being typed.
class PromptSignals {
 public:
  PromptSignals();
  ~PromptSignals();
  PromptSignals(const PromptSignals&) = delete;
  PromptSignals& operator=(const PromptSignals&) = delete;
  // Input: standard input can be read. Pause: nothing arrived for `timeout_ms` (negative: waits indefinitely).
  // Continue: stopped from outside, and resumed. End: the session was asked to end, or the terminal was closed.
  // Other: `other` can be read (-1: there is none), and standard input cannot.
  PromptEvent wait(int timeout_ms = -1, int other = -1);
  // Has a signal arrived that `wait` would report?
  bool arrived() const;
  // Stops the process as ^Z does, and returns when it continues.
  void stop();

 private:
  struct sigaction before_[5];
  sigset_t mask_;
};

}  // namespace rldb::ui
