// Scripts among files: entries and their replies (.session), or entries alone (.rldb). Other files are programs.
#pragma once

#include <string_view>

namespace rldb::ui {

inline bool is_script_path(std::string_view path) { return path.ends_with(".session") || path.ends_with(".rldb"); }

}  // namespace rldb::ui
