#include "rldb/vm/call_log.h"

#include <cstring>

#include "vm/link.h"

namespace rldb::vm {

using runtime::ValueKind;

namespace {

constexpr std::size_t kNoArgument = ~std::size_t(0);

bool shares_storage(const Value& v, PackedArgs args) {
  if (v.is(ValueKind::Tuple)) {
    for (const Value& field : v.as_tuple().fields)
      if (shares_storage(field, args)) return true;
    return false;
  }
  if (v.is(ValueKind::Object) || v.is(ValueKind::Function) || v.is(ValueKind::Storage))
    return true;  // not to be copied
  if (!v.is(ValueKind::Tensor)) return false;
  for (const Value& a : args)
    if (a.is(ValueKind::Tensor) && a.as_tensor().storage() == v.as_tensor().storage()) return true;
  return false;
}

std::size_t bytes_of(const Value& v) {
  if (v.is(ValueKind::Tensor)) return v.as_tensor().storage()->size();
  std::size_t bytes = sizeof(Value);
  if (v.is(ValueKind::Tuple))
    for (const Value& field : v.as_tuple().fields) bytes += bytes_of(field);
  return bytes;
}

}  // namespace

Result<Value> CallLog::call(const Program& program, std::uint64_t time, const runtime::Function& function,
                            PackedArgs args) {
  if (const auto known = entries_.find(time); known != entries_.end()) return replay(program, known->second, args);
  Result<Value> result = function.native(args);
  if (result.ok()) keep(program, time, *result, args);
  return result;
}

Result<Value> CallLog::replay(const Program& program, const Entry& entry, PackedArgs args) const {
  for (const auto& [i, kept] : entry.arguments) {
    const runtime::Tensor& to = args[i].as_tensor();
    std::memcpy(to.data(), kept.as_tensor().data(), to.byte_size());
  }
  if (entry.argument != kNoArgument) return args[entry.argument];
  return copy_value(program, entry.value);
}

void CallLog::keep(const Program& program, std::uint64_t time, const Value& result, PackedArgs args) {
  Entry entry;
  entry.argument = kNoArgument;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (result.object() && args[i].object() == result.object()) entry.argument = i;
    if (args[i].is(ValueKind::Tensor)) entry.bytes += bytes_of(args[i]);
  }
  const bool is_argument = entry.argument != kNoArgument;
  if (!is_argument) entry.bytes += bytes_of(result);
  if ((!is_argument && shares_storage(result, args)) || entry.bytes > limit_ - bytes_) {
    ++not_kept_;
    return;
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!args[i].is(ValueKind::Tensor)) continue;
    auto copy = copy_value(program, args[i]);
    if (!copy.ok()) return void(++not_kept_);
    entry.arguments.emplace_back(i, std::move(copy).value());
  }
  if (!is_argument) {
    auto copy = copy_value(program, result);
    if (!copy.ok()) return void(++not_kept_);
    entry.value = std::move(copy).value();
  }
  bytes_ += entry.bytes;
  entries_.emplace(time, std::move(entry));
}

void CallLog::forget_from(std::uint64_t time) {
  for (auto it = entries_.lower_bound(time); it != entries_.end(); it = entries_.erase(it)) bytes_ -= it->second.bytes;
}

}  // namespace rldb::vm
