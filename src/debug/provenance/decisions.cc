// Decisions: the branches around a call, and from a register back to where its value was chosen.
#include "debug/provenance/decisions.h"

#include <algorithm>

#include "rldb/bytecode/builtin.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using bytecode::ArgKind;
using bytecode::Instruction;
using bytecode::Opcode;
using bytecode::RegName;

namespace {

constexpr int kMostCallers = 100;  // of a recursion, whose conditions are alike
constexpr int kMostSteps = 1000;   // from a register to the next one

}  // namespace

const std::vector<Decisions::Arm>& Decisions::arms_of(FunctionIndex function) {
  const auto [it, fresh] = arms_.try_emplace(function);
  if (!fresh) return it->second;
  const bytecode::Executable& exe = map_.executable();
  const bytecode::FunctionEntry& f = exe.functions[std::size_t(function)];
  for (Pc pc = f.start; pc < f.end; ++pc) {
    const Instruction i = exe.instruction(pc);
    if (i.op != Opcode::If) continue;
    const Pc other = pc + i.offset;
    if (other <= pc || other > f.end) continue;
    // The then branch ends with a jump over the other one, or leaves the function.
    const Instruction last = exe.instruction(other - 1);
    Pc join = other;
    if (other - 1 > pc && last.op == Opcode::Goto && last.offset > 0) join = other - 1 + last.offset;
    if (other - 1 > pc && last.op == Opcode::Ret) join = f.end;
    it->second.push_back({pc, pc + 1, other, true});
    if (other < join && join <= f.end) it->second.push_back({pc, other, join, false});
  }
  return it->second;
}

// Most programs have none.
bool Decisions::has_branches() {
  if (!has_branches_) {
    const bytecode::Executable& exe = map_.executable();
    has_branches_ = false;
    for (Pc pc = 0; pc < exe.end() && !*has_branches_; ++pc) *has_branches_ = exe.instruction(pc).op == Opcode::If;
  }
  return *has_branches_;
}

std::vector<const Decisions::Arm*> Decisions::around(Pc pc) {
  std::vector<const Arm*> found;
  for (const Arm& a : arms_of(map_.function_of(pc)))
    if (a.begin <= pc && pc < a.end) found.push_back(&a);
  std::reverse(found.begin(), found.end());  // they are in the order of the code
  return found;
}

// The last one of its activation: the call that made the number which the If tests.
std::optional<Decision> Decisions::decision(Pc branch, std::uint64_t activation, std::uint64_t before) {
  const bytecode::Executable& exe = map_.executable();
  const bytecode::FunctionEntry& f = exe.functions[std::size_t(map_.function_of(branch))];
  const auto made = definition_before(exe.instruction(branch).reg, branch, f.start);
  if (!made) return std::nullopt;
  auto call = history_.last_call(*made, activation, before);
  if (!call) return std::nullopt;
  return Decision{std::move(call->call), call->interval, branch, false};
}

void Decisions::note_frames(const vm::Machine& m) {
  const auto frames = m.frames();
  // A call in tail position has taken the place of the one that the caller made.
  for (std::size_t i = 1; i < frames.size(); ++i)
    if (frames[i].replaced == 0)
      callers_[frames[i].entered] = {frames[i].entered, frames[i - 1].pc, i - 1, frames[i - 1].entered};
}

std::optional<EnterMoment> Decisions::caller_of(std::uint64_t activation) {
  if (activation == 0) return std::nullopt;  // the outermost
  if (const auto it = callers_.find(activation); it != callers_.end()) return it->second;
  return history_.entered_at(activation);
}

std::vector<Decision> Decisions::of_call(const CallMoment& call) {
  std::vector<Decision> found;
  if (!has_branches()) return found;
  std::uint64_t activation = call.activation, before = call.time;
  Pc pc = call.pc;
  for (int n = 0; n < kMostCallers && found.size() < kMost; ++n) {
    support::poll_cause();
    for (const Arm* arm : around(pc))
      if (auto d = decision(arm->branch, activation, before)) {
        d->taken = arm->is_then;
        found.push_back(*std::move(d));
      }
    const auto caller = caller_of(activation);
    if (!caller) break;
    pc = caller->pc;
    before = caller->time;
    activation = caller->activation;
  }
  return found;
}

std::vector<Decision> Decisions::left_since(const RegisterPlace& then, Pc now) {
  std::vector<Decision> found;
  if (!has_branches()) return found;
  for (const Arm* arm : around(then.pc)) {
    if (arm->begin <= now && now < arm->end) break;
    if (auto d = decision(arm->branch, then.activation, then.time)) {
      d->taken = arm->is_then;
      found.push_back(*std::move(d));
    }
  }
  return found;
}

std::optional<Pc> Decisions::definition_before(RegName reg, Pc end, Pc begin) const {
  const bytecode::Executable& exe = map_.executable();
  for (Pc pc = end; pc > begin;) {
    pc = pc - 1;
    const Instruction i = exe.instruction(pc);
    if (i.op == Opcode::Call && i.dst == reg) return pc;
  }
  return std::nullopt;
}

std::vector<Decision> Decisions::of_register(RegisterPlace at) {
  std::vector<Decision> found;
  if (!has_branches()) return found;
  const bytecode::Executable& exe = map_.executable();
  for (int step = 0; step < kMostSteps && found.size() < kMost; ++step) {
    support::poll_cause();
    const bytecode::FunctionEntry& f = exe.functions[std::size_t(map_.function_of(at.pc))];
    const auto defined = definition_before(at.reg, at.pc, f.start);
    if (!defined) {
      const auto given = argument(at);
      if (!given) break;
      at = *given;
      continue;
    }
    // In a branch that this place is outside of: it was chosen there, by the outermost of them.
    const Arm* chosen = nullptr;
    for (const Arm* arm : around(*defined))
      if (at.pc < arm->begin || at.pc >= arm->end) chosen = arm;
    if (!chosen) {
      const auto next = behind(*defined, at);
      if (!next) break;
      at = *next;
      continue;
    }
    auto d = decision(chosen->branch, at.activation, at.time);
    if (!d) break;
    // Each branch gives the register its value by a call: the one that was made tells which was taken.
    std::optional<Pc> made;
    for (const Arm& arm : arms_of(map_.function_of(at.pc))) {
      if (arm.branch != chosen->branch) continue;
      const auto last = definition_before(at.reg, arm.end, arm.begin);
      if (last && was_called(*last, at.activation, at.time, d->read.time)) made = last, d->taken = arm.is_then;
    }
    if (!made) break;
    found.push_back(*std::move(d));
    at.pc = *made + 1;
    const auto next = behind(*made, at);
    if (!next) break;
    at = *next;
  }
  return found;
}

bool Decisions::was_called(Pc pc, std::uint64_t activation, std::uint64_t before, std::uint64_t since) {
  const bytecode::Executable& exe = map_.executable();
  if (exe.functions[std::size_t(exe.instruction(pc).callee)].kind != bytecode::FunctionKind::Bytecode)
    return history_.last_call(pc, activation, before, since).has_value();
  const auto entered = history_.last_entered(pc, activation, before);
  return entered && entered->time >= since;
}

// The register of the caller that holds what a parameter was given.
std::optional<RegisterPlace> Decisions::argument(const RegisterPlace& parameter) {
  const bytecode::Executable& exe = map_.executable();
  const bytecode::FunctionEntry& f = exe.functions[std::size_t(map_.function_of(parameter.pc))];
  const auto call = caller_of(parameter.activation);
  const std::int64_t number = parameter.reg.value();
  if (!call || number >= f.num_args) return std::nullopt;
  const Instruction i = exe.instruction(call->pc);
  const bool closure = exe.functions[std::size_t(i.callee)].kind != bytecode::FunctionKind::Bytecode;
  if (closure || std::size_t(number) >= i.args.size()) return std::nullopt;
  const bytecode::Arg given = i.arg(std::size_t(number));
  if (given.kind() != ArgKind::Register || bytecode::is_special(given.reg())) return std::nullopt;
  return RegisterPlace{given.reg(), call->pc, call->activation, call->time};
}

// The register from which a definition has its memory, as a copy, a field or a view of it; or the one that a function
// returned.
std::optional<RegisterPlace> Decisions::behind(Pc definition, const RegisterPlace& at) {
  const bytecode::Executable& exe = map_.executable();
  const Instruction i = exe.instruction(definition);
  const bytecode::FunctionEntry& callee = exe.functions[std::size_t(i.callee)];
  if (callee.kind == bytecode::FunctionKind::Bytecode) {
    if (arms_of(i.callee).empty()) return std::nullopt;
    const auto entered = history_.last_entered(definition, at.activation, at.time);
    return entered ? returned(*entered, at.time) : std::nullopt;
  }
  const auto id = bytecode::find_builtin(callee.name);
  const bool passes_on = id && bytecode::info(*id).effect == bytecode::BuiltinEffect::Pure && !i.args.empty() &&
                         i.arg(0).kind() == ArgKind::Register && !bytecode::is_special(i.arg(0).reg());
  if (!passes_on) return std::nullopt;
  return RegisterPlace{i.arg(0).reg(), definition, at.activation, at.time};
}

std::optional<RegisterPlace> Decisions::returned(const EnterMoment& call, std::uint64_t before) {
  const bytecode::Executable& exe = map_.executable();
  const std::uint64_t end = history_.next_in(call.frame, call.time, before);
  const auto last = history_.last_call_in(call.frame + 1, call.time, end);
  if (!last) return std::nullopt;
  const bytecode::FunctionEntry& f = exe.functions[std::size_t(map_.function_of(last->call.pc))];
  for (Pc pc = last->call.pc; pc < f.end; ++pc)
    if (const Instruction i = exe.instruction(pc); i.op == Opcode::Ret)
      return RegisterPlace{i.reg, pc, last->call.activation, end};
  return std::nullopt;
}

}  // namespace rldb::debug
