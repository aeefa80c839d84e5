// Helpers of the batch commands: one function per subcommand of subcommand.def (handlers.h), each in its own file.
#pragma once

#include <memory>
#include <string>

#include "rldb/runtime/tensor_file.h"
#include "rldb/session/session.h"
#include "rldb/ui/command_line/cli.h"
#include "rldb/ui/terminal/console.h"
#include "rldb/ui/terminal/exit_code.h"

namespace rldb::ui {

// Shared by the handlers.

// Opens a session with the line's options and plugins; null after diagnosing.
std::unique_ptr<session::Session> open_session(const CommandLine& line, Console& console);
// Loads a program of any kind and diagnoses; warnings and notes are printed too. A program is refused that lacks what
// the subcommand (its row) or an option of the line needs. The exit code; kGood: it is loaded.
int load(session::Session& session, const std::string& path, const CommandLine& line, Console& console);
// Prints diagnostics in the format of the line: text to the error stream, JSON to standard output.
void report(const source::Diagnostics& diagnostics, const source::SourceManager& sources, const CommandLine& line,
            Console& console);
int fail(const source::Diagnostics& diagnostics, const source::SourceManager& sources, const CommandLine& line,
         Console& console, int code);  // the same; returns the code
// For a diff that is written to standard output or standard error.
DiffOptions diff_options(const CommandLine& line, const Console& console, int fd);
// The instructions of the program's code; the exit code.
int print_listing(session::Session& session, const CommandLine& line, Console& console);
// Handles `--output` and `--expected-output`; returns the exit code.
int give_tensors(const std::vector<runtime::Value>& tensors, session::Session& session, const CommandLine& line,
                 Console& console);
// The tensors of an .npy or .npz file, by name. None: diagnosed.
std::optional<runtime::NamedTensors> read_expected(const std::string& path, source::Diagnostics& out);

}  // namespace rldb::ui
