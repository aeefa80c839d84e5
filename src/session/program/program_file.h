// The bytes of a program's file. Room-private.
#pragma once

#include <string>

#include "rldb/source/diagnostic.h"

namespace rldb::session {

// False: diagnosed.
bool read_program_file(const std::string& path, std::string& bytes, source::Diagnostics& out);

}  // namespace rldb::session
