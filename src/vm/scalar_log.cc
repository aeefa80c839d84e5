// Records of numbers: a byte with the kind (2 bits) and the distance in time (6 bits, 63: it follows), then the value.
#include "rldb/vm/scalar_log.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "rldb/support/check.h"

namespace rldb::vm {

using runtime::Value;
using runtime::ValueKind;

namespace {

enum Code : std::uint8_t { kNull, kInt, kBool, kFloat };
constexpr std::uint64_t kFar = 63;

// Seven bits per byte, the lowest first.
void put(std::uint8_t*& to, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) *to++ = std::uint8_t(v | 0x80);
  *to++ = std::uint8_t(v);
}

std::uint64_t take(const std::uint8_t*& from) {
  std::uint64_t v = 0;
  for (unsigned shift = 0;; shift += 7) {
    const std::uint8_t byte = *from++;
    v |= std::uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80) return v;
  }
}

// Small numbers of both signs are small.
std::uint64_t folded(std::int64_t v) { return (std::uint64_t(v) << 1) ^ std::uint64_t(v >> 63); }
std::int64_t unfolded(std::uint64_t v) { return std::int64_t(v >> 1) ^ -std::int64_t(v & 1); }

Code code_of(const Value& v) {
  if (v.is(ValueKind::Int)) return kInt;
  if (v.is(ValueKind::Bool)) return kBool;
  return v.is(ValueKind::Float) ? kFloat : kNull;
}

}  // namespace

void ScalarLog::add(std::uint64_t time, const Value& value) {
  if (blocks_.empty() || kBlock - blocks_.back().used < kMostBytes) {
    blocks_.push_back({last_time_, 0, 0, std::unique_ptr<std::uint8_t[]>(new std::uint8_t[kBlock])});
  }
  Block& b = blocks_.back();
  std::uint8_t* const begin = b.data.get() + b.used;
  std::uint8_t* to = begin;
  const Code code = code_of(value);
  const std::uint64_t distance = time - last_time_;
  *to++ = std::uint8_t(code | std::min(distance, kFar) << 2);
  if (distance >= kFar) put(to, distance);
  if (code == kInt || code == kBool) put(to, folded(value.as_int()));
  if (code == kFloat) {
    const auto bits = std::bit_cast<std::uint64_t>(value.as_float());
    std::memcpy(to, &bits, sizeof bits);
    to += sizeof bits;
  }
  b.used += std::size_t(to - begin);
  ++b.count;
  ++count_;
  last_time_ = time;
}

ScalarLog::Record ScalarLog::read(Cursor& c) const {
  const std::uint8_t* const data = blocks_[c.block].data.get();
  const std::uint8_t* from = data + c.at;
  const std::uint8_t head = *from++;
  std::uint64_t distance = head >> 2;
  if (distance == kFar) distance = take(from);
  Record r{c.time + distance, Value()};
  switch (Code(head & 3)) {
    case kNull:
      break;
    case kInt:
      r.value = Value::of_int(unfolded(take(from)));
      break;
    case kBool:
      r.value = Value::of_bool(unfolded(take(from)) != 0);
      break;
    case kFloat: {
      std::uint64_t bits = 0;
      std::memcpy(&bits, from, sizeof bits);
      from += sizeof bits;
      r.value = Value::of_float(std::bit_cast<double>(bits));
      break;
    }
  }
  c.at = std::size_t(from - data);
  c.time = r.time;
  ++c.read;
  return r;
}

ScalarLog::Cursor ScalarLog::before(std::uint64_t time) const {
  const auto behind =
      std::partition_point(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.before < time; });
  Cursor c;
  c.block = behind == blocks_.begin() ? 0 : std::size_t(behind - blocks_.begin()) - 1;
  c.time = blocks_[c.block].before;
  for (Cursor next = c; !at_end(next); c = next)
    if (read(next).time >= time) break;
  return c;
}

std::optional<Value> ScalarLog::find(std::uint64_t time) {
  if (empty() || time > last_time_) return std::nullopt;
  // Continues from where the last search ended, if that is before the time and in its block.
  const bool near = next_.block < blocks_.size() && next_.at <= blocks_[next_.block].used && next_.read > 0 &&
                    next_.time < time && !at_end(next_);
  Cursor c = near ? next_ : before(time);
  while (!at_end(c)) {
    Cursor after = c;
    Record r = read(after);
    if (r.time == time) {
      next_ = after;
      return std::move(r.value);
    }
    if (r.time > time) return std::nullopt;
    c = after;
  }
  if (!near) return std::nullopt;
  next_ = {};
  return find(time);  // in a later block
}

void ScalarLog::forget_from(std::uint64_t time) {
  next_ = {};
  if (empty() || time > last_time_) return;
  const Cursor c = before(time);
  for (std::size_t i = c.block + 1; i < blocks_.size(); ++i) count_ -= blocks_[i].count;
  Block& b = blocks_[c.block];
  count_ -= b.count - c.read;
  b.used = c.at;
  b.count = c.read;
  last_time_ = c.time;
  blocks_.resize(b.used == 0 ? c.block : c.block + 1);
}

}  // namespace rldb::vm
