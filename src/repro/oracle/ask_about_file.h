// A test command that is given a file of any name. Room-private.
#pragma once

#include "rldb/repro/oracle.h"

namespace rldb::repro {

CommandAnswer ask_about_file(const std::string& command, std::string_view bytes, std::string_view file_name);

}  // namespace rldb::repro
