// The debug information that goes into a file: in terms of the text that the user wrote, not of its lowered form,
// since whoever debugs the file has no module to look things up in. Users: ui (`rldb build`, `:save`).
#pragma once

#include "rldb/session/session.h"

namespace rldb::debug {

// For a build of a module: instructions name the binding they serve (of several, the last one) and its place; registers
// carry the names of the user's variables, starting at the instruction that defines them.
bytecode::DebugInfo names_for_file(std::shared_ptr<const session::Build> build, session::Session& session);
// The session's program as the bytes of an executable, with these names. nullopt: diagnosed.
std::optional<std::string> executable_file(session::Session& session, source::Diagnostics& out);

}  // namespace rldb::debug
