#include "rldb/ui/render/diff_stat.h"

#include "rldb/support/cancel.h"

namespace rldb::ui {

std::string function_text(const ir::Module* module, const std::string& name, const ir::PrintOptions& print) {
  const ir::Expr* f = module->find(name);
  return f ? ir::print_function(name, f, print) : std::string();
}

std::vector<DiffStat> diff_stat(const session::Program& program, std::size_t before, std::size_t after,
                                const std::vector<std::string>& functions) {
  std::vector<DiffStat> stats;
  for (const std::string& name : functions) {
    support::poll();
    const auto a = program.text(before, session::TextFor::Comparing, name);
    const auto b = program.text(after, session::TextFor::Comparing, name);
    stats.push_back({name, count_diff(a.value_or(""), b.value_or("")), !a, !b});
  }
  return stats;
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

}  // namespace rldb::ui
