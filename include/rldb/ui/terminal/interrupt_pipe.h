// ^C as something that `poll` waits for: a signal between a look at a flag and the wait is not lost.
//
// While it lives, ^C makes its descriptor readable, and also does what it did before (work at hand is cancelled). One
// at a time in a process. Used by waits for other programs: the live page of a session without a terminal, `rldb dap
// --port`.
#pragma once

#include <csignal>

namespace rldb::ui {

class InterruptPipe {
 public:
  InterruptPipe();
  ~InterruptPipe();
  InterruptPipe(const InterruptPipe&) = delete;
  InterruptPipe& operator=(const InterruptPipe&) = delete;

  // ^C was pressed since it was made.
  bool arrived() const;
  // Waits until there is something to read at a descriptor (true), or for ^C (false).
  bool wait_for(int descriptor) const;

 private:
  int ends_[2] = {-1, -1};
  struct sigaction before_ {};
};

}  // namespace rldb::ui
