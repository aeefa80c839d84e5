// The Relay VM on the command line: `rldb check`, `rldb print` and `rldb run` on its executables, and `rldb run` on
// Relay text.
#pragma once

#include <optional>
#include <string>

#include "rldb/relay/bytecode/executable.h"
#include "ui/batch/batch.h"

namespace rldb::ui {

struct RelayProgram;  // ui/batch/relay.h

// The file's bytes when it is an executable of the Relay VM, recognised by its version; nullopt for other files.
std::optional<std::string> relay_executable_bytes(const std::string& path);
// None: diagnosed.
std::optional<relay_bytecode::Executable> load_relay_executable(const std::string& path, const std::string& bytes,
                                                                source::Diagnostics& out);
int batch_print_relay_executable(const std::string& bytes, const CommandLine& line, Console& console);
int batch_run_relay(RelayProgram& relay, const source::Diagnostics& read, const CommandLine& line, Console& console);
// `rldb opt`: passes of the machine's compiler.  `rldb build`, `rldb disasm`: the executable and its listing.
int batch_opt_relay(RelayProgram& relay, source::Diagnostics& found, const CommandLine& line, Console& console);
// `rldb bisect --passes`: which of those passes changes values, and which of its rewrites.
int batch_bisect_relay(RelayProgram& relay, source::Diagnostics& found, const CommandLine& line, Console& console);
int batch_build_relay(RelayProgram& relay, source::Diagnostics& found, const CommandLine& line, Console& console,
                      bool listing);
int batch_run_relay_executable(const std::string& bytes, const CommandLine& line, Console& console);

}  // namespace rldb::ui
