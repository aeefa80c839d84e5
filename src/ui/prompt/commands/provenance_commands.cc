// Where memory was written, what an element reached, which pass made a binding.
#include "rldb/ui/prompt/provenance_data.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/at_rank.h"

namespace rldb::ui {

namespace {

Status print_lines(Repl& repl, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) repl.print("{}\n", line);
  return Status::Good;
}

}  // namespace

Status command_Influence(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  const AtRank rank(repl, rest, AtRank::About::Past);
  if (rank.failed()) return Status::Failed;
  source::Diagnostics diagnostics;
  const auto influence = debug::influence_of(repl.debugger(), rest, repl.frame(), diagnostics);
  if (repl.report(diagnostics) == Status::Failed || !influence) return Status::Failed;
  return repl.wants_json() ? repl.give(influence_json(*influence)) : print_lines(repl, debug::lines_of(*influence));
}

Status command_Writes(Repl& repl, std::string_view rest) {
  constexpr std::string_view kEach = "-a ";
  const bool each = rest.starts_with(kEach);
  if (each) rest = trim(rest.substr(kEach.size()));
  if (rest.empty()) return Status::Usage;
  const AtRank rank(repl, rest, AtRank::About::Past);
  if (rank.failed()) return Status::Failed;
  source::Diagnostics diagnostics;
  const auto writes = debug::writes_to(repl.debugger(), rest, each, repl.frame(), diagnostics);
  if (repl.report(diagnostics) == Status::Failed || !writes) return Status::Failed;
  return repl.wants_json() ? repl.give(writes_json(*writes)) : print_lines(repl, debug::lines_of(*writes));
}

Status command_Blame(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  source::Diagnostics diagnostics;
  const auto blame = debug::blame(repl.debugger(), rest, repl.frame(), diagnostics);
  if (repl.report(diagnostics) == Status::Failed || !blame) return Status::Failed;
  return repl.wants_json() ? repl.give(blame_json(*blame)) : print_lines(repl, debug::lines_of(*blame));
}

}  // namespace rldb::ui
