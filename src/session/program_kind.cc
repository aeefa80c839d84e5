// Kinds of programs: which one a session holds, and refusals.
#include "rldb/session/program_kind.h"

#include <iterator>

#include "rldb/session/relay_machine.h"
#include "rldb/source/diagnostic_ability.h"
#include "rldb/source/diagnostic_program.h"

namespace rldb::session {

namespace {

constexpr std::string_view kAbilityPhrases[] = {
#define RLDB_ABILITY(id, phrase) phrase,
#include "rldb/session/program_kind.def"
};

struct KindRow {
  std::string_view phrase;
  unsigned abilities;
  std::string_view gives;
};
constexpr KindRow kKinds[] = {
#define RLDB_PROGRAM_KIND(id, phrase, abilities, gives) {phrase, abilities, gives},
#include "rldb/session/program_kind.def"
};

const KindRow& row(ProgramKind kind) { return kKinds[std::size_t(kind)]; }

}  // namespace

std::string_view to_string(ProgramKind kind) { return row(kind).phrase; }

bool has_abilities(ProgramKind kind, unsigned needs) { return (needs & ~row(kind).abilities) == 0; }

std::optional<ProgramKind> program_kind(Session& session) {
  if (session.module()) return ProgramKind::RelaxText;
  if (!session.has_executable()) return std::nullopt;
  Diagnostics ignored;  // the view was made when it was loaded
  const auto build = session.viewable(ignored);
  if (!build || !is_on_relay_machine(*build)) return ProgramKind::RelaxExecutable;
  return relay_history(session) ? ProgramKind::RelayText : ProgramKind::RelayExecutable;
}

std::optional<source::Message> missing_ability(std::string_view what, unsigned needs, ProgramKind kind,
                                               std::string_view path) {
  for (std::size_t i = 0; i < std::size(kAbilityPhrases); ++i) {
    const unsigned ability = 1U << i;
    if ((needs & ability) == 0 || has_abilities(kind, ability)) continue;
    return source::message(diag::AbilityMissing, what, kAbilityPhrases[i], path, row(kind).phrase)
        .with_hint(std::string(row(kind).gives));
  }
  return std::nullopt;
}

std::optional<source::Message> missing_ability(std::string_view what, unsigned needs, Session& session) {
  const auto kind = program_kind(session);
  if (!kind) return source::message(diag::NoProgram);
  return missing_ability(what, needs, *kind, session.program_path());
}

}  // namespace rldb::session
