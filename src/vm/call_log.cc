// The record of a call, and replaying a call from its record.
#include "rldb/vm/call_log.h"

#include <algorithm>
#include <cstring>

#include "rldb/runtime/shared_memory.h"
#include "vm/link.h"

namespace rldb::vm {

using runtime::ValueKind;

namespace {

bool shares_storage(const Value& v, PackedArgs args) {
  if (v.is(ValueKind::Tuple)) {
    for (const Value& field : v.as_tuple().fields)
      if (shares_storage(field, args)) return true;
    return false;
  }
  if (v.is(ValueKind::Object) || v.is(ValueKind::Function) || v.is(ValueKind::Storage))
    return true;  // cannot be copied
  if (!v.is(ValueKind::Tensor)) return false;
  for (const Value& a : args)
    if (a.is(ValueKind::Tensor) && a.as_tensor().storage() == v.as_tensor().storage()) return true;
  return false;
}

// Whether the result is the call's only effect: no argument can have changed.
bool is_number(const Value& result, PackedArgs args) {
  if (!ScalarLog::holds(result)) return false;
  for (const Value& a : args)
    if (a.is(ValueKind::Tensor) || a.is(ValueKind::Tuple)) return false;
  return true;
}

std::size_t bytes_of(const Value& v) {
  if (v.is(ValueKind::Tensor)) return v.as_tensor().storage()->size();
  std::size_t bytes = sizeof(Value);
  if (v.is(ValueKind::Tuple))
    for (const Value& field : v.as_tuple().fields) bytes += bytes_of(field);
  return bytes;
}

}  // namespace

const CallLog::Entry* CallLog::find(std::uint64_t time) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), time,
                                   [](const Entry& e, std::uint64_t t) { return e.time < t; });
  return at != entries_.end() && at->time == time ? &*at : nullptr;
}

Result<Value> CallLog::call(const Program& program, std::uint64_t time, const runtime::Function& function,
                            PackedArgs args) {
  if (time < end_) return call_again(program, time, function, args);
  Result<Value> result = function.native(args);
  if (!result.ok()) return result;
  if (is_number(*result, args) && bytes() < limit_) {
    scalars_.add(time, *result);
    end_ = time + 1;
  } else if (keep(program, time, *result, args)) {
    end_ = time + 1;
  }
  return result;
}

Result<Value> CallLog::call_again(const Program& program, std::uint64_t time, const runtime::Function& function,
                                  PackedArgs args) {
  if (const Entry* known = find(time)) return replay(program, *known, args);
  if (std::optional<Value> number = scalars_.find(time)) return std::move(*number);
  // A moment before the last recorded one that could not be recorded the first time.
  return function.native(args);
}

Result<Value> CallLog::replay(const Program& program, const Entry& entry, PackedArgs args) const {
  if (entry.written)
    for (const auto& [i, kept] : *entry.written) {
      const runtime::Tensor& to = args[i].as_tensor();
      std::memcpy(to.data(), kept.as_tensor().peek(), to.byte_size());
    }
  if (entry.argument >= 0) return args[std::size_t(entry.argument)];
  return copy_value(program, entry.value);
}

bool CallLog::keep(const Program& program, std::uint64_t time, const Value& result, PackedArgs args) {
  Entry entry;
  entry.time = time;
  std::size_t bytes = sizeof(Entry);
  const auto not_kept = [&] {
    ++not_kept_;
    return false;
  };
  // A tuple may hold state that the call changes (a key-value cache). The machine's snapshots contain it, and
  // repeating the call changes it again.
  const auto has_state = [](const Value& v) { return v.is(ValueKind::Tuple); };
  if (std::any_of(args.begin(), args.end(), has_state)) return not_kept();
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (result.object() && args[i].object() == result.object()) entry.argument = std::int32_t(i);
    if (args[i].is(ValueKind::Tensor)) bytes += bytes_of(args[i]);
  }
  if (entry.argument < 0) bytes += bytes_of(result);
  if ((entry.argument < 0 && shares_storage(result, args)) || this->bytes() > limit_ || bytes > limit_ - this->bytes())
    return not_kept();
  const runtime::ForHistory of_history;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!args[i].is(ValueKind::Tensor)) continue;
    auto copy = copy_value(program, args[i]);
    if (!copy.ok()) return not_kept();
    if (!entry.written) entry.written = std::make_unique<Written>();
    entry.written->emplace_back(i, std::move(copy).value());
  }
  if (entry.argument < 0) {
    auto copy = copy_value(program, result);
    if (!copy.ok()) return not_kept();
    entry.value = std::move(copy).value();
  }
  bytes_ += bytes;
  entries_.push_back(std::move(entry));
  return true;
}

void CallLog::forget_from(std::uint64_t time) {
  end_ = std::min(end_, time);
  scalars_.forget_from(time);
  while (!entries_.empty() && entries_.back().time >= time) {
    const Entry& e = entries_.back();
    bytes_ -= sizeof(Entry) + (e.argument < 0 ? bytes_of(e.value) : 0);
    if (e.written)
      for (const auto& [i, kept] : *e.written) bytes_ -= bytes_of(kept);
    entries_.pop_back();
  }
}

}  // namespace rldb::vm
