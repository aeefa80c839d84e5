#include "rldb/bytecode/builtin.h"

#include <algorithm>
#include <array>
#include <vector>

#include "rldb/bytecode/builtin_id.h"

namespace rldb::bytecode {
namespace {

constexpr BuiltinInfo kTable[] = {
#define RLDB_BUILTIN(id, name, min_args, max_args, effect, arguments, doc) \
  {BuiltinId::id, name, min_args, max_args, BuiltinEffect::effect, arguments, doc},
#include "rldb/bytecode/builtin.def"
};

std::vector<const BuiltinInfo*> sorted_by_name() {
  std::vector<const BuiltinInfo*> rows;
  for (const BuiltinInfo& row : kTable) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(), [](const BuiltinInfo* a, const BuiltinInfo* b) { return a->name < b->name; });
  return rows;
}

}  // namespace

std::span<const BuiltinInfo> builtins() { return kTable; }

const BuiltinInfo& info(BuiltinId id) { return kTable[std::size_t(id)]; }

std::optional<BuiltinId> find_builtin(std::string_view name) {
  static const std::vector<const BuiltinInfo*> rows = sorted_by_name();
  auto it = std::lower_bound(rows.begin(), rows.end(), name,
                             [](const BuiltinInfo* row, std::string_view wanted) { return row->name < wanted; });
  if (it == rows.end() || (*it)->name != name) return std::nullopt;
  return (*it)->id;
}

}  // namespace rldb::bytecode
