// Types of an executable's parameters: debug information stores them as text, which the front end parses again.
#include "session/inputs/executable_types.h"

#include <algorithm>

#include "rldb/frontend/parse.h"

namespace rldb::session {

namespace {

// The symbolic variables of a function by the names used in its types: the slots of its shape heap.
std::vector<const ir::Var*> symbols_of(ir::Context& ctx, const bytecode::FunctionDebug& debug) {
  std::vector<const ir::Var*> symbols;
  for (const bytecode::SlotDebug& slot : debug.slots)
    if (slot.is_variable) symbols.push_back(ctx.var(slot.text, ctx.prim(slot.dtype)));
  return symbols;
}

// One type for each parameter.
std::vector<const ir::Type*> parameter_types(ir::Context& ctx, source::SourceManager& sources,
                                             const bytecode::Executable& exe, bytecode::FunctionIndex function) {
  const std::vector<std::string>& names = exe.functions[std::size_t(function)].param_names;
  std::vector<const ir::Type*> types(names.size(), nullptr);
  const bytecode::FunctionDebug* debug = exe.debug.function(function);
  if (!debug) return types;
  frontend::Environment env;
  env.symbols = symbols_of(ctx, *debug);
  for (const bytecode::VariableRange& variable : debug->variables) {
    if (!variable.is_parameter || variable.type.empty()) continue;
    const auto name = std::find(names.begin(), names.end(), variable.name);
    if (name == names.end()) continue;
    source::Diagnostics ignored;  // a file may contain anything: unreadable types are unknown
    types[std::size_t(name - names.begin())] = frontend::parse_type(
        ctx, sources, sources.add("type of " + variable.name, variable.type), env, env.symbols, ignored);
  }
  return types;
}

}  // namespace

std::vector<std::string> function_names_of(const bytecode::Executable& exe) {
  std::vector<std::string> names;
  for (const bytecode::FunctionEntry& f : exe.functions)
    if (f.kind != bytecode::FunctionKind::Packed) names.push_back(f.name);
  return names;
}

std::optional<std::vector<Parameter>> parameters_of(ir::Context& ctx, source::SourceManager& sources,
                                                    const bytecode::Executable& exe, std::string_view function) {
  const bytecode::FunctionIndex index = exe.find_function(function);
  if (index < 0 || exe.functions[std::size_t(index)].kind == bytecode::FunctionKind::Packed) return std::nullopt;
  const auto types = parameter_types(ctx, sources, exe, index);
  const std::vector<std::string>& names = exe.functions[std::size_t(index)].param_names;
  std::vector<Parameter> params;
  for (std::size_t i = 0; i < names.size(); ++i) params.push_back({names[i], types[i]});
  return params;
}

}  // namespace rldb::session
