// Relay programs on the command line: `rldb check`, `rldb print` and `rldb diff` on them.
#pragma once

#include <memory>
#include <string>

#include "rldb/frontend/relay.h"
#include "rldb/relay/ops/infer.h"
#include "ui/batch/batch.h"

namespace rldb::ui {

// A program and what keeps it alive.
struct RelayProgram {
  relay::Context ctx;
  source::SourceManager sources;
  frontend::RelayResult parsed;
  relay::Typing typing;  // of a module; a lone expression is not typed, as in TVM
};

// Null when the file is not a Relay text, or cannot be read: then the session reports it. `module` is null after
// errors.
std::unique_ptr<RelayProgram> read_relay(const std::string& path, source::Diagnostics& out);
// The same for running: on top of the prelude when the text uses it.
std::unique_ptr<RelayProgram> read_relay_program(const std::string& path, source::Diagnostics& out);
// The problem when the program is printed and read again; empty: none.
std::string relay_roundtrip(const RelayProgram& program);

int batch_print_relay(const RelayProgram& program, const source::Diagnostics& found, const CommandLine& line,
                      Console& console);
int batch_diff_relay(const CommandLine& line, Console& console);
bool is_relay_file(const std::string& path);
// Is either of the two files of `rldb diff` a Relay text?
bool any_is_relay(const CommandLine& line);

}  // namespace rldb::ui
