// A module made by printing and reading: in the form that the front end gives. Room-private.
#pragma once

#include <string>

#include "rldb/session/session.h"

namespace rldb::repro {

// Null: it is no program.
const ir::Module* read_again(session::Session& session, std::string text);

}  // namespace rldb::repro
