// Kinds of programs: refusals.
#include "rldb/session/program_kind.h"

#include <iterator>

#include "rldb/session/session.h"
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

std::optional<source::Message> missing_ability(std::string_view what, unsigned needs, const Session& session) {
  const Program* program = session.program();
  if (!program) return source::message(diag::NoProgram);
  return missing_ability(what, needs, program->kind(), program->path());
}

}  // namespace rldb::session
