// Options of the command line: what several commands share, and those of each command.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "rldb/ui/command_line/cli.h"

namespace rldb::ui {

// The words of --engine.
const std::map<std::string, session::Engine>& engine_words();

// --format, --color, --timeout, --max-memory: of every command.
void add_common(CLI::App& app, CommandLine& c);
void add_syntax(CLI::App& app, CommandLine& c);
void add_check_bounds(CLI::App& app, CommandLine& c);
void add_run_options(CLI::App& app, CommandLine& c);
// Of ONNX models.
void add_model_options(CLI::App& app, CommandLine& c);
// Durations, as far as a clock goes.
CLI::Validator seconds();
// From 0 on, or at most so large.
CLI::Validator whole_number(std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
// Refuses the names of models, as which modules are not written.
CLI::Validator name_of_text();
// Values of another framework, for an ONNX model.
CLI::Option* add_expected(CLI::App& app, CommandLine& c);
// The smallest ONNX model of a reduction.
void add_onnx_output(CLI::App& app, CommandLine& c);
void add_to_relax(CLI::App& app, CommandLine& c);
void add_trust_scripts(CLI::App& app, CommandLine& c);
void add_diff_layout(CLI::App& app, CommandLine& c);
void add_tolerances(CLI::App& app, CommandLine& c);
// One tolerance for all dtypes, from the session's options.
void add_tolerance(CLI::App& app, CommandLine& c);
void add_inputs(CLI::App& app, CommandLine& c);
void add_save_repro(CLI::App& app, CommandLine& c);
void add_tvm_script(CLI::App& app, CommandLine& c);
// A partner, started and limited alike by both commands that ask one.
void add_partner(CLI::App& app, CommandLine& c, const char* name, const char* doc);
// Options that choose an oracle; returns those that apply to a pipeline.
std::vector<CLI::Option*> add_oracle(CLI::App& app, CommandLine& c);

// All options of a batch command (command_options.cc).
void add_command_options(Subcommand id, CLI::App& app, CommandLine& c);

}  // namespace rldb::ui
