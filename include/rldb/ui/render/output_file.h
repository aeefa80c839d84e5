// Output of a command that names a file, or standard output. Users: batch commands, commands of the prompt.
#pragma once

#include <string>
#include <string_view>

#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

// Writes to a file, or to standard output when `path` is empty or "-". False: diagnosed.
bool write_output(const std::string& path, std::string_view text, Console& console);

}  // namespace rldb::ui
