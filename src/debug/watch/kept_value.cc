// KeptValue: kept by contents or by hash, and compared with the current value.
#include "debug/watch/kept_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "rldb/runtime/copy.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::size_t kCopyLimit = std::size_t(64) << 20;  // bytes

std::uint64_t hash_of(const std::byte* data, std::size_t size) {
  std::uint64_t h = 0x9E3779B97F4A7C15ULL;
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, data + i, 8);
    h = (h ^ word) * 0xFF51AFD7ED558CCDULL;
    h ^= h >> 32;
  }
  for (; i < size; ++i) h = (h ^ std::uint64_t(data[i])) * 0x100000001B3ULL;
  return h;
}

bool same_place(const Tensor& a, const Tensor& b) { return a.shape() == b.shape() && a.dtype() == b.dtype(); }

std::string index_text(const Tensor& t, std::int64_t flat) {
  std::vector<std::int64_t> index(std::size_t(t.ndim()));
  for (std::size_t d = index.size(); d-- > 0;) {
    index[d] = flat % t.shape()[d];
    flat /= t.shape()[d];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

// Fields of tuples are pushed onto `open`.
bool equal_but_fields(const Value& a, const Value& b, std::vector<std::pair<Value, Value>>& open) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::Tensor:
      return same_place(a.as_tensor(), b.as_tensor()) &&
             std::memcmp(a.as_tensor().peek(), b.as_tensor().peek(), a.as_tensor().byte_size()) == 0;
    case ValueKind::Tuple: {
      const auto &x = a.as_tuple().fields, &y = b.as_tuple().fields;
      if (x.size() != y.size()) return false;
      for (std::size_t i = 0; i < x.size(); ++i) open.emplace_back(x[i], y[i]);
      return true;
    }
    case ValueKind::Storage: {
      const auto x = a.storage_ref(), y = b.storage_ref();
      return x->size() == y->size() && std::memcmp(x->peek(), y->peek(), x->size()) == 0;
    }
    case ValueKind::Float: {
      const double x = a.as_float(), y = b.as_float();
      return std::memcmp(&x, &y, sizeof x) == 0;
    }
    case ValueKind::Null:
    case ValueKind::Int:
    case ValueKind::Bool:
    case ValueKind::DType:
    case ValueKind::String:
    case ValueKind::Shape:
      return runtime::format_value(a) == runtime::format_value(b);
    case ValueKind::Function:
    case ValueKind::Object:
      return a.object() == b.object();
  }
  RLDB_UNREACHABLE("value kind");
}

// Nested values too, and lists of any length; a storage counts as its bytes.
bool equal(const Value& a, const Value& b) {
  std::vector<std::pair<Value, Value>> open{{a, b}};
  while (!open.empty()) {
    support::poll();
    const auto [x, y] = std::move(open.back());
    open.pop_back();
    if (!equal_but_fields(x, y, open)) return false;
  }
  return true;
}

// The bytes of a value, one piece after the other: `f(data, size)`. Without any, its text.
template <class F>
void each_piece(const Value& value, F f) {
  std::vector<Value> open{value};
  while (!open.empty()) {
    support::poll();
    const Value v = std::move(open.back());
    open.pop_back();
    if (v.is(ValueKind::Tensor)) {
      f(v.as_tensor().peek(), v.as_tensor().byte_size());
    } else if (v.is(ValueKind::Storage)) {
      f(v.storage_ref()->peek(), v.storage_ref()->size());
    } else if (v.is(ValueKind::Tuple)) {
      open.insert(open.end(), v.as_tuple().fields.begin(), v.as_tuple().fields.end());
    } else {
      const std::string text = runtime::format_brief(v);
      f(reinterpret_cast<const std::byte*>(text.data()), text.size());
    }
  }
}

std::uint64_t hash_of_value(const Value& v) {
  std::uint64_t all = 0;
  each_piece(v, [&](const std::byte* data, std::size_t size) {
    all = (all ^ hash_of(data, size)) * 0xFF51AFD7ED558CCDULL + size;
  });
  return all;
}

std::string byte_changes(const runtime::Storage& a, const runtime::Storage& b) {
  const std::size_t size = std::min(a.size(), b.size());
  std::size_t first = size, last = 0, count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (a.peek()[i] == b.peek()[i]) continue;
    first = std::min(first, i);
    last = i;
    ++count;
  }
  if (count == 0) return fmt::format("  another storage of {} bytes", b.size());
  return fmt::format("  {} of {} bytes changed, between offsets {} and {}", count, b.size(), first, last);
}

}  // namespace

void KeptValue::keep(const std::optional<Value>& value) {
  value_.reset();
  hashed_ = false;
  if (!value) return;
  std::size_t size = 0;
  each_piece(*value, [&](const std::byte*, std::size_t bytes) { size += bytes; });
  if (size <= kCopyLimit)
    if (auto copy = runtime::copy_of(*value); copy.ok()) value_ = std::move(copy).value();
  if (value_) return;
  hashed_ = true;
  hash_ = hash_of_value(*value);
}

bool KeptValue::is(const std::optional<Value>& value) const {
  if (!value) return !value_ && !hashed_;
  if (!hashed_) return value_ && equal(*value_, *value);
  return hash_of_value(*value) == hash_;
}

std::string KeptValue::changes(const std::optional<Value>& now) const {
  const auto brief = [](const std::optional<Value>& v) {
    return v ? runtime::format_brief(*v) : std::string("no value");
  };
  if (value_ && now && value_->is(ValueKind::Tensor) && now->is(ValueKind::Tensor) &&
      same_place(value_->as_tensor(), now->as_tensor())) {
    const Tensor &a = value_->as_tensor(), &b = now->as_tensor();
    const std::size_t width = a.dtype().bytes();
    std::int64_t first = -1, count = 0;
    for (std::int64_t i = 0; i < a.element_count(); ++i) {
      if (std::memcmp(a.peek() + std::size_t(i) * width, b.peek() + std::size_t(i) * width, width) == 0) continue;
      if (first < 0) first = i;
      ++count;
    }
    if (first >= 0)
      return fmt::format("  first at {}: {} -> {}; {} of {} elements changed", index_text(a, first), a.at(first),
                         b.at(first), count, a.element_count());
  }
  if (value_ && now && value_->is(ValueKind::Storage) && now->is(ValueKind::Storage))
    return byte_changes(*value_->storage_ref(), *now->storage_ref());
  return fmt::format("  old: {}\n  new: {}", hashed_ ? std::string("(too large to be kept)") : brief(value_),
                     brief(now));
}

}  // namespace rldb::debug
