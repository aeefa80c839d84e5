// Observer: which instructions concern which watchpoints, and the checks after each of them.
#include "debug/watch/observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "debug/watch/numeric.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using bytecode::ArgKind;
using bytecode::Instruction;
using bytecode::Opcode;
using runtime::Value;
using runtime::ValueKind;

Observer::Observer(Debugger::Impl& d, const Run& run, bool backward)
    : d_(d), map_(run.code()), run_(run), observed_(run.code().executable().instruction_count()) {
  for (const auto& [number, b] : d.breakpoints) {
    if (!b.enabled) continue;
    if (b.kind == PointKind::Watch) watches_.emplace_back(d, run, b);
    if (b.kind == PointKind::Catch)
      if (const auto event = numeric_event(b.spec)) catches_.push_back({number, *event});
  }
  if (active()) add_calls(backward);
  for (const Watched& w : watches_)
    for (Pc pc = 0; pc < observed_.end(); ++pc)
      if (w.definitions().test(pc)) observed_.set(pc);
  look_for(events());
}

Observer::~Observer() { look_for(0); }

runtime::NumericEvents Observer::events() const {
  runtime::NumericEvents all = 0;
  for (const Catch& c : catches_) all |= bit(c.event);
  return all;
}

// Kernels that can detect the numbers themselves save searching their outputs.
void Observer::look_for(runtime::NumericEvents events) {
  const runtime::KernelTable* kernels = run_.machine().program().environment().kernels;
  if (!kernels || catches_.empty()) return;
  for (const std::string_view name : kernels->names()) kernels->find(name)->look_for(events);
}

// Only calls with a tensor's register among their arguments can write to the tensor. Definitions made by a call of the
// program exist once it returns.
void Observer::add_calls(bool backward) {
  const bool every =
      (backward && !watches_.empty()) ||
      std::any_of(watches_.begin(), watches_.end(), [](const Watched& w) { return w.every_activation(); });
  for (Pc pc = 0; pc < observed_.end(); ++pc) {
    const Instruction i = map_.executable().instruction(pc);
    if (i.op == Opcode::Ret && !watches_.empty()) observed_.set(pc);
    if (i.op != Opcode::Call) continue;
    const vm::TargetKind target = run_.machine().program().target_kind(i.callee);
    const bool writes = target == vm::TargetKind::Kernel || target == vm::TargetKind::Packed || run_.is_kernel_call(pc);
    if (every && target == vm::TargetKind::Bytecode) observed_.set(pc);
    if (writes || (!watches_.empty() && target != vm::TargetKind::Bytecode && !i.args.empty())) observed_.set(pc);
  }
}

void Observer::begin(const vm::Machine& m, bool record) {
  record_ = record;
  seen_.clear();
  for (Watched& w : watches_) {
    w.learn(run_, m);
    w.begin(m);
  }
}

namespace {

void add_memory_in(const Value& v, Reached& reached) {
  support::poll();
  if (v.is(ValueKind::Tensor)) reached.storages.push_back(v.as_tensor().storage().get());
  if (v.is(ValueKind::Storage)) reached.storages.push_back(v.storage_ref().get());
  if (v.is(ValueKind::Object)) reached.anything = true;
  if (v.is(ValueKind::Tuple))
    for (const Value& field : v.as_tuple().fields) add_memory_in(field, reached);
}

}  // namespace

// The memory that the call was given; a packed function may have kept more.
Reached Observer::reached(const vm::Machine& m, std::size_t frame, Pc pc) const {
  Reached r;
  const Instruction i = map_.executable().instruction(pc);
  if (i.op != Opcode::Call || frame >= m.frames().size()) return r;
  const vm::TargetKind target = m.program().target_kind(i.callee);
  if (target == vm::TargetKind::Bytecode) return r;
  r.anything = target == vm::TargetKind::Packed;
  for (std::size_t a = 0; a < i.args.size(); ++a) {
    if (i.arg(a).kind() != ArgKind::Register || bytecode::is_special(i.arg(a).reg())) continue;
    if (const Value* v = m.read_register(frame, i.arg(a).reg())) add_memory_in(*v, r);
  }
  return r;
}

bool Observer::after_instruction(const vm::Machine& m, std::size_t frame_depth, Pc pc) {
  fresh_ = true;
  const std::uint64_t before = m.instructions() - 1;
  const Reached memory = watches_.empty() ? Reached{} : reached(m, frame_depth, pc);
  const bool returned = m.frames().size() == frame_depth, called = m.frames().size() > frame_depth + 1;
  for (Watched& w : watches_) {
    if (called) w.entered(m);
    if (returned && w.left(frame_depth) && !record_)
      keep(before,
           {w.number(), fmt::format("{} has returned: the watchpoint ended with its frame", w.function()), true, {}});
    for (const std::string& text : w.changes(m, frame_depth, pc, memory))
      note(m, before, {w.number(), fmt::format("{}\n  by {}", text, instruction(pc)), false, {}});
  }
  for (const Catch& c : catches_)
    if (auto found = numeric_hit(run_, map_, m, frame_depth, pc, c.event))
      note(m, before,
           {c.number, fmt::format("{}\n  by {}", found->text, instruction(pc)), false, std::move(found->element)});
  return !fresh_ && stops();
}

bool Observer::after_command(const vm::Machine& m, std::string_view by) {
  fresh_ = true;
  for (Watched& w : watches_)
    for (const std::string& text : w.set(m))
      note(m, m.instructions(), {w.number(), fmt::format("{}\n  by {}", text, by), false, {}, true});
  return !fresh_ && stops();
}

void Observer::note(const vm::Machine& m, std::uint64_t before, Seen seen) {
  const Breakpoint& b = d_.breakpoints.at(seen.number);
  std::string why;
  if (!d_.condition_holds(b, m, 0, &why)) return;
  if (!why.empty()) seen.text += "\n  " + why;
  keep(before, std::move(seen));
}

void Observer::keep(std::uint64_t before, Seen seen) {
  if (std::exchange(fresh_, false)) seen_.clear();
  time_ = before;
  seen_.push_back(std::move(seen));
}

std::string Observer::instruction(Pc pc) const {
  const Position at = map_.position(pc);
  std::string place = at.function + (at.binding.empty() ? "" : ":" + at.binding);
  if (!at.group.empty()) place = fmt::format("{} ({})", at.function, fmt::join(at.group, " "));
  std::string text;
  for (const char c : bytecode::instruction_text(map_.executable(), pc))
    if (c != ' ' || !text.ends_with(' ')) text += c;  // its alignment is for listings
  return fmt::format("*{} in {}: {}", pc, place, text);
}

}  // namespace rldb::debug
