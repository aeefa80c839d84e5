// The buffer passed to a packed call that names memory: `T.tvm_stack_make_array(data, shape, ...)`, or a pointer.
//
// Several buffers of different ranks may share one pointer: the one of the array's rank is meant, else the one that was
// created first, with the array's dims (FlattenBuffer leaves only flat ones). Users: the evaluator, code generation.
#pragma once

#include "rldb/ir/expr.h"

namespace rldb::ir {

class PointedBuffer {
 public:
  explicit PointedBuffer(const Expr* argument);
  // Each existing buffer, in any order.
  void offer(const Buffer* buffer);
  const Buffer* found() const { return found_; }  // null: none uses the pointer
  // The memory has the written dims, in rows without gaps, and not those of the buffer.
  bool has_other_dims() const { return found_ && shape_ && !fits(found_); }
  Span<const Expr*> dims() const { return shape_->args; }

 private:
  bool fits(const Buffer* b) const { return shape_ && b->shape.size() == shape_->args.size(); }

  const Var* data_ = nullptr;
  const Call* shape_ = nullptr;  // T.tvm_stack_make_shape
  const Buffer* found_ = nullptr;
};

}  // namespace rldb::ir
