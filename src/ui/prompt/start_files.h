// Files read when a session starts: the user's own init file and saved settings, and a project's `.rldbrc`, which is
// read only if the user has trusted that very text.
#pragma once

#include <string>
#include <string_view>

namespace rldb::ui {

class Repl;

// `$XDG_CONFIG_HOME/rldb/NAME`, or below `~/.config`; empty: there is no such folder.
std::string config_file(std::string_view name);
// Saved settings, the init files, the project's file.
void read_start_files(Repl& repl);
// False: it could not be written, for the reason in `why`.
bool save_setting(std::string_view name, std::string_view value, std::string& why);
bool trust_folder(std::string& trusted, std::string& why);

}  // namespace rldb::ui
