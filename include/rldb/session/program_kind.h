// Kinds of programs and their abilities: the rows of program_kind.def, and the sentence that refuses a program which
// lacks one. Whoever offers something that not every program can do asks here, so that all refusals say the same.
// Users: session, ui (the column `needs` of the commands, options of batch commands).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rldb/source/diagnostic.h"

namespace rldb::session {

class Session;

enum class Ability : std::uint8_t {
#define RLDB_ABILITY(id, phrase) id,
#include "rldb/session/program_kind.def"
};

// Abilities as a set.
enum AbilitySet : unsigned {
  kNothing = 0,
#define RLDB_ABILITY(id, phrase) k##id = 1U << unsigned(Ability::id),
#include "rldb/session/program_kind.def"
};

enum class ProgramKind : std::uint8_t {
#define RLDB_PROGRAM_KIND(id, phrase, abilities, gives) id,
#include "rldb/session/program_kind.def"
};

std::string_view to_string(ProgramKind kind);
bool has_abilities(ProgramKind kind, unsigned needs);

// Why `what` (a command, an option) cannot work on a program of this kind, with what would help; nullopt: it can.
std::optional<source::Message> missing_ability(std::string_view what, unsigned needs, ProgramKind kind,
                                               std::string_view path);
// The same for the session's program; that none is loaded is a reason too.
std::optional<source::Message> missing_ability(std::string_view what, unsigned needs, const Session& session);

}  // namespace rldb::session
