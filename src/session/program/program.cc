// Versions and passes of programs of any kind.
#include "rldb/session/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/bytecode/disassemble.h"
#include "rldb/passes/pass.h"
#include "rldb/session/session.h"

namespace rldb::session {

const Bookmarks& Program::bookmarks() const {
  static const Bookmarks none;
  return none;
}

// Those of Relax: what an executable was built with, and what `:passes` lists while there is no program.
std::vector<PassRow> relax_passes() {
  std::vector<PassRow> rows;
  for (const passes::PassInfo& p : passes::all_passes()) rows.push_back({p.name, {}, p.options, p.doc});
  return rows;
}

std::vector<PipelineRow> relax_pipelines() {
  std::vector<PipelineRow> rows;
  for (const passes::PipelineInfo& p : passes::named_pipelines()) rows.push_back({p.name, p.passes, p.doc});
  return rows;
}

std::vector<PassRow> Program::passes() const { return relax_passes(); }
std::vector<PipelineRow> Program::pipelines() const { return relax_pipelines(); }

// In whatever order the others were applied; a pass that occurs twice in the build is applied twice.
std::string Program::next_pass() const {
  std::vector<std::string> applied;
  for (std::size_t v = 1; v <= position(); ++v) {
    const Version made = version(v);
    if (made.by == Version::By::Edit)
      applied.clear();
    else
      applied.push_back(made.pass.substr(0, made.pass.find('(')));
  }
  for (const std::string& pass : minimum()) {
    const auto at = std::find(applied.begin(), applied.end(), pass.substr(0, pass.find('(')));
    if (at == applied.end()) return pass;
    applied.erase(at);
  }
  return {};
}

std::string Program::version_name(std::size_t number) const {
  const Version made = version(number);
  return fmt::format("version {} ({})", number,
                     made.by == Version::By::Pass   ? made.pass
                     : made.by == Version::By::Edit ? "edited"
                                                    : "loaded");
}

std::string Program::listing(const Build& build) const { return bytecode::as_text(*build.executable); }

}  // namespace rldb::session
