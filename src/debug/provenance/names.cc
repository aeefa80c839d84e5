#include "debug/provenance/names.h"

#include <fmt/format.h>

#include <functional>

namespace rldb::debug {

using bytecode::ArgKind;
using runtime::Value;
using runtime::ValueKind;

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
  const auto* lowered = map.executable().debug.variable_at(function, reg, pc);
  return lowered ? lowered->name : fmt::format("%{}", reg);
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
