#include "rldb/debug/file_names.h"

#include "debug/look/code_map.h"

namespace rldb::debug {

using bytecode::DebugInfo;
using bytecode::VariableRange;

namespace {

void name_instructions(const CodeMap& map, DebugInfo& info) {
  for (Pc pc = 0; pc < map.executable().end() && std::size_t(pc) < info.instructions.size(); ++pc) {
    const std::vector<int>& group = map.group_of(pc);
    if (group.empty()) continue;
    const UserBinding& b = map.binding(group.back());
    bytecode::InstructionDebug& debug = info.instructions[std::size_t(pc)];
    debug.variable = b.name.empty() ? "_" : b.name;
    if (b.line > 0) debug.span = b.span;
  }
}

// A range that belongs to the user only from some instruction on is split in two.
void name_registers(const CodeMap& map, bytecode::FunctionIndex function, bytecode::FunctionDebug& debug) {
  const std::vector<VariableRange>& lowered = map.executable().debug.functions[std::size_t(function)].variables;
  std::vector<VariableRange> named;
  for (const VariableRange& range : lowered) {
    const UserVariable* user = nullptr;
    for (const UserVariable& v : map.variables(function))
      if (v.range == &range) user = &v;
    VariableRange rest = range;
    if (user && user->begin > range.begin && user->begin < range.end) {
      VariableRange before = range;
      before.end = user->begin;
      named.push_back(std::move(before));
      rest.begin = user->begin;
    }
    if (user) rest.name = user->name;
    named.push_back(std::move(rest));
  }
  debug.variables = std::move(named);
}

}  // namespace

DebugInfo names_for_file(std::shared_ptr<const session::Build> build, session::Session& session) {
  DebugInfo info = build->executable->debug;
  const CodeMap map(std::move(build), session);
  name_instructions(map, info);
  for (std::size_t f = 0; f < info.functions.size(); ++f)
    name_registers(map, bytecode::FunctionIndex(std::int64_t(f)), info.functions[f]);
  bytecode::resolve_locations(info, session.sources());
  return info;
}

std::optional<std::string> executable_file(session::Session& session, source::Diagnostics& out) {
  if (!session.module()) return session.serialise(out);  // names are those of its own text already
  auto build = session.build(out);
  if (!build) return std::nullopt;
  const DebugInfo names = names_for_file(std::move(build), session);
  return session.serialise(out, &names);
}

}  // namespace rldb::debug
