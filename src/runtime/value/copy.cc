#include "rldb/runtime/copy.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "rldb/runtime/device_error.h"

namespace rldb::runtime {

namespace {

// Tuples nest as deep as a program made them.
constexpr int kMaxCopiedDepth = 1000;

Result<Value> copy(const Value& value, int depth) {
  if (depth > kMaxCopiedDepth) return fail(ErrorKind::Unsupported, "values nest too deep to be copied");
  if (value.is(ValueKind::Tensor)) {
    const Tensor& t = value.as_tensor();
    RLDB_TRY_VOID(read_back(*t.storage()));
    RLDB_TRY(auto made, Tensor::empty(t.shape(), t.dtype(), t.device()));
    std::memcpy(made->data(), t.peek(), t.byte_size());
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

Result<Value> move_to(const Value& value, Device device, int depth) {
  if (depth > kMaxCopiedDepth) return fail(ErrorKind::Unsupported, "values nest too deep to be copied");
  if (value.is(ValueKind::Tensor)) {
    const Tensor& t = value.as_tensor();
    if (t.device() == device) return value;
    RLDB_TRY_VOID(read_back(*t.storage()));
    RLDB_TRY(auto made, Tensor::empty(t.shape(), t.dtype(), device));
    const auto begin = std::chrono::steady_clock::now();
    if (t.byte_size() > 0) std::memcpy(made->data(), t.peek(), t.byte_size());
    const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin;
    note_device_copy(t.device(), device, t.byte_size(), std::uint64_t(time.count()));
    return Value(std::move(made));
  }
  if (!value.is(ValueKind::Tuple)) return value;
  std::vector<Value> fields;
  for (const Value& f : value.as_tuple().fields) {
    RLDB_TRY(Value made, move_to(f, device, depth + 1));
    fields.push_back(std::move(made));
  }
  return Value::of_tuple(std::move(fields));
}

}  // namespace

Result<Value> on_device(const Value& value, Device device) { return move_to(value, device, 0); }

std::string devices_differ(std::span<const Value> args) {
  std::size_t first = args.size();
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!args[i].is(ValueKind::Tensor)) continue;
    if (first == args.size()) first = i;
    const Device here = args[i].as_tensor().device(), there = args[first].as_tensor().device();
    if (!(here == there))
      return fmt::format("argument {} is on {}, argument {} on {}", i, to_string(here), first, to_string(there));
  }
  return {};
}

Result<Value> copy_of(const Value& value) { return copy(value, 0); }

}  // namespace rldb::runtime
