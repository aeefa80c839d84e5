// Does a script that was just written fail for the fault that it describes?
#pragma once

#include <string>

#include "rldb/ui/command_line/cli.h"

namespace rldb::ui {

struct ScriptVerdict {
  bool shows_fault = false;  // an `:expect not` failed
  std::string output;        // the entries and their replies
};
ScriptVerdict verdict_of_script(const CommandLine& line, const std::string& path);

}  // namespace rldb::ui
