#include "rldb/bytecode/debug_info.h"

#include <map>

#include "rldb/source/visible.h"

namespace rldb::bytecode {

const SlotDebug* DebugInfo::slot(FunctionIndex f, std::int64_t slot) const {
  const FunctionDebug* fn = function(f);
  if (!fn || slot < 0 || std::size_t(slot) >= fn->slots.size()) return nullptr;
  return &fn->slots[std::size_t(slot)];
}

std::string_view DebugInfo::file(Location l) const {
  if (l.file == 0 || l.file > files.size()) return {};
  return files[l.file - 1];
}

const VariableRange* DebugInfo::variable_at(FunctionIndex f, RegName reg, Pc pc) const {
  const FunctionDebug* fn = function(f);
  if (!fn) return nullptr;
  const VariableRange* best = nullptr;
  for (const VariableRange& v : fn->variables) {
    if (v.reg != reg || pc < v.begin || pc >= v.end) continue;
    if (!best || v.begin >= best->begin) best = &v;
  }
  return best;
}

std::vector<const VariableRange*> DebugInfo::variables_at(FunctionIndex f, Pc pc) const {
  std::vector<const VariableRange*> found;
  const FunctionDebug* fn = function(f);
  if (!fn) return found;
  for (const VariableRange& v : fn->variables)
    if (pc >= v.begin && pc < v.end) found.push_back(&v);
  return found;
}

namespace {

class LocationTable {
 public:
  LocationTable(DebugInfo& info, const source::SourceManager& sources) : info_(info), sources_(sources) {}

  Location locate(source::Span span) {
    const source::Buffer* buffer = sources_.find(span.file);
    if (!buffer) return {};
    auto [it, fresh] = ids_.try_emplace(span.file.value, 0);
    if (fresh) {
      info_.files.push_back(source::visible(buffer->name(), {.line_breaks = false}));
      it->second = std::uint32_t(info_.files.size());
    }
    source::LineColumn at = buffer->line_column(span.begin);
    return {it->second, at.line, at.column};
  }

 private:
  DebugInfo& info_;
  const source::SourceManager& sources_;
  std::map<std::uint32_t, std::uint32_t> ids_;
};

}  // namespace

void resolve_locations(DebugInfo& info, const source::SourceManager& sources) {
  LocationTable table(info, sources);
  for (FunctionDebug& f : info.functions)
    if (f.span) f.location = table.locate(f.span);
  for (InstructionDebug& i : info.instructions)
    if (i.span) i.location = table.locate(i.span);
}

}  // namespace rldb::bytecode
