// Folders below the user's cache folder (XDG), for what nobody asked to be written: compiled kernels, reports.
#pragma once

#include <string>
#include <string_view>

namespace rldb::ui {

// `$XDG_CACHE_HOME/rldb/KIND`, or below `~/.cache`. Nothing is created. Empty when the user has neither.
std::string cache_folder(std::string_view kind);

// A new folder below that one, named by the time; below /tmp when there is no cache folder. `kind`: `internal-errors`,
// `failed-passes`, `faults`. Of a kind the last 50 are kept. Empty when no folder could be made.
std::string new_report_folder(std::string_view kind);

// Makes a folder and those above it, for this user alone. False: one of them cannot be made.
bool make_folders(const std::string& path);

}  // namespace rldb::ui
