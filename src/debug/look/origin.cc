// The origin of an instruction: its lowered binding, then version by version back to the user's text.
#include <fmt/format.h>

#include <unordered_map>

#include "debug/impl.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/text.h"

namespace rldb::debug {

namespace {

constexpr std::size_t kMaxQueue = 512;

// The bindings of one version, by every node that belongs to one of them only.
class VersionIndex {
 public:
  explicit VersionIndex(const ir::Module* module) {
    for (const ir::ModuleEntry& entry : module->entries) {
      const auto* f = ir::as<ir::Function>(entry.function);
      if (!f) continue;
      ir::walk(f->body, [&](const ir::Node* n) {
        if (const auto* b = ir::as<ir::Binding>(n)) add(b);
        return true;
      });
    }
  }
  const ir::Binding* find(std::uint32_t id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : it->second;
  }

 private:
  void add(const ir::Binding* b) {
    by_id_[b->id] = b;
    by_id_[b->var->id] = b;
    if (ir::isa<ir::Call>(b->value) || ir::isa<ir::Tuple>(b->value) || ir::isa<ir::TupleGetItem>(b->value) ||
        ir::isa<ir::If>(b->value) || ir::isa<ir::Function>(b->value))
      by_id_.try_emplace(b->value->id, b);
  }
  std::unordered_map<std::uint32_t, const ir::Binding*> by_id_;
};

constexpr std::size_t kOriginWidth = 140;  // of a binding, in characters

// The binding of `version` from which these nodes come.
const ir::Binding* ancestor(const VersionIndex& version, const ir::SideTable<ir::Span<std::uint32_t>>& origins,
                            std::vector<std::uint32_t> queue) {
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (const ir::Binding* b = version.find(queue[i])) return b;
    if (queue.size() > kMaxQueue) continue;
    for (const std::uint32_t id : origins.get(queue[i]))
      if (std::find(queue.begin(), queue.end(), id) == queue.end()) queue.push_back(id);
  }
  return nullptr;
}

std::vector<std::uint32_t> ids_of(const ir::Binding* b) { return {b->id, b->var->id, b->value->id}; }

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
