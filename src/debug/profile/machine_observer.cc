// The calls of both VMs, as they are reported to a collector.
#include "debug/profile/machine_observer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/debug/model_node.h"

namespace rldb::debug {

using bytecode::Instruction;
using bytecode::Opcode;
using runtime::PackedArgs;
using runtime::Value;
using runtime::ValueKind;

namespace {

// The row of the bindings that an instruction serves.
ProfileRow binding_row(const CodeMap& map, Pc pc, const session::Session& session) {
  ProfileRow row;
  row.function = map.function_name(pc);
  std::vector<std::string> names, nodes;
  for (const int b : map.group_of(pc)) {
    const UserBinding& u = map.binding(b);
    if (names.empty()) row.file = u.file, row.line = u.line;
    names.push_back(u.name.empty() ? "(result)" : u.name);
    std::string label = model_node_label(session, u.span);
    if (!label.empty() && std::find(nodes.begin(), nodes.end(), label) == nodes.end()) nodes.push_back(label);
  }
  row.name = names.empty() ? fmt::format("{}, outside of bindings", row.function)
                           : fmt::format("{}:{}", row.function, fmt::join(names, " "));
  row.node = fmt::format("{}", fmt::join(nodes, " "));
  return row;
}

}  // namespace

ObservedCode::ObservedCode(std::shared_ptr<const session::Build> build, session::Session& session, Collector& collector)
    : build_(std::move(build)), collector_(collector) {
  const CodeMap map(build_, session);
  std::map<std::pair<FunctionIndex, std::vector<int>>, int> rows;
  const bytecode::Executable& exe = executable();
  binding_of_.assign(std::size_t(exe.instruction_count()), -1);
  for (Pc pc = 0; pc < exe.end(); ++pc) {
    if (map.function_of(pc) < 0) continue;
    const auto [it, fresh] = rows.try_emplace({map.function_of(pc), map.group_of(pc)}, -1);
    if (fresh) it->second = collector_.add_binding(binding_row(map, pc, session));
    binding_of_[std::size_t(pc)] = it->second;
  }
  callees_.assign(exe.functions.size(), -1);
  for (const bytecode::FunctionEntry& f : exe.functions) {
    const auto builtin = bytecode::find_builtin(f.name);
    moves_.push_back(builtin && bytecode::info(*builtin).effect == bytecode::BuiltinEffect::Mutate);
  }
}

CallKind ObservedCode::kind(FunctionIndex f) const {
  switch (build_->program->target_kind(f)) {
    case vm::TargetKind::Bytecode:
      return CallKind::Function;
    case vm::TargetKind::Kernel:
      return CallKind::Kernel;
    case vm::TargetKind::Packed:
      return CallKind::Packed;
    case vm::TargetKind::Unresolved:  // among them the instructions of the Relay VM
    case vm::TargetKind::Builtin:
    case vm::TargetKind::Control:
      return CallKind::Builtin;
  }
  return CallKind::Builtin;
}

int ObservedCode::callee(FunctionIndex f) {
  int& row = callees_[std::size_t(f)];
  if (row < 0) row = collector_.add_callee(executable().functions[std::size_t(f)].name, kind(f));
  return row;
}

int ObservedCode::callee_named(const std::string& name, CallKind kind) {
  if (const FunctionIndex f = executable().find_function(name); f >= 0) return callee(f);
  const auto [it, fresh] = named_.try_emplace(name, -1);
  if (fresh) it->second = collector_.add_callee(name, kind);
  return it->second;
}

const ir::PrimFunc* ObservedCode::kernel(FunctionIndex f) const {
  if (!build_->lowered || f < 0) return nullptr;
  return ir::as<ir::PrimFunc>(build_->lowered->find(executable().functions[std::size_t(f)].name));
}

void ObservedCode::note_callees(Profile& profile) const {
  const bytecode::Executable& exe = executable();
  std::vector<std::vector<std::string>> builtins(profile.bindings.size());
  const auto add = [](std::vector<std::string>& to, const std::string& name) {
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  };
  for (Pc pc = 0; pc < exe.end(); ++pc) {
    const Instruction i = exe.instruction(pc);
    const int row = binding_at(pc);
    if (i.op != Opcode::Call || row < 0) continue;
    const std::string& name = exe.functions[std::size_t(i.callee)].name;
    const bool plain = kind(i.callee) == CallKind::Builtin;
    add(plain ? builtins[std::size_t(row)] : profile.bindings[std::size_t(row)].callees, name);
  }
  for (std::size_t r = 0; r < builtins.size(); ++r)
    if (profile.bindings[r].callees.empty()) profile.bindings[r].callees = std::move(builtins[r]);
}

namespace {

bool is_closure_call(const bytecode::Executable& exe, FunctionIndex callee) {
  return exe.functions[std::size_t(callee)].name == builtin::InvokeClosure;
}

// The function that a closure call calls; null: its arguments have none.
const runtime::Function* called_closure(PackedArgs args) {
  for (const Value& a : args)
    if (a.is(ValueKind::Function)) return &a.as_function();
  return nullptr;
}

}  // namespace

vm::CallAction MachineObserver::before_call(const vm::Machine&, const vm::CallEvent& event) {
  const int binding = code_.binding_at(event.pc);
  const CallKind kind = code_.kind(event.callee);
  if (is_closure_call(code_.executable(), event.callee)) {
    const runtime::Function* f = called_closure(event.args);
    collector_.enter(f ? code_.callee_named(f->name, CallKind::Packed) : code_.callee(event.callee), binding,
                     CallKind::Function);
  } else if (kind == CallKind::Kernel) {
    const int callee = code_.callee(event.callee);
    const auto& found = costs_.of_kernel(std::size_t(event.pc), code_.kernel(event.callee), callee, event.args);
    collector_.enter(callee, binding, kind, found.cost, found.shapes);
  } else {
    collector_.enter(code_.callee(event.callee), binding, kind);
  }
  return vm::CallAction::Run;
}

void MachineObserver::after_call(const vm::Machine&, const vm::CallEvent& event, const Value& result) {
  const CallKind kind = code_.kind(event.callee);
  if (kind == CallKind::Packed || code_.moves_data(event.callee))
    collector_.leave(CallCosts::bytes_of(event.args, result));
  else
    collector_.leave(0, kind == CallKind::Builtin ? costs_.of_copy(event.args, result) : std::nullopt);
}

// ---- the Relay VM ----

bool RelayObserver::calls_function(const Instruction& i) const {
  return i.op == Opcode::Call &&
         (code_.kind(i.callee) == CallKind::Function || is_closure_call(code_.executable(), i.callee));
}

void RelayObserver::read_arguments(const vm::Machine& m, const Instruction& i) {
  arguments_.clear();
  for (std::size_t a = 0; a < i.args.size(); ++a) {
    const bool is_register = i.arg(a).kind() == bytecode::ArgKind::Register && !bytecode::is_special(i.arg(a).reg());
    const Value* v = is_register ? m.read_register(m.frames().size() - 1, i.arg(a).reg()) : nullptr;
    arguments_.push_back(v ? *v : Value());
  }
}

bool RelayObserver::before_instruction(const vm::Machine& m) {
  const Pc pc = m.frame().pc;
  const Instruction i = code_.executable().instruction(pc);
  if (i.op != Opcode::Call) return false;
  const int binding = code_.binding_at(pc);
  const CallKind kind = code_.kind(i.callee);
  if (is_closure_call(code_.executable(), i.callee)) return false;  // its callee is known afterwards
  const int callee = code_.callee(i.callee);
  if (kind != CallKind::Kernel) {
    collector_.enter(callee, binding, kind);
    return false;
  }
  read_arguments(m, i);
  const auto& found = costs_.of_kernel(std::size_t(pc), code_.kernel(i.callee), callee, arguments_);
  arguments_.clear();  // nothing is held longer than the run holds it
  collector_.enter(callee, binding, kind, found.cost, found.shapes);
  return false;
}

bool RelayObserver::after_instruction(const vm::Machine& m, std::size_t frame_depth, Pc pc) {
  const Instruction i = code_.executable().instruction(pc);
  if (i.op == Opcode::Ret) {
    collector_.leave();
    return false;
  }
  if (i.op != Opcode::Call) return false;
  if (!calls_function(i)) {
    std::optional<SimulatedTime> copy;
    if (code_.kind(i.callee) == CallKind::Builtin && collector_.simulates()) {
      read_arguments(m, i);
      const Value* made = m.read_register(frame_depth, i.dst);
      if (made) copy = costs_.of_copy(arguments_, *made);
      arguments_.clear();
    }
    collector_.leave(0, copy);
    return false;
  }
  const vm::Frame& now = m.frame();
  const bool begins = now.pc == code_.executable().functions[std::size_t(now.function)].start;
  const std::size_t depth = m.frames().size() - 1;
  if (is_closure_call(code_.executable(), i.callee) && begins)
    collector_.enter(code_.callee(now.function), code_.binding_at(pc), CallKind::Function);
  if (depth == frame_depth && begins && collector_.depth() >= 2) collector_.replace_caller();
  return false;
}

}  // namespace rldb::debug
