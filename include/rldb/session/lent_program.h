// The session has another program as long as this lives; then its own again, whatever happened. Users: questions about
// other versions (debug, ui).
#pragma once

#include <memory>
#include <utility>

#include "rldb/session/session.h"

namespace rldb::session {

class LentProgram {
 public:
  LentProgram(Session& session, std::unique_ptr<Program> program)
      : session_(session), own_(session.exchange_program(std::move(program))) {}
  LentProgram(Session& session, const ir::Module* module) : LentProgram(session, std::unique_ptr<Program>()) {
    session.set_program(module);
  }
  ~LentProgram() { session_.exchange_program(std::move(own_)); }
  LentProgram(const LentProgram&) = delete;
  LentProgram& operator=(const LentProgram&) = delete;

 private:
  Session& session_;
  std::unique_ptr<Program> own_;
};

}  // namespace rldb::session
