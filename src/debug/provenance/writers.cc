// Writers: candidates from the history, and whether they wrote.
#include "debug/provenance/writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "debug/provenance/may_write.h"
#include "debug/provenance/names.h"
#include "debug/provenance/runtime_call.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/ir/printer.h"
#include "rldb/support/text.h"
#include "rldb/vm/instruction_set.h"
#include "rldb/vm/partial_snapshot.h"

namespace rldb::debug {

using bytecode::ArgKind;
using bytecode::BuiltinEffect;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::size_t kMostPassed = 3;      // calls that did not store an element, which are told
constexpr std::size_t kMostPrevented = 64;  // stores of one call

bool overlaps_range(const Touch& t, const MemoryRange& r) {
  return t.memory == r.memory && t.begin < r.end && r.begin < t.end;
}

// A builtin that changes no tensor that it is given.
bool leaves_arguments(const Run& run, std::string_view callee) {
  if (const vm::InstructionSet* other = vm::instructions_of(run.machine().program()))
    return other->leaves_arguments(callee);
  const auto id = bytecode::find_builtin(callee);
  return id && bytecode::info(*id).effect != BuiltinEffect::Mutate &&
         bytecode::info(*id).effect != BuiltinEffect::Control;
}

bool covers(const Tensor& t, const MemoryPlace& p) {
  return t.storage().get() == p.memory && p.byte >= std::int64_t(t.byte_offset()) &&
         p.byte < std::int64_t(t.byte_offset() + t.byte_size());
}

std::int64_t position_in(const Tensor& t, std::int64_t byte) {
  return (byte - std::int64_t(t.byte_offset())) / std::int64_t(t.dtype().bytes());
}

}  // namespace

Value Writers::argument(const Run& run, const vm::Machine& m, const CallMoment& call, const Touch& touch) {
  const bytecode::Instruction i = run.code().executable().instruction(call.pc);
  const bytecode::RegName reg = touch.arg < 0 ? i.dst : i.arg(std::size_t(touch.arg)).reg();
  const Value* v = m.read_register(call.frame, reg);
  return v ? part_of(*v, touch.part) : Value();
}

Writers::Found Writers::last(MemoryRange& range, std::uint64_t time) {
  Found found;
  struct Quiet {
    CallMoment call;
    MemoryRange range;
  };
  std::optional<Quiet> quiet;  // the latest that was given the bytes and left them as they were
  found.end = history_.before(
      range, time,
      [&](const CallMoment& call, const MemoryRange& r) {
        Writer w;
        bool unchanged = false;
        if (wrote(call, r, w, unchanged)) {
          found.writer = std::move(w);
          return true;
        }
        if (!w.prevented.empty() && found.passed.size() < kMostPassed) found.passed.push_back({std::move(w), r});
        if (unchanged && !quiet) quiet = Quiet{call, r};
        return false;
      },
      [&](const CommandMoment& c) {
        found.command = c;
        return true;
      });
  if (!quiet) return found;
  const bytecode::Executable& exe = run_.code().executable();
  const std::string& name = exe.functions[std::size_t(exe.instruction(quiet->call.pc).callee)].name;
  if (found.end == WriteHistory::End::Created) {
    // Nobody else can have written it.
    range = quiet->range;
    found.end = WriteHistory::End::Chosen;
    found.writer.call = quiet->call;
    found.writer.callee = name;
    found.writer.before = moments_.at(quiet->call.time, false);
    return found;
  }
  found.unchanged_by = name;
  found.unchanged_at = quiet->call.time;
  return found;
}

bool Writers::may_write(const CallMoment& call, const MemoryRange& range) const {
  if (clears(call, range)) return true;
  const bytecode::Executable& exe = run_.code().executable();
  if (!run_.is_kernel_call(call.pc))
    return !leaves_arguments(run_, exe.functions[std::size_t(exe.instruction(call.pc).callee)].name);
  const ir::PrimFunc* f = run_.has_other_kernels() ? nullptr : run_.kernel_function(run_.machine(), call.pc);
  if (!f) return true;
  const std::vector<bool> written = debug::may_write(f);
  const int shift = run_.is_direct_kernel_call(call.pc) ? 0 : 1;
  return std::any_of(call.args.begin(), call.args.end(), [&](const Touch& t) {
    const std::size_t i = std::size_t(t.arg - shift);
    return overlaps_range(t, range) && (i >= written.size() || written[i]);
  });
}

// An allocation in reused memory that clears it.
bool Writers::clears(const CallMoment& call, const MemoryRange& range) const {
  return std::any_of(call.results.begin(), call.results.end(),
                     [&](const Touch& t) { return overlaps_range(t, range); }) &&
         vm::clears_memory(run_.machine().program(), call.pc);
}

bool Writers::wrote(const CallMoment& call, const MemoryRange& range, Writer& w, bool& unchanged) {
  w.call = call;
  w.is_kernel = run_.is_kernel_call(call.pc);
  const bytecode::Executable& exe = run_.code().executable();
  w.callee = w.is_kernel ? std::string(run_.kernel_called(call.pc))
                         : exe.functions[std::size_t(exe.instruction(call.pc).callee)].name;
  return w.is_kernel ? kernel_wrote(call, range, w, unchanged) : other_wrote(call, range, w, unchanged);
}

// First without the contents of large memory, if they decide nothing.
bool Writers::kernel_wrote(const CallMoment& call, const MemoryRange& range, Writer& w, bool& unchanged) {
  if (!may_write(call, range)) return false;
  for (const bool whole : {false, true}) {
    w.before = moments_.at(call.time, whole);
    if (!w.before) return not_known(w);
    if (!run_.kernel_function(w.before->machine, call.pc)) return other_wrote(call, range, w, unchanged);
    bool settled = true;
    const bool wrote = kernel_wrote(range, w, whole || w.before->unknown.empty(), settled);
    if (settled) return wrote;
  }
  return false;
}

bool Writers::kernel_wrote(const MemoryRange& range, Writer& w, bool whole, bool& settled) {
  const CallMoment& call = w.call;
  const ir::PrimFunc* f = run_.kernel_function(w.before->machine, call.pc);
  const auto args = run_.kernel_arguments(w.before->machine);
  if (!args) return false;
  if (!whole) {
    const std::vector<bool> deciding = decides(f);
    for (std::size_t i = 0; i < args->size() && i < deciding.size(); ++i)
      if (deciding[i] && (*args)[i].is(ValueKind::Tensor) &&
          w.before->unknown.contains((*args)[i].as_tensor().storage().get()))
        return settled = false;
  }
  const std::vector<bool> written = debug::may_write(f);
  const int shift = run_.is_direct_kernel_call(call.pc) ? 0 : 1;
  for (const Touch& t : call.args) {
    const std::size_t arg = std::size_t(t.arg - shift);
    if (!overlaps_range(t, range) || arg >= args->size() || !(*args)[arg].is(ValueKind::Tensor)) continue;
    if (arg < written.size() && !written[arg]) continue;
    const MemoryPlace place{(*args)[arg].as_tensor().storage().get(), range.begin};
    auto sliced = whole ? runtime::Result<std::unique_ptr<KernelWrites>>(nullptr) : sliced_kernel(f, *args);
    auto origin = whole         ? kernel_origin(f, *args, place)
                  : sliced.ok() ? origin_in(**sliced, place)
                                : runtime::Result<KernelOrigin>(support::Failure(std::move(sliced).error()));
    if (!origin.ok() && !whole) return settled = false;
    if (!origin.ok()) {
      w.problem = origin.error().message;
      return true;
    }
    if (has_conditions(f)) keep_prevented(f, place, *args, w);
    if (!origin->written) continue;
    w.last = origin->last;
    w.writes = origin->writes;
    w.followed = true;
    keep_sources(*origin, *args, w);
    return true;
  }
  return false;
}

void Writers::keep_sources(const KernelOrigin& origin, const std::vector<Value>& args, Writer& w) const {
  const int shift = run_.is_direct_kernel_call(w.call.pc) ? 0 : 1;
  for (const KernelSource& s : origin.sources) {
    std::size_t arg = 0;
    while (arg < args.size() && !(args[arg].is(ValueKind::Tensor) && covers(args[arg].as_tensor(), s.place))) ++arg;
    if (arg == args.size()) continue;  // memory of the kernel that it read before it wrote it
    w.sources.push_back({int(arg) + shift, 0, position_in(args[arg].as_tensor(), s.place.byte), s.role, s.condition});
  }
}

// The stores that would have come after the first write that the element is made of.
void Writers::keep_prevented(const ir::PrimFunc* f, const MemoryPlace& place, const std::vector<Value>& args,
                             Writer& w) const {
  w.followed = true;
  const auto not_known = [&](const runtime::Error& why) {
    w.prevented = fmt::format("whether a condition prevented a store is not known: {}", why.message);
  };
  const auto kernel = sliced_kernel(f, args);
  if (!kernel.ok()) return not_known(kernel.error());
  const auto made = origin_in(**kernel, place);
  if (!made.ok()) return not_known(made.error());
  const KernelOrigin& origin = *made;
  const bool whole_value = origin.written && std::none_of(origin.sources.begin(), origin.sources.end(),
                                                          [&](const KernelSource& s) { return s.place == place; });
  std::vector<PreventedStore> stores;
  const auto seen = (*kernel)->visit_prevented(place, [&](const PreventedStore& s) {
    if (whole_value && s.moment < origin.first) return false;
    stores.push_back(s);
    return stores.size() < kMostPrevented;
  });
  if (stores.empty() && !seen.ok()) return not_known(seen.error());
  if (stores.empty()) return;
  const PreventedStore& last = stores.front();
  w.prevented = fmt::format(
      "the condition {} prevented `{}`{}{}", support::one_line(ir::print_expr(last.condition, {.tensor_ir = true})),
      support::one_line(ir::print_stmt(last.store)), last.loops.empty() ? "" : " at ", iteration_text(last.loops));
  const bool all = seen.ok() && stores.size() < kMostPrevented;
  if (stores.size() > 1) w.prevented += fmt::format(", and {}{} more", all ? "" : "at least ", stores.size() - 1);
  if (stores.size() == 1 && !all) w.prevented += ", and perhaps more";
  std::set<KernelSource> reads;
  for (const PreventedStore& s : stores)
    for (const KernelRead& r : s.reads) reads.insert({r.place, r.role, r.condition});
  KernelOrigin conditions;
  conditions.sources.assign(reads.begin(), reads.end());
  const std::size_t before = w.sources.size();
  keep_sources(conditions, args, w);
  for (std::size_t i = before; i < w.sources.size(); ++i) w.sources[i].prevented = true;
}

// A builtin, a packed function or a kernel without its TensorIR: what it changed, and what it made.
bool Writers::other_wrote(const CallMoment& call, const MemoryRange& range, Writer& w, bool& unchanged) {
  const auto given =
      std::find_if(call.args.begin(), call.args.end(), [&](const Touch& t) { return overlaps_range(t, range); });
  const bool known =
      std::any_of(call.args.begin(), call.args.end(), [&](const Touch& t) { return t.memory == range.memory; });
  const bool returned =
      std::any_of(call.results.begin(), call.results.end(), [&](const Touch& t) { return overlaps_range(t, range); });
  const bool cleared = clears(call, range);
  if (cleared) w.problem = "its memory was cleared when its tensor was allocated";
  if ((returned && !known) || cleared) {
    w.before = moments_.at(call.time, false);
    if (!w.before) return cleared || not_known(w);
    if (!cleared) follow_copy(range, w);
    return true;
  }
  const auto kept = std::find_if(call.elsewhere.begin(), call.elsewhere.end(),
                                 [&](const CallMoment::Elsewhere& e) { return overlaps_range(e.touch, range); });
  if (kept != call.elsewhere.end()) return wrote_elsewhere(call, *kept, range, w);
  if (given == call.args.end() || (!w.is_kernel && leaves_arguments(run_, w.callee))) return false;
  w.before = moments_.at(call.time, true);
  if (!w.before) return not_known(w);
  if (const auto decided = known_wrote(*given, range, w)) return *decided;
  const Moments::Machine before = w.before;
  const auto after = moments_.at(call.time + 1, true);
  if (!after) return not_known(w);
  const Value old = argument(run_, before->machine, call, *given);
  const Value now =
      after->machine.frames().size() > call.frame ? argument(run_, after->machine, call, *given) : Value();
  if (!old.is(ValueKind::Tensor) || !now.is(ValueKind::Tensor)) return false;
  const auto* before_bytes = old.as_tensor().storage()->peek() + range.begin;
  const auto* after_bytes = now.as_tensor().storage()->peek() + range.begin;
  const bool changed = std::memcmp(before_bytes, after_bytes, std::size_t(range.end - range.begin)) != 0;
  // A closure's call has only entered its function, whose writes are calls of their own.
  const bool entered = after->machine.frames().size() > before->machine.frames().size();
  unchanged = !changed && !returned && !entered;
  return changed;
}

// Memory that a plugin had kept.
bool Writers::wrote_elsewhere(const CallMoment& call, const CallMoment::Elsewhere& kept, const MemoryRange& range,
                              Writer& w) {
  w.before = moments_.at(call.time, true);
  const auto after = w.before ? moments_.at(call.time + 1, true) : nullptr;
  if (!after) return not_known(w);
  const auto old = vm::memory_of(value_at(w.before->machine, kept.path));
  const auto now = vm::memory_of(value_at(after->machine, kept.path));
  if (!old || !now) return not_known(w);
  return std::memcmp(old->peek() + range.begin, now->peek() + range.begin, std::size_t(range.end - range.begin)) != 0;
}

// A call that may have written it, at a moment that cannot be made again: the search ends there, and says so.
bool Writers::not_known(Writer& w) const {
  const std::string_view why = run_.timeline().empty()
                                   ? "the run keeps no history"
                                   : "to execute the run again up to there takes more than the memory limit";
  w.problem = fmt::format("whether `{}` at time {} wrote it is not known: {}", w.callee, w.call.time, why);
  return true;
}

// A copy to another device comes from the same element.
void Writers::follow_copy(const MemoryRange& range, Writer& w) const {
  const auto copied = copied_by(w.call, w.callee);
  const Value v = copied ? argument(run_, w.before->machine, w.call, copied->from) : Value();
  if (!v.is(ValueKind::Tensor) || v.as_tensor().dtype().bytes() == 0) return;
  w.followed = true;
  const std::int64_t byte = copied->from.begin + range.begin - copied->to.begin;
  w.sources.push_back(
      {copied->from.arg, copied->from.part, position_in(v.as_tensor(), byte), ReadRole::Value, nullptr});
}

// By what the runtime says about its own functions.
std::optional<bool> Writers::known_wrote(const Touch& given, const MemoryRange& range, Writer& w) {
  const Value written = argument(run_, w.before->machine, w.call, given);
  if (!written.is(ValueKind::Tensor)) return std::nullopt;
  const runtime::ElementPlace place{written.as_tensor().storage().get(), std::size_t(range.begin)};
  const auto known = RuntimeCall(run_, w.before->machine, w.call, w.callee).reads(place);
  if (!known) return std::nullopt;
  w.followed = true;
  w.others = known->others;
  for (const runtime::ElementPlace& p : known->reads)
    for (const Touch& t : w.call.args) {
      const Value v = argument(run_, w.before->machine, w.call, t);
      if (!v.is(ValueKind::Tensor) || !covers(v.as_tensor(), {p.memory, std::int64_t(p.byte)})) continue;
      w.sources.push_back({t.arg, t.part, position_in(v.as_tensor(), std::int64_t(p.byte)), ReadRole::Value, nullptr});
      break;
    }
  return known->writes;
}

Value Writers::contents(const Writer& w, const Touch& touch, std::size_t interval) {
  Value v = argument(run_, w.before->machine, w.call, touch);
  if (!v.is(ValueKind::Tensor) || !w.before->unknown.contains(v.as_tensor().storage().get())) return v;
  // Memory that nothing has written since still has them.
  const MemoryRange range{interval, touch.memory, touch.begin, touch.end};
  const Tensor& t = v.as_tensor();
  if (time_ == run_.time()) {
    const auto path = history_.untouched(range, w.call.time, [&](const CallMoment& c) { return may_write(c, range); });
    const Value now = path ? value_at(run_.machine(), *path) : Value();
    const auto storage = now.is(ValueKind::Tensor)    ? now.as_tensor().storage()
                         : now.is(ValueKind::Storage) ? now.storage_ref()
                                                      : nullptr;
    if (storage) return Value(support::make_ref<Tensor>(storage, t.byte_offset(), t.shape(), t.dtype()));
  }
  return Value();
}

}  // namespace rldb::debug
