// Names of arguments: by the registers of the call, or of the frame that was asked.
#include "debug/provenance/names.h"

#include <fmt/format.h>

#include <functional>
#include <set>

#include "debug/provenance/writers.h"
#include "rldb/ir/op/call_tir_variant.h"

namespace rldb::debug {

using bytecode::ArgKind;
using runtime::Value;
using runtime::ValueKind;

namespace {

// `a[1]`: the output of a kernel that will be a field of the binding's value. The outputs are its last tensors, of
// those that are `given`, by their places among the arguments.
std::string output_name(const CodeMap& map, Pc pc, const std::set<int>& given, int arg) {
  const std::vector<int>& group = map.group_of(pc);
  const UserBinding* u = group.size() == 1 ? &map.binding(group[0]) : nullptr;
  const auto* tuple = u && u->binding ? ir::as<ir::TupleType>(u->binding->var->type) : nullptr;
  const auto* value = tuple ? ir::as<ir::Call>(u->binding->value) : nullptr;
  const auto* op = value ? ir::as<ir::Op>(value->callee) : nullptr;
  if (!op || op->name == op::CallTirInplace) return {};
  const auto behind = std::ptrdiff_t(std::distance(given.upper_bound(arg), given.end()));
  const std::ptrdiff_t field = std::ptrdiff_t(tuple->fields.size()) - 1 - behind;
  return field >= 0 && given.contains(arg) ? fmt::format("{}[{}]", u->name, field) : std::string();
}

std::string output_name(const CodeMap& map, const CallMoment& call, int arg) {
  std::set<int> given;
  for (const Touch& t : call.args) given.insert(t.arg);
  return output_name(map, call.pc, given, arg);
}

// The same of memory that an earlier call has filled: passes take the field of a tuple for the output that it is.
// Empty: there is no such call.
std::string filled_as(const CodeMap& map, const bytecode::VariableRange& lowered, Pc before) {
  for (Pc pc = lowered.begin; pc < before; ++pc) {
    const bytecode::Instruction i = map.executable().instruction(pc);
    if (i.op != bytecode::Opcode::Call) continue;
    std::set<int> given;
    int arg = -1;
    for (std::size_t k = 0; k < i.args.size(); ++k) {
      if (i.arg(k).kind() != ArgKind::Register) continue;
      given.insert(int(k));
      if (i.arg(k).reg() == lowered.reg) arg = int(k);
    }
    if (arg < 0) continue;
    if (std::string name = output_name(map, pc, given, arg); !name.empty()) return name;
  }
  return {};
}

}  // namespace

std::string name_of_argument(const CodeMap& map, const CallMoment& call, int arg, bool after) {
  const bytecode::Instruction i = map.executable().instruction(call.pc);
  if (arg >= 0 && i.arg(std::size_t(arg)).kind() != ArgKind::Register) return "constant";
  const bytecode::RegName reg = arg < 0 ? i.dst : i.arg(std::size_t(arg)).reg();
  const Pc pc = call.pc + (after ? 1 : 0);
  const FunctionIndex function = map.function_of(call.pc);
  const UserVariable* best = nullptr;
  for (const UserVariable& v : map.variables(function))
    if (v.range->reg == reg && v.begin <= pc && pc < v.range->end && (!best || v.begin > best->begin)) best = &v;
  if (best) return best->name;
  if (after && arg >= 0)
    if (std::string output = output_name(map, call, arg); !output.empty()) return output;
  const auto* lowered = map.executable().debug.variable_at(function, reg, pc);
  if (!lowered) return fmt::format("%{}", reg);
  std::string filled = filled_as(map, *lowered, call.pc);
  return filled.empty() ? lowered->name : filled;
}

namespace {

const Value* held(const vm::Machine& m, const CodeMap& map, const CallMoment& call, int arg) {
  const bytecode::Instruction i = map.executable().instruction(call.pc);
  if (arg >= 0 && i.arg(std::size_t(arg)).kind() != ArgKind::Register) return nullptr;
  const bytecode::RegName reg = arg < 0 ? i.dst : i.arg(std::size_t(arg)).reg();
  return m.frames().size() > call.frame ? m.read_register(call.frame, reg) : nullptr;
}

// Which tensor of a value is the same view of the same memory; nullopt: none.
std::optional<int> part_with(const Value& v, const Value& wanted) {
  const std::vector<Touch> parts = memory_in(v, 0);
  for (const Touch& t : parts) {
    const Value part = part_of(v, t.part);
    if (!part.is(ValueKind::Tensor)) continue;
    const runtime::Tensor &a = part.as_tensor(), &b = wanted.as_tensor();
    if (a.storage() == b.storage() && a.byte_offset() == b.byte_offset() && a.shape() == b.shape() &&
        a.dtype() == b.dtype())
      return t.part;
  }
  return std::nullopt;
}

// The asker's name for a tensor; empty: it holds none.
std::string own_name(const Asker& asker, const CodeMap& map, const vm::Machine& m, const Value& tensor) {
  if (m.frames().size() <= asker.frame || m.frames()[asker.frame].function != asker.function) return {};
  const Pc pc = m.frames()[asker.frame].pc;
  for (const UserVariable& v : map.variables(asker.function)) {
    if (v.begin > pc || pc >= v.range->end) continue;
    const Value* value = m.read_register(asker.frame, v.range->reg);
    if (!value) continue;
    if (const auto part = part_with(*value, tensor))
      return value->is(ValueKind::Tuple) ? v.name + fields_text(*value, *part) : v.name;
  }
  return {};
}

}  // namespace

Asker asker_at(const Run& run, std::size_t frame) {
  const auto frames = run.machine().frames();
  return {frame, frame < frames.size() ? frames[frame].function : FunctionIndex{}};
}

std::string name_for(const Asker& asker, const CodeMap& map, const vm::Machine& m, const CallMoment& call,
                     const Touch& touch, bool after) {
  const Value* v = held(m, map, call, touch.arg);
  if (v && call.frame != asker.frame)
    if (const Value tensor = part_of(*v, touch.part); tensor.is(ValueKind::Tensor))
      if (std::string name = own_name(asker, map, m, tensor); !name.empty()) return name;
  std::string name = name_of_argument(map, call, touch.arg, after);
  if (v && v->is(ValueKind::Tuple)) name += fields_text(*v, touch.part);
  return map.function_of(call.pc) == asker.function ? name : fmt::format("{}:{}", map.function_name(call.pc), name);
}

std::string fields_text(const Value& v, int part) {
  int left = part;
  std::string text;
  const std::function<bool(const Value&, const std::string&)> look = [&](const Value& at, const std::string& way) {
    if (at.is(ValueKind::Tuple)) {
      for (std::size_t i = 0; i < at.as_tuple().fields.size(); ++i)
        if (look(at.as_tuple().fields[i], fmt::format("{}[{}]", way, i))) return true;
      return false;
    }
    if ((!at.is(ValueKind::Tensor) && !at.is(ValueKind::Storage)) || left-- != 0) return false;
    text = way;
    return true;
  };
  (void)look(v, "");
  return text;
}

std::string iteration_text(const std::vector<std::pair<const ir::Var*, std::int64_t>>& loops) {
  std::string text;
  for (const auto& [v, at] : loops) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", v->name, at);
  return text;
}

}  // namespace rldb::debug
