#include "rldb/ui/render/diff_stat.h"

#include "rldb/support/cancel.h"

namespace rldb::ui {

std::vector<DiffStat> diff_stat(const session::Program& program, pipeline::ModuleRef before, pipeline::ModuleRef after,
                                const std::vector<std::string>& functions) {
  std::vector<DiffStat> stats;
  for (const std::string& name : functions) {
    support::poll();
    const auto a = program.text_of(before, session::TextFor::Comparing, name);
    const auto b = program.text_of(after, session::TextFor::Comparing, name);
    stats.push_back({name, count_diff(a.value_or(""), b.value_or("")), !a, !b});
  }
  return stats;
}

}  // namespace rldb::ui
