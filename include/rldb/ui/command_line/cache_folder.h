// Folders below the user's cache folder (XDG), for files written unasked: compiled kernels, reports.
#pragma once

#include <string>
#include <string_view>

namespace rldb::ui {

// `$XDG_CACHE_HOME/rldb/KIND`, or below `~/.cache`. Nothing is created. Empty when the user has neither.
std::string cache_folder(std::string_view kind);

// Where the peak rates of this machine are kept (debug/profile.h), made if necessary. Empty: nowhere, by `--cache=off`
// or in tests.
std::string peak_rates_folder(std::string_view cache);

// A new folder below that one, named by the time; below /tmp when there is no cache folder. `kind` is
// "internal-errors", "failed-passes" or "faults". The last 50 of each kind are kept. Empty when no folder could be
// created.
std::string new_report_folder(std::string_view kind);

// Creates a folder and those above it, for this user alone. False: one of them cannot be created.
bool make_folders(const std::string& path);

}  // namespace rldb::ui
