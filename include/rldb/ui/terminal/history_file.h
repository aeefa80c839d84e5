// The history of entries across sessions: one entry per line, line breaks escaped, so that a multi-line entry is one
// item. Concurrent sessions append to the same file, under a lock; only its owner may read it. A damaged file is read
// as far as possible.
#pragma once

#include <string>
#include <vector>

namespace rldb::ui {

inline constexpr std::size_t kMaxHistory = 5000;
// A longer file loses its older half; a longer entry is kept for its session only.
inline constexpr std::size_t kMostHistoryBytes = std::size_t(4) << 20;
inline constexpr std::size_t kMostHistoryEntry = std::size_t(1) << 18;

std::vector<std::string> read_history_file(const std::string& path);
// Appends all of it or nothing. Returns why it could not, else empty: that costs the history, not the session.
std::string append_history_file(const std::string& path, const std::string& entry);

}  // namespace rldb::ui
