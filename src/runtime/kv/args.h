// Arguments of the functions of caches and states, read by position. Room-private.
#pragma once

#include <fmt/format.h>

#include "rldb/runtime/value.h"
#include "runtime/value/failures.h"

namespace rldb::runtime::kv {

inline bool is_tuple(const Value& v, std::size_t size) {
  return v.is(ValueKind::Tuple) && v.as_tuple().fields.size() == size;
}

// `what` names the function's arguments in errors.
class Args {
 public:
  Args(PackedArgs args, std::string_view what) : args_(args), what_(what) {}
  std::size_t size() const { return args_.size(); }
  const Value& at(std::size_t i) const { return args_[i]; }
  support::Failure<Error> wrong(std::size_t i) const {
    const std::string given = i < args_.size() ? describe(args_[i]) : "nothing";
    return mismatch(fmt::format("expected ({}), got {} as argument {}", what_, given, i));
  }
  Result<std::int64_t> integer(std::size_t i) const {
    if (i >= args_.size() || !(args_[i].is(ValueKind::Int) || args_[i].is(ValueKind::Bool))) return wrong(i);
    return args_[i].as_int();
  }
  Result<double> number(std::size_t i) const {
    if (i >= args_.size() || !(args_[i].is(ValueKind::Int) || args_[i].is(ValueKind::Float))) return wrong(i);
    return args_[i].is(ValueKind::Int) ? double(args_[i].as_int()) : args_[i].as_float();
  }
  Result<std::vector<std::int64_t>> shape(std::size_t i) const {
    if (i >= args_.size() || !args_[i].is(ValueKind::Shape)) return wrong(i);
    return args_[i].as_shape();
  }
  Result<Tensor*> tensor(std::size_t i) const {
    if (i >= args_.size() || !args_[i].is(ValueKind::Tensor)) return wrong(i);
    return &args_[i].as_tensor();
  }
  Result<Tensor*> tensor_of(std::size_t i, const std::vector<std::int64_t>& shape) const {
    RLDB_TRY(Tensor * t, tensor(i));
    if (t->shape() == shape && t->dtype().is_float()) return t;
    return fail(ErrorKind::ShapeMismatch, fmt::format("expected ({}), got {} as argument {}, wanted floats of ({})",
                                                      what_, describe(args_[i]), i, fmt::join(shape, ", ")));
  }
  bool is_null(std::size_t i) const { return i >= args_.size() || args_[i].is_null(); }

 private:
  PackedArgs args_;
  std::string_view what_;
};

}  // namespace rldb::runtime::kv
