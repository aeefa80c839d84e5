// A session whose program and options are changed for a while. Output of its programs is suppressed meanwhile: they run
// again and again. Kernels are the optimised ones, also for small inputs: a comparison is about the code that runs at
// full size. Room-private.
#pragma once

#include "rldb/session/session.h"

namespace rldb::repro {

// The output of programs is not shown meanwhile.
class Muted {
 public:
  explicit Muted(session::Session& session) : session_(session), before_(session.muted()) { session.mute(true); }
  ~Muted() { session_.mute(before_); }
  Muted(const Muted&) = delete;
  Muted& operator=(const Muted&) = delete;

 private:
  session::Session& session_;
  bool before_;
};

class Borrow {
 public:
  explicit Borrow(session::Session& session)
      : session_(session),
        muted_(session),
        program_(session.exchange_program(session.program() ? session.program()->copy() : nullptr)),
        options_(session.options()) {
    session_.options().quick_kernels = false;
  }
  ~Borrow() {
    session_.set_program(std::move(program_));
    session_.options() = std::move(options_);
  }
  Borrow(const Borrow&) = delete;
  Borrow& operator=(const Borrow&) = delete;

 private:
  session::Session& session_;
  Muted muted_;
  std::unique_ptr<session::Program> program_;
  session::Options options_;
};

}  // namespace rldb::repro
