// A session whose module and options are changed for a while. Output of its programs is suppressed meanwhile: they run
// again and again. Room-private.
#pragma once

#include "rldb/session/session.h"

namespace rldb::repro {

class Borrow {
 public:
  explicit Borrow(session::Session& session)
      : session_(session), history_(session.history()), options_(session.options()) {
    session_.mute(true);
  }
  ~Borrow() {
    session_.mute(false);
    session_.history() = std::move(history_);
    session_.options() = std::move(options_);
  }
  Borrow(const Borrow&) = delete;
  Borrow& operator=(const Borrow&) = delete;

 private:
  session::Session& session_;
  passes::History history_;
  session::Options options_;
};

}  // namespace rldb::repro
