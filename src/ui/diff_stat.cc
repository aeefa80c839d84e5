#include "ui/diff_stat.h"

#include <algorithm>

#include "rldb/support/cancel.h"

namespace rldb::ui {

std::string function_text(const ir::Module* module, const std::string& name, const ir::PrintOptions& print) {
  const ir::Expr* f = module->find(name);
  return f ? ir::print_function(name, f, print) : std::string();
}

std::vector<DiffStat> diff_stat(const ir::Module* before, const ir::Module* after,
                                const std::vector<std::string>& functions, const ir::PrintOptions& print) {
  std::vector<DiffStat> stats;
  for (const std::string& name : functions) {
    support::poll();
    stats.push_back({name, count_diff(function_text(before, name, print), function_text(after, name, print)),
                     !before->find(name), !after->find(name)});
  }
  return stats;
}

std::vector<std::string> changed_functions(const ir::Module* before, const ir::Module* after) {
  std::vector<std::string> names;
  for (const ir::ModuleEntry& entry : before->entries)
    if (after->find(entry.name) != entry.function) names.emplace_back(entry.name);
  for (const ir::ModuleEntry& entry : after->entries)
    if (!before->find(entry.name)) names.emplace_back(entry.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace rldb::ui
