// The buffer passed to a packed call that names memory: `T.tvm_stack_make_array(data, shape, ...)`, or a pointer.
//
// Several buffers of different ranks may share one pointer: the one of the array's rank is meant, else the one that was
// created first. Users: the evaluator, code generation.
#pragma once

#include <optional>

#include "rldb/ir/expr.h"

namespace rldb::ir {

class PointedBuffer {
 public:
  explicit PointedBuffer(const Expr* argument);
  // Each existing buffer, in any order.
  void offer(const Buffer* buffer);
  const Buffer* found() const { return found_; }  // null: none uses the pointer

 private:
  const Var* data_ = nullptr;
  std::optional<std::size_t> rank_;
  const Buffer* found_ = nullptr;
};

}  // namespace rldb::ir
