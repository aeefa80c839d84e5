// Tables of a function's code.
#include "debug/look/function_tables.h"

#include <algorithm>
#include <unordered_map>

#include "debug/look/code_map.h"
#include "debug/look/planned.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using bytecode::RegName;
using bytecode::VariableRange;

FunctionTables::FunctionTables(const CodeMap& map, FunctionIndex function) {
  const bytecode::Executable& exe = map.executable();
  if (const bytecode::FunctionDebug* debug = exe.debug.function(function))
    for (const VariableRange& v : debug->variables) ranges_[v.reg].push_back(&v);

  const auto add_name = [&](std::string_view name) {
    const auto [it, fresh] = numbers_.try_emplace(name, int(names_.size()));
    if (fresh) names_.push_back(name);
    return it->second;
  };
  for (const UserVariable& v : map.variables(function)) {
    variable_names_.push_back(add_name(v.name));
    named_.push_back({{v.begin, 0}, variable_names_.back(), true});
  }
  const bytecode::FunctionEntry& entry = exe.functions[std::size_t(function)];
  for (Pc pc = entry.start; pc < entry.end; ++pc) {
    support::poll();
    if (const auto* at = exe.debug.instruction(pc); at && !at->slots_written.empty()) slot_writers_.push_back(pc);
    if (!map.starts().test(pc)) continue;
    const std::vector<int>& group = map.group_of(pc);
    for (std::size_t part = 0; part < group.size(); ++part) {
      const std::string& name = map.binding(group[part]).name;
      if (!name.empty() && name != "_") named_.push_back({{pc, int(part)}, add_name(name), false});
    }
  }
  std::stable_sort(named_.begin(), named_.end(), [](const Named& a, const Named& b) { return a.site < b.site; });
  variables_named_.resize(names_.size());
  for (std::size_t i = 0; i < variable_names_.size(); ++i)
    variables_named_[std::size_t(variable_names_[i])].push_back(int(i));
  plan_ = plan_of(exe, function);
}

const std::vector<const VariableRange*>& FunctionTables::ranges_of(RegName reg) const {
  static const std::vector<const VariableRange*> none;
  const auto it = ranges_.find(reg);
  return it == ranges_.end() ? none : it->second;
}

int FunctionTables::number_of(std::string_view name) const {
  const auto it = numbers_.find(name);
  return it == numbers_.end() ? -1 : it->second;
}

const VariableRange* FunctionTables::variable_at(RegName reg, Pc pc) const {
  const VariableRange* best = nullptr;
  for (const VariableRange* v : ranges_of(reg))
    if (pc >= v->begin && pc < v->end && (!best || v->begin >= best->begin)) best = v;
  return best;
}

}  // namespace rldb::debug
