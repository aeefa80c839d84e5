// Given values of dims against the symbols that the program has. Users: what starts runs with `--dim`.
#pragma once

#include "rldb/source/diagnostic.h"

namespace rldb::session {

class Session;

// False: a value is given for a dim that occurs nowhere in the program, which is reported: it would decide nothing.
bool has_given_dims(const Session& session, source::Diagnostics& out);

}  // namespace rldb::session
