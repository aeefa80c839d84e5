// The debug information that goes into a file: in the words of the text that the user wrote, not of what it was lowered
// to. Whoever debugs the file has no module to look that up in. Users: ui (`rldb build`, `:save`).
#pragma once

#include "rldb/session/session.h"

namespace rldb::debug {

// Of a build of a module: instructions say the binding they serve (of several, the last one) and its place; registers
// have the names of the user's variables from the instruction on that makes them.
bytecode::DebugInfo names_for_file(std::shared_ptr<const session::Build> build, session::Session& session);
// The session's program as the bytes of an executable, with these names. Nothing: diagnosed.
std::optional<std::string> executable_file(session::Session& session, source::Diagnostics& out);

}  // namespace rldb::debug
