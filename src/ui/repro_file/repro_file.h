// A file that shows a fault again: a script for `rldb test` with all that the run depends on. What was seen is in it as
// `:expect not ...`, so that the test fails, with exit code 1, for as long as the fault is there.
//
// Batch commands and the prompt fill in the parts; the text is made here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/repro/tensor_difference.h"
#include "rldb/session/session.h"
#include "ui/console.h"

namespace rldb::ui {

struct ReproFile {
  std::string seen;                       // what was found, for the reader
  std::vector<std::string> settings;      // entries, before the module is loaded
  std::string module;                     // its text; empty: there is none
  std::string module_name;                // what places of breakpoints call it; empty: nothing does
  std::vector<std::string> before;        // entries that make of the module what it was
  std::vector<session::Argument> values;  // by their names
  std::string entry;                      // that shows the fault
  std::vector<std::string> expectations;  // of it
};

// The text of a module with everything that it needs.
std::string module_text(const ir::Module* module, ir::PrintOptions print);
// An entry with lines of its own behind it: `:load <<END`.
std::string with_document(const std::string& entry, std::string_view text);
// Entries that set what is not as in a new session.
std::vector<std::string> settings_of(const session::Options& options);
// ` --rtol=1e-3`: as options of the commands that compare.
std::string tolerance_flags(const repro::Tolerances& tolerances);
// `:expect not error "..."` of the first line of a message.
std::string not_error(std::string_view message);

// The text of a script without values.
std::string script_of(const ReproFile& repro);
// To a file, and values that are too big for a text to an .npz beside it. False: diagnosed.
bool write_repro(const std::string& path, const ReproFile& repro, Console& console);
// In a folder of its own below the user's cache folder: for a fault that nobody had asked to keep. Tells its path.
void keep_repro(std::string_view kind, const ReproFile& repro, Console& console);

}  // namespace rldb::ui
