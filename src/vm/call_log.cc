// The record of a call, and replaying a call from its record.
#include "rldb/vm/call_log.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "rldb/runtime/object_value.h"
#include "rldb/runtime/shared_memory.h"
#include "rldb/vm/machine.h"
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

// A tuple or a map may hold state that the call changes (a key-value cache). The machine's snapshots contain it, and
// repeating the call changes it again.
bool has_state(const Value& v) { return v.is(ValueKind::Tuple) || runtime::object_in<runtime::MapValue>(v) != nullptr; }

// Memory that a call is not given, and whose address foreign code has.
struct Kept {
  ValuePath path;
  Ref<runtime::Storage> memory;
  std::size_t hash = 0;
};

std::size_t hash_of(const runtime::Storage& s) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(s.peek()), s.size()});
}

std::vector<Kept> kept_elsewhere(const Machine* m, PackedArgs args) {
  std::vector<Kept> kept;
  if (!m || !runtime::any_pinned()) return kept;
  std::unordered_set<const runtime::Storage*> seen;
  std::vector<std::size_t> fields;
  for (const Value& a : args)
    each_memory(a, fields, [&](const Value& holder) { seen.insert(memory_of(holder).get()); });
  each_memory(*m, [&](const ValuePath& path, const Value& holder) {
    const Ref<runtime::Storage> memory = memory_of(holder);
    if (!seen.insert(memory.get()).second || !runtime::is_pinned(*memory)) return;
    kept.push_back({path, memory, hash_of(*memory)});
  });
  return kept;
}

// Whether the result is the call's only effect: no argument can have changed.
bool is_number(const Value& result, PackedArgs args) {
  if (!ScalarLog::holds(result)) return false;
  for (const Value& a : args)
    if (a.is(ValueKind::Tensor) || has_state(a)) return false;
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
                            PackedArgs args, const Machine* machine) {
  auto result =
      time < end_ ? call_again(program, time, function, args) : call_really(program, time, function, args, machine);
  if (result.ok() && machine) RLDB_TRY_VOID(write_elsewhere(time, *machine));
  return result;
}

Result<Value> CallLog::call_really(const Program& program, std::uint64_t time, const runtime::Function& function,
                                   PackedArgs args, const Machine* machine) {
  const std::vector<Kept> kept = kept_elsewhere(machine, args);
  Result<Value> result = function.native(args);
  if (!result.ok()) return result;
  std::vector<Elsewhere> changed;
  const runtime::ForHistory of_history;
  for (const Kept& k : kept) {
    if (hash_of(*k.memory) == k.hash) continue;
    RLDB_TRY(Ref<runtime::Storage> bytes, k.memory->clone());
    changed.push_back({k.path, std::move(bytes)});
  }
  note_elsewhere(time, std::move(changed));
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

// The first time that it is made is what counts, also for a call that is made again.
void CallLog::note_elsewhere(std::uint64_t time, std::vector<Elsewhere> changed) {
  if (changed.empty() || elsewhere_.contains(time)) return;
  for (const Elsewhere& e : changed) bytes_ += e.bytes->size();
  elsewhere_.emplace(time, std::move(changed));
}

Result<support::Unit> CallLog::write_elsewhere(std::uint64_t time, const Machine& m) const {
  const auto known = elsewhere_.find(time);
  if (known == elsewhere_.end()) return support::Unit{};
  for (const Elsewhere& e : known->second) {
    const Ref<runtime::Storage> to = memory_of(value_at(m, e.path));
    if (!to || to->size() != e.bytes->size()) continue;
    RLDB_TRY_VOID(runtime::own(*to));
    if (to->size() > 0) std::memcpy(to->data(), e.bytes->peek(), to->size());
  }
  return support::Unit{};
}

std::vector<ValuePath> CallLog::changed_elsewhere(std::uint64_t time) const {
  std::vector<ValuePath> paths;
  if (const auto known = elsewhere_.find(time); known != elsewhere_.end())
    for (const Elsewhere& e : known->second) paths.push_back(e.path);
  return paths;
}

void CallLog::forget_from(std::uint64_t time) {
  end_ = std::min(end_, time);
  scalars_.forget_from(time);
  for (auto at = elsewhere_.lower_bound(time); at != elsewhere_.end(); at = elsewhere_.erase(at))
    for (const Elsewhere& e : at->second) bytes_ -= e.bytes->size();
  while (!entries_.empty() && entries_.back().time >= time) {
    const Entry& e = entries_.back();
    bytes_ -= sizeof(Entry) + (e.argument < 0 ? bytes_of(e.value) : 0);
    if (e.written)
      for (const auto& [i, kept] : *e.written) bytes_ -= bytes_of(kept);
    entries_.pop_back();
  }
}

}  // namespace rldb::vm
