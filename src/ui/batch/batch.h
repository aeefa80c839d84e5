// Batch commands: one function a subcommand of subcommand.def, each in its own file. They return the exit code.
#pragma once

#include <memory>
#include <string>

#include "rldb/runtime/tensor_file.h"
#include "rldb/session/session.h"
#include "ui/cli.h"
#include "ui/console.h"
#include "ui/exit_code.h"

namespace rldb::ui {

#define RLDB_SUBCOMMAND(id, name, handler, usage, doc) int handler(const CommandLine& line, Console& console);
#include "rldb/ui/subcommand.def"

// Shared by the handlers.

// A session with the line's options and plugins; null after diagnosing.
std::unique_ptr<session::Session> open_session(const CommandLine& line, Console& console);
// Loads and diagnoses; warnings and notes are printed too. False: exit with kBadText (kUsage when it cannot be read).
bool load(session::Session& session, const std::string& path, const CommandLine& line, Console& console);
// Diagnostics in the format of the line: text to the error stream, JSON to standard output.
void report(const source::Diagnostics& diagnostics, const session::Session& session, const CommandLine& line,
            Console& console);
// For a difference that is written to standard output or standard error.
DiffOptions diff_options(const CommandLine& line, const Console& console, int fd);
// To a file, or standard output when `path` is empty or "-". False: diagnosed.
bool write_output(const std::string& path, std::string_view text, Console& console);
// `--output` and `--expected-output`: the exit code.
int give_tensors(const std::vector<runtime::Value>& tensors, session::Session& session, const CommandLine& line,
                 Console& console);
// The tensors of an .npy or .npz file, by name. None: diagnosed.
std::optional<runtime::NamedTensors> read_expected(const std::string& path, source::Diagnostics& out);
// `1.5 ms`, `12 us`.
std::string format_duration(std::uint64_t nanoseconds);

}  // namespace rldb::ui
