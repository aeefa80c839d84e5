// Exit codes of the program (docs/ui.md): scripts rely on them.
#pragma once

namespace rldb::ui {

enum ExitCode : int {
  kGood = 0,
  kFailed = 1,  // a check failed, values differ, or the program raised an error
  kUsage = 2,
  kBadText = 3,   // the text does not parse, type or verify
  kInternal = 4,  // a bug in rldb
  kTimeout = 124,
  kCannotTell = 125,
};

}  // namespace rldb::ui
