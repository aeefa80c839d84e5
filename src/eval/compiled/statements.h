// The compiled forms of statements, made where they are first run and kept for further calls of the same function.
// Room-private.
#pragma once

#include <mutex>
#include <unordered_map>

#include "eval/compiled/program.h"

namespace rldb::eval {

// Used by several calls at once, also on different threads.
class CompiledStatements {
 public:
  // Null: the statement has no compiled form.
  const Program* find(const ir::Stmt* s);

 private:
  std::mutex mutex_;
  std::unordered_map<const ir::Stmt*, std::unique_ptr<const Program>> made_;
};

}  // namespace rldb::eval
