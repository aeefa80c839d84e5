// Versions and passes of programs of any kind.
#include "rldb/session/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/bytecode/disassemble.h"
#include "rldb/passes/pass.h"
#include "rldb/session/session.h"

namespace rldb::session {

namespace {

constexpr std::string_view kMinimum = "minimum";  // of either language

}  // namespace

Version Program::version(std::size_t v) const {
  if (v == 0) return {};
  if (history_.is_edit(v)) return {Version::By::Edit, {}, {}, 0};
  const pipeline::Record& r = history_.record(v);
  return {Version::By::Pass, pipeline::to_string(r.pass), r.changed, r.nanoseconds};
}

const pipeline::PassTable& passes_of(const Program* program) {
  return program ? program->passes() : passes::pass_table();
}

const pipeline::PassTable& Program::passes() const { return passes::pass_table(); }

bool Program::run_passes(std::string_view text, Diagnostics& out, const pipeline::Instruments& instruments) {
  const auto parsed = pipeline::parse(passes(), text, session_.sources(), out);
  return parsed && run(*parsed, out, instruments);
}

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
  const auto minimum = pipeline::parse(passes(), kMinimum);
  for (const pipeline::Invocation& pass : *minimum) {
    const auto at = std::find(applied.begin(), applied.end(), pass.name());
    if (at == applied.end()) return pipeline::to_string(pass);
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
