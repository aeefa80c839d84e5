// The origin of an instruction: its lowered binding, then version by version back to the user's text.
#include <fmt/format.h>

#include "debug/impl.h"
#include "debug/look/version_index.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/ir/printer.h"
#include "rldb/support/text.h"

namespace rldb::debug {

namespace {

constexpr std::size_t kOriginWidth = 140;  // of a binding, in characters

// The line of the user's text that contains a binding.
std::string written(const source::SourceManager& sources, const UserBinding& b) {
  if (const source::Buffer* buffer = sources.find(b.span.file)) {
    std::string_view text = buffer->line(b.line);
    while (!text.empty() && (text[0] == ' ' || text[0] == '\t')) text.remove_prefix(1);
    return fmt::format("{}:{}: {}", b.file, b.line, text);
  }
  if (!b.file.empty()) return fmt::format("{}:{}: {}", b.file, b.line, b.name);
  return fmt::format("{}:{}", b.function, b.name);
}

}  // namespace

std::vector<std::string> Debugger::origin(Pc pc) const {
  const auto map = impl_->current_code();
  if (!map || pc < 0 || pc >= map->executable().end()) return {};
  const bytecode::Executable& exe = map->executable();
  std::vector<std::string> lines;
  lines.push_back(fmt::format("*{} {}: {}", pc, map->function_name(pc), bytecode::instruction_text(exe, pc)));
  const bytecode::InstructionDebug* debug = exe.debug.instruction(pc);
  const session::Build& build = *map->build();
  if (!debug) return lines;

  const std::vector<int>& users = map->group_of(pc);
  if (build.lowered) {
    const auto& origins = impl_->session.context().origins();
    const ir::Binding* at = ancestor(VersionIndex(build.lowered), origins, {debug->binding, debug->node});
    if (at) lines.push_back(fmt::format("lowered: {}", support::one_line(ir::print_binding(at), kOriginWidth)));
    for (std::size_t i = build.records.size(); at && i-- > 0;) {
      const pipeline::Record& record = build.records[i];
      if (!record.before || record.before == record.after) continue;
      const ir::Binding* from = ancestor(VersionIndex(record.before.as<ir::Module>()), origins, ids_of(at));
      if (!from || from == at) continue;
      std::string text = support::one_line(ir::print_binding(from), kOriginWidth);
      // If a pass only rebuilt the same text (a renamed copy), it is not a step of the story.
      if (text != support::one_line(ir::print_binding(at), kOriginWidth))
        lines.push_back(fmt::format("before {}: {}", passes::to_string(record.pass), text));
      at = from;
    }
  }
  if (users.empty()) {
    if (map->has_debug_info()) lines.push_back("no binding of the program: code that the build added");
    return lines;
  }
  for (const int user : users) lines.push_back(written(impl_->session.sources(), map->binding(user)));
  return lines;
}

}  // namespace rldb::debug
