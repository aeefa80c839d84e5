// A module made by printing and parsing: in the form that the front end produces. Room-private.
#pragma once

#include <string>

#include "rldb/session/session.h"

namespace rldb::repro {

// Null: it is not a program.
const ir::Module* read_again(session::Session& session, std::string text);
// The same for a program that breaks rules.
const ir::Module* read_again_unchecked(session::Session& session, std::string text);

}  // namespace rldb::repro
