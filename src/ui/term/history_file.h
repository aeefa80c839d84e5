// The history of entries across sessions: one entry a line, line breaks escaped, so that a multi-line entry is one
// item.
#pragma once

#include <string>
#include <vector>

namespace rldb::ui {

inline constexpr std::size_t kMaxHistory = 5000;
std::vector<std::string> read_history_file(const std::string& path);
// Appends; a file that cannot be written costs the history, not the session.
void append_history_file(const std::string& path, const std::string& entry);

}  // namespace rldb::ui
