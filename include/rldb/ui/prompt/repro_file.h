// A file that reproduces a fault: a script for `rldb test` with everything on which the run depends. The symptom is
// written as `:expect not ...`, so that the test fails, with exit code 1, for as long as the fault exists.
//
// Batch commands and the prompt fill in the parts; the text is made here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/repro/tensor_difference.h"
#include "rldb/session/session.h"
#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

struct ReproFile {
  std::string seen;  // the symptom, for the reader; its first lines are written
  std::uint64_t seed = 0;
  std::vector<std::string> settings;      // entries, before the module is loaded
  std::string module;                     // its text; empty: there is none
  std::string module_name;                // the name used in breakpoint places; empty: there are none
  std::vector<std::string> before;        // entries that bring the module to its former state
  std::vector<session::Argument> values;  // by their names
  std::string entry;                      // the one that shows the fault
  std::vector<std::string> expectations;  // of it
};

// The text of a module with everything that it requires.
std::string module_text(const ir::Module* module, ir::PrintOptions print);
// An entry followed by lines of its own: `:load <<END`.
std::string with_document(const std::string& entry, std::string_view text);
// Entries that set options that differ from a new session.
std::vector<std::string> settings_of(const session::Options& options);
// ` --rtol=1e-3`: as options of the commands that compare.
std::string tolerance_flags(const repro::Tolerances& tolerances);
// `:expect not error "..."` for the first line of a message.
std::string not_error(std::string_view message);

// The text of a script without values.
std::string script_of(const ReproFile& repro);
// Writes it to a file, and values too big for text to an .npz beside it. False: diagnosed.
bool write_repro(const std::string& path, const ReproFile& repro, Console& console);
// Writes it to a folder of its own below the user's cache folder: for a fault saved unasked. Prints its path.
void keep_repro(std::string_view kind, const ReproFile& repro, Console& console);

}  // namespace rldb::ui
