// The report of a bug in rldb, in a folder of its own in the cache folder ($XDG_CACHE_HOME/rldb/internal-errors): a
// script that repeats what was asked, with the values it needs in files beside it. Users: the prompt, batch commands.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace rldb::session {
class Session;
}

namespace rldb::ui {

// Files and values larger than this are mentioned, not copied.
inline constexpr std::size_t kMostReportedBytes = std::size_t(64) << 20;

// The text with a `#` before each line.
std::string commented(std::string_view text);

// Writes the head and the text that `more` makes of the report's folder. The bug that broke rldb may break `more` too:
// then `last_resort` follows the head, which alone is worth having. The path of the report; empty: it could not be
// written.
std::string write_bug_report(const std::string& what, const std::string& last_resort,
                             const std::function<std::string(const std::string&)>& more);

// Of an entry: the script loads the session's module as it is now, names its values and repeats the entry.
std::string write_internal_error(session::Session& session, const std::string& what, const std::string& entry);

}  // namespace rldb::ui
