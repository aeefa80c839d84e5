// later_memory: registers as places that two executions of one run have in common.
#include "debug/watch/later_memory.h"

#include <unordered_map>
#include <vector>

#include "rldb/support/cancel.h"

namespace rldb::debug {

using runtime::Storage;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using support::Ref;

namespace {

constexpr int kDeepest = 100;  // tuples in tuples

using Memory = std::unordered_map<const Storage*, Ref<Storage>>;

// Pairs the memory of two values that stand at the same place.
void pair_memory(const Value& a, const Value& b, Memory& pairs, int depth = 0) {
  support::poll();
  if (a.kind() != b.kind() || depth > kDeepest) return;
  if (a.is(ValueKind::Tensor)) pairs.try_emplace(a.as_tensor().storage().get(), b.as_tensor().storage());
  if (a.is(ValueKind::Storage)) pairs.try_emplace(a.storage_ref().get(), b.storage_ref());
  if (!a.is(ValueKind::Tuple)) return;
  const auto &x = a.as_tuple().fields, &y = b.as_tuple().fields;
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) pair_memory(x[i], y[i], pairs, depth + 1);
}

Memory pairs_of(const vm::Machine& a, const vm::Machine& b) {
  Memory pairs;
  for (std::size_t f = 0; f < a.frames().size() && f < b.frames().size(); ++f) {
    const auto x = a.registers(f), y = b.registers(f);
    for (std::size_t r = 0; r < x.size() && r < y.size(); ++r) pair_memory(x[r], y[r], pairs);
  }
  return pairs;
}

Value moved(const Value& value, const Memory& pairs, bool& any, int depth = 0) {
  if (value.is(ValueKind::Tensor)) {
    const Tensor& t = value.as_tensor();
    const auto it = pairs.find(t.storage().get());
    if (it == pairs.end()) return value;
    auto view = Tensor::view(it->second, t.byte_offset(), t.shape(), t.dtype());
    if (!view.ok()) return value;
    any = true;
    return Value(std::move(view).value());
  }
  if (!value.is(ValueKind::Tuple) || depth > kDeepest) return value;
  std::vector<Value> fields;
  for (const Value& field : value.as_tuple().fields) fields.push_back(moved(field, pairs, any, depth + 1));
  return Value::of_tuple(std::move(fields));
}

}  // namespace

std::optional<Value> found_again(const Value& value, const vm::Machine& executed, const vm::Machine& now) {
  if (executed.instructions() != now.instructions()) return std::nullopt;
  bool any = false;
  Value found = moved(value, pairs_of(executed, now), any);
  return any ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace rldb::debug
