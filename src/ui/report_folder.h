// Where reports are written that nobody asked for: a new folder below the user's cache folder (XDG), not the working
// folder.
#pragma once

#include <string>
#include <string_view>

namespace rldb::ui {

// `kind`: `internal-errors`, `failed-passes`. Empty when no folder could be made.
std::string new_report_folder(std::string_view kind);

}  // namespace rldb::ui
