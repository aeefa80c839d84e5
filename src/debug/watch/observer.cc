// Observer: which instructions concern which watchpoints, and the checks after each of them.
#include "debug/watch/observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "debug/watch/numeric.h"
#include "rldb/bytecode/disassemble.h"

namespace rldb::debug {

using bytecode::Arg;
using bytecode::ArgKind;
using bytecode::Instruction;
using bytecode::Opcode;
using bytecode::RegName;
using runtime::Value;
using runtime::ValueKind;

Observer::Observer(Debugger::Impl& d, const Run& run)
    : d_(d), map_(run.code()), run_(run), observed_(run.code().executable().instruction_count()) {
  for (const auto& [number, b] : d.breakpoints) {
    if (!b.enabled) continue;
    if (b.kind == PointKind::Watch) add_watch(b, run);
    if (b.kind == PointKind::Catch)
      if (const auto event = numeric_event(b.spec)) catches_.push_back({number, *event});
  }
  if (active()) add_calls();
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

void Observer::add_watch(const Breakpoint& b, const Run& run) {
  Watch w{b.number, b.spec, b.frame, -1, vm::StopSet(observed_.end().value()), {}, {}, {}, -1};
  w.function = map_.executable().find_function(b.function.empty() ? run.function() : b.function);
  if (w.function >= 0) {
    for (const UserVariable& v : map_.variables(w.function))
      if (v.begin > 0 && !v.range->is_parameter && mentions(b.spec, v.name)) w.definitions.set(v.begin - 1);
    // Code not produced by our compiler may give a parameter's register another value.
    const bytecode::FunctionEntry& f = map_.executable().functions[std::size_t(w.function)];
    for (std::size_t p = 0; p < f.param_names.size(); ++p)
      for (Pc pc = f.start; mentions(b.spec, f.param_names[p]) && pc < f.end; ++pc)
        if (map_.executable().instruction(pc).dst == RegName(p)) w.definitions.set(pc);
  }
  if (const auto name = storage_operand(b.spec)) find_storage(w, *name);
  for (Pc pc = 0; pc < observed_.end(); ++pc)
    if (w.definitions.test(pc)) observed_.set(pc);
  watches_.push_back(std::move(w));
}

// The storage that the plan assigns to the name's tensor: watched for as long as it exists, whatever it contains.
void Observer::find_storage(Watch& w, std::string_view name) {
  w.plan = plan_of(map_.executable(), w.function);
  if (!w.plan) return;
  for (const UserVariable& v : map_.variables(w.function))
    if (v.name == name && w.storage < 0) w.storage = planned_storage(*w.plan, v.range->reg, v.range->begin);
  if (w.storage < 0) return;
  const PlannedStorage& s = w.plan->storages[std::size_t(w.storage)];
  w.definitions.set(s.allocated);
  for (const Tenant& t : s.tenants) w.definitions.set(t.made);
}

// Its contents after the instruction.
std::string Observer::tenants(const Watch& w, Pc pc) const {
  if (w.storage < 0) return {};
  std::string names;
  for (const Tenant& t : w.plan->storages[std::size_t(w.storage)].tenants)
    if (t.made <= pc && (t.cleared < 0 || t.cleared > pc))
      names += (names.empty() ? "\n  it holds " : ", ") + tenant_name(map_, w.function, t);
  return names;
}

// Only calls with a tensor's register among their arguments can write to the tensor. Definitions made by a call of the
// program exist once it returns.
void Observer::add_calls() {
  for (Pc pc = 0; pc < observed_.end(); ++pc) {
    const Instruction i = map_.executable().instruction(pc);
    if (i.op == Opcode::Ret && !watches_.empty()) observed_.set(pc);
    if (i.op != Opcode::Call) continue;
    const vm::TargetKind target = run_.machine().program().target_kind(i.callee);
    const bool writes = target == vm::TargetKind::Kernel || target == vm::TargetKind::Packed || run_.is_kernel_call(pc);
    if (writes || (!watches_.empty() && target != vm::TargetKind::Bytecode && !i.args.empty())) observed_.set(pc);
  }
}

void Observer::begin(const vm::Machine& m, bool record) {
  record_ = record;
  seen_.clear();
  for (Watch& w : watches_) w.last.keep(evaluate(w, m));
}

std::optional<Value> Observer::evaluate(Watch& w, const vm::Machine& m) {
  w.storages.clear();
  if (w.frame >= m.frames().size() || (w.function >= 0 && m.frames()[w.frame].function != w.function))
    return std::nullopt;
  const expression::NameLookup lookup = [&](std::string_view name) -> runtime::Result<Value> {
    Value v;
    if (d_.find_name(m, map_, w.frame, name, v) != Debugger::Impl::Found::Yes)
      return runtime::fail(runtime::ErrorKind::UnknownFunction, std::string(name));
    if (v.is(ValueKind::Tensor)) w.storages.insert(v.as_tensor().storage().get());
    if (v.is(ValueKind::Storage)) w.storages.insert(v.storage_ref().get());
    // A symbolic variable lives in the shape heap.
    if (v.is(ValueKind::Int))
      if (const auto* debug = map_.executable().debug.function(m.frames()[w.frame].function))
        if (const Value* heap = m.read_register(w.frame, debug->heap_register); heap && heap->is(ValueKind::Tensor))
          w.storages.insert(heap->as_tensor().storage().get());
    return v;
  };
  if (w.storage >= 0) return storage_of(w, m);
  if (auto storage = storage_operand(w.expression)) {
    auto named = lookup(*storage);
    if (!named.ok()) return std::nullopt;
    if (named->is(ValueKind::Tensor)) return Value(named->as_tensor().storage());
    return std::move(named).value();
  }
  auto value = expression::evaluate_text(w.expression, lookup);
  if (!value.ok()) return std::nullopt;
  return std::move(value).value();
}

std::optional<Value> Observer::storage_of(Watch& w, const vm::Machine& m) {
  const PlannedStorage& s = w.plan->storages[std::size_t(w.storage)];
  auto memory = memory_of(s, m.frames()[w.frame].pc, m.registers(w.frame));
  if (!memory) return std::nullopt;
  w.storages.insert(memory.get());
  return Value(std::move(memory));
}

bool Observer::concerns(const Watch& w, const vm::Machine& m, std::size_t frame, Pc pc) const {
  if (frame == w.frame && w.definitions.test(pc)) return true;
  const Instruction i = map_.executable().instruction(pc);
  if (i.op == Opcode::Ret && frame == w.frame + 1 && m.frames().size() == frame) {
    const Pc next = m.frames()[w.frame].pc;
    return next > 0 && w.definitions.test(next - 1);
  }
  if (w.storages.empty() || frame >= m.frames().size()) return false;
  for (std::size_t a = 0; i.op == Opcode::Call && a < i.args.size(); ++a) {
    if (i.arg(a).kind() != ArgKind::Register || bytecode::is_special(RegName(i.arg(a).value()))) continue;
    const Value* v = m.read_register(frame, RegName(i.arg(a).value()));
    if (v && v->is(ValueKind::Tensor) && w.storages.contains(v->as_tensor().storage().get())) return true;
  }
  return false;
}

bool Observer::after_instruction(const vm::Machine& m, std::size_t frame_depth, Pc pc) {
  bool fresh = true;  // discards the effects of an earlier instruction once this one has had any
  const auto clear_once = [&] {
    if (fresh) seen_.clear();
    fresh = false;
  };
  for (Watch& w : watches_) {
    if (!concerns(w, m, frame_depth, pc)) continue;
    auto now = evaluate(w, m);
    if (!now || w.last.is(now)) continue;  // a freed name keeps its last value
    clear_once();
    note(m, w.number,
         fmt::format("{}\n{}\n  by {}{}", w.expression, w.last.changes(now), instruction(pc), tenants(w, pc)));
    w.last.keep(now);
  }
  for (const Catch& c : catches_)
    if (auto text = numeric_hit(run_, map_, m, frame_depth, pc, c.event)) {
      clear_once();
      note(m, c.number, fmt::format("{}\n  by {}", *text, instruction(pc)));
    }
  return !fresh && !record_ && hit();
}

void Observer::note(const vm::Machine& m, int number, std::string text) {
  time_ = m.instructions();
  const Breakpoint& b = d_.breakpoints.at(number);
  std::string why;
  if (!d_.condition_holds(b, m, 0, &why)) return;
  if (!why.empty()) text += "\n  " + why;
  seen_.push_back({number, std::move(text)});
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
