#include "rldb/ir/pointed_buffer.h"

#include "rldb/ir/intrinsic/host.h"

namespace rldb::ir {

PointedBuffer::PointedBuffer(const Expr* argument) : data_(as<Var>(argument)) {
  const auto* array = as<Call>(argument);
  if (!array || !is_call_of(array, intrin::TvmStackMakeArray) || array->args.empty()) return;
  data_ = as<Var>(array->args[0]);
  const auto* shape = array->args.size() > 1 ? as<Call>(array->args[1]) : nullptr;
  if (shape && is_call_of(shape, intrin::TvmStackMakeShape)) shape_ = shape;
}

void PointedBuffer::offer(const Buffer* buffer) {
  if (!data_ || buffer->data != data_) return;
  const bool nearer =
      !found_ || fits(buffer) > fits(found_) || (fits(buffer) == fits(found_) && buffer->id < found_->id);
  if (nearer) found_ = buffer;
}

}  // namespace rldb::ir
