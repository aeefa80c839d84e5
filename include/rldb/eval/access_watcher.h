// Sees the accesses of a kernel that the evaluator runs, element by element: sanitizers.
#pragma once

#include <cstddef>

#include "rldb/ir/expr.h"
#include "rldb/ir/stmt.h"
#include "rldb/runtime/value.h"

namespace rldb::eval {

class AccessWatcher {
 public:
  virtual ~AccessWatcher() = default;
  // An element, or a lane of one, is read from this address; only loads that are evaluated: one side of a conditional.
  virtual void loaded(const ir::BufferLoad* load, const std::byte* at, std::size_t bytes) = 0;
  virtual void stored(const std::byte* at, std::size_t bytes) = 0;
  // Memory of the kernel's own, to which nothing has been written. It lives until the kernel ends.
  virtual void allocated(const std::byte* at, std::size_t bytes) = 0;
  // The kernel passed it to a packed function, which may have written to it.
  virtual void passed(const runtime::Value& tensor) = 0;
  // The outermost of the statements that start threads: what they do comes after all that was done before.
  virtual void launched(const ir::AttrStmt*) {}
};

}  // namespace rldb::eval
