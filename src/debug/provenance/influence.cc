// Influence: marked bytes, carried forward from call to call.
#include "rldb/debug/influence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "debug/kernel/written.h"
#include "debug/look/element.h"
#include "debug/provenance/element_target.h"
#include "debug/provenance/kernel_reach.h"
#include "debug/provenance/may_write.h"
#include "debug/provenance/names.h"
#include "debug/provenance/runtime_call.h"
#include "debug/provenance/why_memory.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/expression/array.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"
#include "rldb/vm/partial_snapshot.h"

namespace rldb::debug {

using bytecode::BuiltinEffect;
using runtime::Storage;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

bool is_given(const CallMoment& call, const Storage* memory) {
  return std::any_of(call.args.begin(), call.args.end(), [&](const Touch& t) { return t.memory == memory; });
}

std::vector<Touch> touches_of(const CallMoment& call) {
  std::vector<Touch> all = call.args;
  all.insert(all.end(), call.results.begin(), call.results.end());
  return all;
}

// The elements of a tensor that lie in pieces of memory: `[0:4]`.
struct Elements {
  std::string text;
  std::int64_t count = 0;
};
Elements elements_in(const Tensor& t, const std::vector<MemorySet::Piece>& pieces) {
  constexpr std::int64_t kMost = 1 << 16;  // that are written as regions
  const std::int64_t width = std::max<std::int64_t>(1, std::int64_t(t.dtype().bytes()));
  const std::int64_t base = std::int64_t(t.byte_offset());
  std::vector<std::int64_t> positions;
  Elements found;
  for (const MemorySet::Piece& p : pieces) {
    const std::int64_t first = (p.begin - base) / width, last = (p.end - base - 1) / width;
    found.count += last - first + 1;
    for (std::int64_t i = first; i <= last && found.count <= kMost; ++i) positions.push_back(i);
  }
  if (found.count == t.element_count() && found.count > 1)
    found.text = "";
  else if (found.count <= kMost)
    found.text = region_text(t.shape(), positions);
  else
    found.text = fmt::format(", {} of {} elements", found.count, t.element_count());
  return found;
}

// The parameters from which a kernel loads; all of them, if it reads in another way.
std::vector<bool> loads_from(const ir::PrimFunc* f) {
  std::set<const ir::Var*> loaded;
  const MatchedParts parts(f->body);
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* load = ir::as<ir::BufferLoad>(n)) loaded.insert(parts.whole(load->buffer->data));
    return true;
  });
  std::vector<bool> list;
  for (const ir::PrimParam& p : f->params)
    list.push_back(loaded.empty() || !p.buffer || loaded.contains(p.buffer->data));
  return list;
}

// Null: it is no tensor.
const Storage* storage_of(const Value& v) { return v.is(ValueKind::Tensor) ? v.as_tensor().storage().get() : nullptr; }

class Follower {
 public:
  Follower(const Run& run, Influence& out)
      : run_(run), map_(run.code()), moments_(run), history_(run, run.time()), out_(out) {}

  // The element at that time, in a register. False: the run has no history of it, or nothing has written it.
  bool begin(const ElementTarget& target, std::uint64_t time, const ValuePath& path);
  void follow();
  void list_held();

 private:
  void list_held_in(const Value& value, ValuePath path, const std::string& name);
  bool find_command(const CommandMoment& command, const MemoryRange& range);
  void forget_set(std::size_t interval, std::size_t& next, std::uint64_t until);
  bool find_later(const WriteHistory& then, const Writers::Found& found, const MemoryRange& range);
  void see(const CallMoment& call);
  bool is_marked(const Touch& t) const { return marked_.overlaps(t.memory, t.begin, t.end); }
  bool kernel(const CallMoment& call);
  void other(const CallMoment& call);
  bool runtime_function(const CallMoment& call, const InfluenceStep& step);
  std::vector<Value> arguments_of(const CallMoment& call, const vm::Machine& m) const;
  MemorySet marked_in(const CallMoment& call, const std::vector<Value>& arguments) const;
  void builtin_or_packed(const CallMoment& call, std::string_view callee, InfluenceStep step);
  bool mark_changed(const CallMoment& call, const InfluenceStep& step);
  InfluenceStep step_of(const CallMoment& call) const;
  void add(const CallMoment& call, const Touch& touch, const Value& tensor, const std::vector<MemorySet::Piece>& pieces,
           InfluenceStep step);
  std::string name_of(const CallMoment& call, const vm::Machine& m, const Touch& touch, bool after) const;

  const Run& run_;
  const CodeMap& map_;
  Asker asker_;
  Moments moments_;
  WriteHistory history_;
  Influence& out_;
  MemorySet marked_;  // by the memory of the present interval
  std::size_t interval_ = 0;
  std::uint64_t since_ = 0;
  std::uint64_t commands_since_ = 0;  // later than that, if a command gave the element its value
};

bool Follower::begin(const ElementTarget& target, std::uint64_t time, const ValuePath& path) {
  asker_ = asker_at(run_, target.frame);
  Writers writers(run_, time);
  auto range = writers.history().now(path, target.tensor());
  if (!range) return false;
  const std::int64_t width = std::int64_t(target.tensor().dtype().bytes());
  range->begin += target.positions[0] * width;
  range->end = range->begin + width;
  const Writers::Found found = writers.last(*range, time);
  if (found.end == WriteHistory::End::Created) return false;
  if (found.end == WriteHistory::End::Chosen) {
    out_.written_at = found.writer.call.time;
    out_.written_by = found.writer.callee;
  } else if (found.end == WriteHistory::End::Command) {
    out_.written_at = found.command.time;
    out_.written_by = found.command.text;
    return find_command(found.command, *range);
  }
  return find_later(writers.history(), found, *range);
}

// The same bytes in the history up to now. Its intervals begin at the same checkpoints, and memory has other addresses.
bool Follower::find_later(const WriteHistory& then, const Writers::Found& found, const MemoryRange& range) {
  const bool written = found.end == WriteHistory::End::Chosen;
  const std::uint64_t moment = written ? found.writer.call.time : then.begin_of(range.interval);
  since_ = written ? moment + 1 : moment;
  if (history_.back_to(moment) == 0) return false;
  interval_ = history_.interval_at(moment);
  const Storage* memory = nullptr;
  if (written) {
    const std::vector<CallMoment>& calls = history_.calls(interval_);
    const auto same = std::find_if(calls.begin(), calls.end(), [&](const CallMoment& c) { return c.time == moment; });
    const std::vector<Touch> there = touches_of(found.writer.call);
    const std::vector<Touch> here = same == calls.end() ? std::vector<Touch>() : touches_of(*same);
    for (std::size_t i = 0; i < there.size() && i < here.size() && !memory; ++i)
      if (there[i].memory == range.memory) memory = here[i].memory;
  } else if (const auto path = then.path_at_begin(range.interval, range.memory)) {
    memory = history_.at_begin(interval_, *path);
  }
  if (memory) marked_.add(memory, range.begin, range.end);
  return memory != nullptr;
}

// The same command there.
bool Follower::find_command(const CommandMoment& command, const MemoryRange& range) {
  // An interval that begins at that time does not have it, but the one before.
  for (std::size_t i = history_.back_to(command.time - std::min<std::uint64_t>(command.time, 1)); i-- > 0;)
    for (const CommandMoment& c : history_.commands(i)) {
      if (c.time != command.time || c.text != command.text) continue;
      interval_ = i;
      since_ = command.time;
      commands_since_ = command.time + 1;
      marked_.forget(c.memory);  // of several with that text, the last one
      marked_.add(c.memory, range.begin, range.end);
    }
  return !marked_.empty();
}

// Bytes that commands have set before a time do not depend on the element any more. `next`: of those of the interval.
void Follower::forget_set(std::size_t interval, std::size_t& next, std::uint64_t until) {
  const std::vector<CommandMoment>& commands = history_.commands(interval);
  for (; next < commands.size() && commands[next].time <= until; ++next) {
    const CommandMoment& c = commands[next];
    if (c.time < std::max(since_, commands_since_)) continue;
    for (const auto& [begin, end] : c.bytes) marked_.remove(c.memory, begin, end);
  }
}

void Follower::follow() {
  for (std::size_t i = interval_;; --i) {
    std::size_t command = 0;
    for (const CallMoment& call : history_.calls(i)) {
      forget_set(i, command, call.time);
      if (call.time >= since_ && !marked_.empty()) see(call);
    }
    forget_set(i, command, Run::kForever);
    if (i == 0 || marked_.empty()) break;
    MemorySet next;
    for (const void* memory : marked_.memories())
      if (const Storage* later = history_.in_next(i, static_cast<const Storage*>(memory)))
        for (const auto& [begin, end] : *marked_.of(memory)) next.add(later, begin, end);
    marked_ = std::move(next);
  }
}

void Follower::see(const CallMoment& call) {
  support::poll_cause();
  // Other memory, at an address that was freed.
  for (const Touch& t : call.results) {
    if (!is_given(call, t.memory)) marked_.forget(t.memory);
    if (is_marked(t) && vm::clears_memory(run_.machine().program(), call.pc)) marked_.remove(t.memory, t.begin, t.end);
  }
  if (std::none_of(call.args.begin(), call.args.end(), [&](const Touch& t) { return is_marked(t); })) return;
  if (!run_.is_kernel_call(call.pc) || !kernel(call)) other(call);
}

InfluenceStep Follower::step_of(const CallMoment& call) const {
  InfluenceStep step;
  step.time = call.time;
  const bytecode::Executable& exe = map_.executable();
  step.callee = run_.is_kernel_call(call.pc) ? std::string(run_.kernel_called(call.pc))
                                             : exe.functions[std::size_t(exe.instruction(call.pc).callee)].name;
  const std::vector<int>& group = map_.group_of(call.pc);
  if (group.empty()) return step;
  const UserBinding& u = map_.binding(group.back());
  step.line = u.line;
  if (u.line) step.file = u.file;
  return step;
}

std::string Follower::name_of(const CallMoment& call, const vm::Machine& m, const Touch& touch, bool after) const {
  return name_for(asker_, map_, m, call, touch, after);
}

void Follower::add(const CallMoment& call, const Touch& touch, const Value& tensor,
                   const std::vector<MemorySet::Piece>& pieces, InfluenceStep step) {
  if (pieces.empty() || !tensor.is(ValueKind::Tensor)) return;
  const Elements elements = elements_in(tensor.as_tensor(), pieces);
  const auto before = moments_.at(call.time, false);
  step.name = (before ? name_of(call, before->machine, touch, true) : name_of_argument(map_, call, touch.arg, true)) +
              elements.text;
  step.elements = elements.count;
  out_.steps.push_back(std::move(step));
}

// False: its TensorIR is not known.
bool Follower::kernel(const CallMoment& call) {
  auto before = moments_.at(call.time, false);
  const ir::PrimFunc* f = before ? run_.kernel_function(before->machine, call.pc) : nullptr;
  auto args = f ? run_.kernel_arguments(before->machine) : std::nullopt;
  if (!args) return false;
  // Contents that decide must be those of the run.
  const std::vector<bool> deciding = decides(f);
  bool unknown = false;
  for (std::size_t i = 0; i < args->size() && i < deciding.size(); ++i)
    unknown = unknown || (deciding[i] && (*args)[i].is(ValueKind::Tensor) &&
                          before->unknown.contains((*args)[i].as_tensor().storage().get()));
  if (unknown) {
    before = moments_.at(call.time, true);
    args = before ? run_.kernel_arguments(before->machine) : std::nullopt;
    if (!args) return false;
  }
  // The same bytes, in the memory of that machine.
  std::vector<std::pair<const Storage*, const Storage*>> there;  // of the interval, of the machine
  MemorySet marked;
  InfluenceStep step = step_of(call);
  const std::vector<bool> loads = loads_from(f);
  const int shift = run_.is_direct_kernel_call(call.pc) ? 0 : 1;
  for (const Touch& t : call.args) {
    const Value v = Writers::argument(run_, before->machine, call, t);
    if (!v.is(ValueKind::Tensor)) continue;
    const Storage* own = v.as_tensor().storage().get();
    there.emplace_back(t.memory, own);
    if (const auto* pieces = marked_.of(t.memory))
      for (const auto& [begin, end] : *pieces) marked.add(own, begin, end);
    const std::size_t i = std::size_t(t.arg - shift);
    if (is_marked(t) && (i >= loads.size() || loads[i])) step.from.push_back(name_of(call, before->machine, t, false));
  }
  auto reach = kernel_reach(f, *args, marked);
  const std::vector<bool> written = may_write(f);
  if (!reach.ok()) {
    if (step.from.empty()) return true;
    step.remark = fmt::format("all that it can write: {}", reach.error().message);
    KernelReach all{marked, {}};
    for (const Touch& t : call.args) {
      const std::size_t i = std::size_t(t.arg - shift);
      const Value v = Writers::argument(run_, before->machine, call, t);
      if (!v.is(ValueKind::Tensor) || (i < written.size() && !written[i])) continue;
      all.marked.add(v.as_tensor().storage().get(), t.begin, t.end);
      all.written.add(v.as_tensor().storage().get(), t.begin, t.end);
    }
    reach = std::move(all);
  }
  for (const auto& [memory, own] : there) {
    marked_.forget(memory);
    if (const auto* pieces = reach->marked.of(own))
      for (const auto& [begin, end] : *pieces) marked_.add(memory, begin, end);
  }
  for (const Touch& t : call.args) {
    const Value v = Writers::argument(run_, before->machine, call, t);
    if (v.is(ValueKind::Tensor))
      add(call, t, v, reach->written.in(v.as_tensor().storage().get(), t.begin, t.end), step);
  }
  return true;
}

void Follower::other(const CallMoment& call) {
  InfluenceStep step = step_of(call);
  if (reads_only_headers(step.callee) || step.callee == builtin::InvokeClosure) return;
  const auto before = moments_.at(call.time, false);
  for (const Touch& t : call.args)
    if (is_marked(t))
      step.from.push_back(before ? name_of(call, before->machine, t, false) : name_of_argument(map_, call, t.arg));
  if (!runtime_function(call, step)) builtin_or_packed(call, step.callee, step);
}

// By what the runtime says about its own functions. False: nothing, or too much to be followed.
bool Follower::runtime_function(const CallMoment& call, const InfluenceStep& step) {
  constexpr std::size_t kMostReads = 100'000'000;
  const auto before = moments_.at(call.time, true);
  if (!before) return false;
  const RuntimeCall asked(run_, before->machine, call, step.callee);
  const auto writes = asked.writes();
  if (!writes) return false;
  const auto arguments = arguments_of(call, before->machine);
  const MemorySet marked = marked_in(call, arguments);
  MemorySet reached;
  std::vector<bool> used(call.args.size());
  const auto is_reached_by = [&](const runtime::ElementPlace& p) {
    const auto at = std::int64_t(p.byte);
    if (!marked.overlaps(p.memory, at, at + 1)) return false;
    for (std::size_t i = 0; i < used.size(); ++i)
      if (storage_of(arguments[i]) == p.memory && at >= call.args[i].begin && at < call.args[i].end) used[i] = true;
    return true;
  };
  std::size_t seen = 0;
  bool others = false;
  for (const runtime::WrittenBytes& w : *writes)
    for (std::size_t at = w.begin; at < w.end && w.width > 0; at += w.width) {
      support::poll_cause();
      const auto known = asked.reads({w.memory, at});
      if (!known || (seen += known->reads.size()) > kMostReads) return false;
      others = others || !known->others.empty();
      if (std::count_if(known->reads.begin(), known->reads.end(), is_reached_by) > 0)
        reached.add(w.memory, std::int64_t(at), std::int64_t(at + w.width));
    }
  for (const runtime::WrittenBytes& w : *writes)
    for (std::size_t i = 0; i < call.args.size(); ++i)
      if (storage_of(arguments[i]) == w.memory)
        marked_.remove(call.args[i].memory, std::int64_t(w.begin), std::int64_t(w.end));
  InfluenceStep told = step;
  told.from.clear();
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i]) told.from.push_back(name_of(call, before->machine, call.args[i], false));
  if (others) told.remark = "what it gave other workers is not followed";
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    const Touch& t = call.args[i];
    const auto pieces = reached.in(storage_of(arguments[i]), t.begin, t.end);
    for (const MemorySet::Piece& p : pieces) marked_.add(t.memory, p.begin, p.end);
    add(call, t, arguments[i], pieces, told);
  }
  return true;
}

std::vector<Value> Follower::arguments_of(const CallMoment& call, const vm::Machine& m) const {
  std::vector<Value> list;
  for (const Touch& t : call.args) list.push_back(Writers::argument(run_, m, call, t));
  return list;
}

// The marked bytes, in the memory of the arguments.
MemorySet Follower::marked_in(const CallMoment& call, const std::vector<Value>& arguments) const {
  MemorySet marked;
  for (std::size_t i = 0; i < call.args.size(); ++i)
    if (const auto* pieces = storage_of(arguments[i]) ? marked_.of(call.args[i].memory) : nullptr)
      for (const auto& [begin, end] : *pieces) marked.add(storage_of(arguments[i]), begin, end);
  return marked;
}

void Follower::builtin_or_packed(const CallMoment& call, std::string_view callee, InfluenceStep step) {
  const auto id = bytecode::find_builtin(callee);
  const bool leaves = id && bytecode::info(*id).effect != BuiltinEffect::Mutate;
  step.remark = "all that it wrote: its reads are not known";
  bool reached = !leaves && mark_changed(call, step);
  const auto after = moments_.at(call.time + 1, false);
  if (const auto copied = copied_by(call, callee); copied && after) {
    step.remark.clear();
    std::vector<MemorySet::Piece> pieces = marked_.in(copied->from.memory, copied->from.begin, copied->from.end);
    for (MemorySet::Piece& p : pieces) {
      p.begin += copied->to.begin - copied->from.begin;
      p.end += copied->to.begin - copied->from.begin;
      marked_.add(copied->to.memory, p.begin, p.end);
    }
    return add(call, copied->to, Writers::argument(run_, after->machine, call, copied->to), pieces, step);
  }
  for (const Touch& t : call.results) {
    if (is_given(call, t.memory) || t.begin >= t.end || !after) continue;
    marked_.add(t.memory, t.begin, t.end);
    reached = true;
    add(call, t, Writers::argument(run_, after->machine, call, t), {{t.begin, t.end}}, step);
  }
  if (reached) return;
  const bool returned =
      std::any_of(call.results.begin(), call.results.end(), [&](const Touch& t) { return t.begin < t.end; });
  if (returned) return;  // a view of what it was given
  step.remark = "what it returns or keeps is not a tensor, and is not followed";
  out_.steps.push_back(std::move(step));
}

// Of a call that may write what it was given: the tensors whose bytes it changed. True: it reached some.
bool Follower::mark_changed(const CallMoment& call, const InfluenceStep& step) {
  const auto before = moments_.at(call.time, true);
  const auto after = before ? moments_.at(call.time + 1, true) : nullptr;
  if (!after || after->machine.frames().size() <= call.frame) return false;
  bool reached = false;
  for (const Touch& t : call.args) {
    const Value old = Writers::argument(run_, before->machine, call, t);
    const Value now = Writers::argument(run_, after->machine, call, t);
    if (!old.is(ValueKind::Tensor) || !now.is(ValueKind::Tensor) || t.begin >= t.end) continue;
    const auto* from = old.as_tensor().storage()->peek() + t.begin;
    const auto* to = now.as_tensor().storage()->peek() + t.begin;
    if (std::memcmp(from, to, std::size_t(t.end - t.begin)) == 0) continue;
    marked_.add(t.memory, t.begin, t.end);
    add(call, t, old, {{t.begin, t.end}}, step);
    reached = true;
  }
  return reached;
}

// A tensor, or those in the fields of a tuple.
void Follower::list_held_in(const Value& value, ValuePath path, const std::string& name) {
  if (value.is(ValueKind::Tuple))
    for (std::size_t i = 0; i < value.as_tuple().fields.size(); ++i) {
      ValuePath field = path;
      field.fields.push_back(i);
      list_held_in(value.as_tuple().fields[i], std::move(field), fmt::format("{}[{}]", name, i));
    }
  if (!value.is(ValueKind::Tensor)) return;
  const Storage* memory = history_.at_end(path);
  const Tensor& t = value.as_tensor();
  const auto pieces = marked_.in(memory, std::int64_t(t.byte_offset()), std::int64_t(t.byte_offset() + t.byte_size()));
  if (!pieces.empty()) out_.held.push_back(name + elements_in(t, pieces).text);
}

void Follower::list_held() {
  const vm::Machine& m = run_.machine();
  for (std::size_t f = 0; f < m.frames().size(); ++f) {
    const vm::Frame& frame = m.frames()[f];
    const auto registers = m.registers(f);
    for (const UserVariable& v : map_.variables(frame.function)) {
      if (v.begin > frame.pc || frame.pc >= v.range->end || std::size_t(v.range->reg) >= registers.size()) continue;
      const std::string prefix =
          frame.function == asker_.function ? v.name : fmt::format("{}:{}", map_.function_name(frame.pc), v.name);
      list_held_in(registers[std::size_t(v.range->reg)], {f, v.range->reg, {}}, prefix);
    }
  }
}

}  // namespace

std::optional<Influence> influence_of(Debugger& debugger, std::string_view target, int frame,
                                      source::Diagnostics& out) {
  Debugger::Impl& d = impl_of(debugger);
  const auto refuse = [&](std::string_view why) -> std::optional<Influence> {
    out.add({}, source::message(diag::RunFailed, why));
    return std::nullopt;
  };
  if (!d.can_be_asked()) {
    out.add({}, source::message(diag::NotStopped));
    return std::nullopt;
  }
  const auto [name, subscript] = expression::split_target(target);
  const auto element = element_target(d, debugger, name, subscript, frame, out);
  if (!element) return std::nullopt;
  if (element->positions.size() != 1)
    return refuse(subscript.empty() ? fmt::format("`{}` names no element: `{}[0]`", target, target)
                                    : fmt::format("`{}` names {} elements: one is followed at a time", target,
                                                  element->positions.size()));
  Influence influence;
  const CauseStep shown = element_step(element->shown, element->tensor(), element->positions, 0);
  influence.name = shown.name;
  influence.value = shown.value;
  influence.until = d.run->time();
  std::optional<Follower> follower;
  const bool known = each_holding(d, *element, [&](std::uint64_t time, const ValuePath& path) {
    follower.emplace(*d.run, influence);
    return follower->begin(*element, time, path);
  });
  if (!known)
    return refuse(fmt::format(
        "`{}` has no history in the memory of this run: it was fused away, or nothing has written it", element->shown));
  follower->follow();
  follower->list_held();
  return influence;
}

std::vector<std::string> lines_of(const Influence& influence) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{} = {}{}", influence.name, influence.value,
                              influence.written_at
                                  ? fmt::format(", by {} at time {}", influence.written_by, *influence.written_at)
                                  : std::string()));
  for (const InfluenceStep& s : influence.steps) {
    const std::string place = s.line ? fmt::format("   # {}:{}", s.file, s.line) : "";
    const std::string from = s.from.empty() ? "" : fmt::format(" from {}", fmt::join(s.from, ", "));
    lines.push_back(fmt::format("  {}{} by {} at time {}{}{}", s.name, s.name.empty() ? "used" : ",", s.callee, s.time,
                                from, place));
    if (!s.remark.empty()) lines.push_back(fmt::format("    ({})", s.remark));
  }
  if (influence.steps.empty()) lines.push_back(fmt::format("  no call up to time {} has read it", influence.until));
  if (!influence.held.empty()) lines.push_back(fmt::format("now in: {}", fmt::join(influence.held, ", ")));
  return lines;
}

}  // namespace rldb::debug
