#include "rldb/runtime/copy.h"

#include <cstring>

namespace rldb::runtime {

namespace {

// Tuples nest as deep as a program made them.
constexpr int kMaxCopiedDepth = 1000;

Result<Value> copy(const Value& value, int depth) {
  if (depth > kMaxCopiedDepth) return fail(ErrorKind::Unsupported, "values nest too deep to be copied");
  if (value.is(ValueKind::Tensor)) {
    const Tensor& t = value.as_tensor();
    RLDB_TRY(auto made, Tensor::empty(t.shape(), t.dtype()));
    std::memcpy(made->data(), t.data(), t.byte_size());
    return Value(std::move(made));
  }
  if (value.is(ValueKind::Storage)) {
    RLDB_TRY(auto made, value.storage_ref()->clone());
    return Value(std::move(made));
  }
  if (value.is(ValueKind::Tuple)) {
    std::vector<Value> fields;
    for (const Value& f : value.as_tuple().fields) {
      RLDB_TRY(Value made, copy(f, depth + 1));
      fields.push_back(std::move(made));
    }
    return Value::of_tuple(std::move(fields));
  }
  return value;
}

}  // namespace

Result<Value> copy_of(const Value& value) { return copy(value, 0); }

}  // namespace rldb::runtime
