#include "repro/values.h"

#include <cstring>
#include <unordered_set>

#include "rldb/support/cancel.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

// A tuple may contain another one many times, and so on: it may have too many leaves to inspect.
constexpr std::size_t kMaxLeaves = 100'000;

std::vector<Value> copies(const std::vector<Value>& values) {
  std::vector<Value> out;
  for (const Value& v : values) {
    auto copy = runtime::deep_copy(v);
    out.push_back(copy.ok() ? std::move(copy).value() : v);
  }
  return out;
}

void flatten(const Value& v, std::vector<Value>& out) {
  std::vector<Value> open{v};
  while (!open.empty() && out.size() < kMaxLeaves) {
    support::poll();
    const Value next = std::move(open.back());
    open.pop_back();
    if (!next.is(ValueKind::Tuple)) {
      out.push_back(next);
      continue;
    }
    const auto& fields = next.as_tuple().fields;
    open.insert(open.end(), fields.rbegin(), fields.rend());
  }
}

void for_each_tensor(const Value& v, const std::function<void(const runtime::Tensor&)>& f) {
  if (v.is(ValueKind::Tensor)) return f(v.as_tensor());
  if (!v.is(ValueKind::Tuple)) return;
  std::vector<const Value*> open{&v};
  std::unordered_set<const runtime::Object*> seen;
  while (!open.empty()) {
    const Value& next = *open.back();
    open.pop_back();
    if (next.is(ValueKind::Tensor)) f(next.as_tensor());
    if (!next.is(ValueKind::Tuple) || !seen.insert(next.object()).second) continue;
    const auto& fields = next.as_tuple().fields;
    for (auto it = fields.rbegin(); it != fields.rend(); ++it) open.push_back(&*it);
  }
}

bool same_bits(const runtime::Tensor& a, const runtime::Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.byte_size() == 0 || std::memcmp(a.peek(), b.peek(), a.byte_size()) == 0);
}

bool is_opaque(const Value& v) {
  return v.is(ValueKind::Function) || v.is(ValueKind::Storage) || v.is(ValueKind::Object);
}

std::string nothing_to_compare(const std::vector<Value>& leaves) {
  const Value* opaque = nullptr;
  for (const Value& v : leaves) {
    if (!is_opaque(v) && !v.is_null()) return {};
    if (is_opaque(v)) opaque = &v;
  }
  if (opaque) return "it gives a value that cannot be compared: " + runtime::describe(*opaque);
  return std::string(kNoValue);
}

std::string nothing_to_compare(const Value& result) {
  std::vector<Value> leaves;
  flatten(result, leaves);
  return nothing_to_compare(leaves);
}

}  // namespace rldb::repro
