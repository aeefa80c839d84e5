// The command line, parsed: plain structs, one for each command and one for all forms of the program. Only
// src/ui/command_line uses CLI11.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rldb/repro/partner.h"
#include "rldb/repro/settings.h"
#include "rldb/session/options.h"
#include "rldb/ui/render/text_diff.h"

namespace rldb::ui {

enum class Subcommand : std::uint8_t;  // subcommand.h; the first one is the prompt

enum class Format { Text, Json };
enum class Color { Auto, Always, Never };

struct PromptOptions {
  std::vector<std::pair<bool, std::string>> startup;  // (is a file: -x, else a command: -ex), in the order given
  bool batch = false;
  bool quiet = false;
  bool no_init = false;
  bool journal = false;  // even without a terminal
  bool resume = false;
  bool watch = false;                  // the file is read again whenever it is written
  std::vector<std::string> arguments;  // as given
};

struct CheckOptions {
  bool roundtrip = false;
};

struct OptOptions {
  // Names of passes, without options; "*" for all.
  std::vector<std::string> print_ir_before;
  std::vector<std::string> print_ir_after;
  bool print_ir_after_change = false;
  std::string print_changed;  // "", "diff", "cdiff", "quiet"
  bool validate_each = false;
  std::optional<int> bisect_limit;  // -1: all, and print the number of each pass
  std::string dump_ir_to;
  bool time_passes = false;
  // "": none; "-": text on standard error; else a file, .json, .svg or text by its name.
  std::string memory_report;
  std::string html;                    // a report of the pipeline; empty: none
  std::vector<std::string> rewriters;  // files of rewrite rules, applied before the passes
};

struct BuildOptions {
  bool optimise = false;
  bool standalone = false;  // a program
  std::string emit;         // the form, if the name does not say it
  std::string linker;
};

struct ProfileOptions {
  std::string tables;                 // "": none; "-": tables on standard error; else a file, .json or text by its name
  std::string trace, flame, memory;   // files; empty: none
  std::vector<std::string> simulate;  // devices and their costs
  std::size_t runs = 1;
  bool any() const {
    return !tables.empty() || !trace.empty() || !flame.empty() || !memory.empty() || !simulate.empty();
  }
};

struct RunOptions {
  std::size_t ranks = 1;   // workers that run the program
  std::size_t groups = 1;  // of ranks; it divides their number
  ProfileOptions profile;
  std::string record;  // a file for the run; empty: none
  repro::Sanitizers sanitizers;
};

struct CompareOptions {
  std::optional<session::Engine> other_engine;  // of the second program
  std::string other_passes;                     // of the second program, when `passes` are the first one's
  std::string recorded;                         // the folder of a recorded run of TVM
  bool shadow = false;                          // both sides against a run in float64
};

struct BisectOptions {
  std::vector<std::string> traces;  // folders of IR files, pass by pass
  std::string original;             // of a folder: the module before its first pass
  bool by_kernel = false;           // the kernel that the JIT compiles incorrectly
};

struct ReduceOptions {
  bool keep_defined = false;  // no candidates with accesses out of bounds
  std::string onnx;           // a file for the smallest ONNX model; empty: none
  std::string test_model;     // a command that is given the file of an ONNX model
};

struct FuzzOptions {
  bool relay = false;  // programs of Relay
  std::size_t programs = 0;
  bool coverage = false;                  // a histogram of what the programs reach
  std::vector<std::string> seed_folders;  // modules to start from
  std::string write_to;                   // a folder for the programs with inputs and values
};

struct TestOptions {
  bool bless = false;
  bool update_only_output = false;
  bool git_bisect = false;  // exit codes for `git bisect run`
};

struct JupyterOptions {
  std::string prefix;  // below which `install` writes; empty: the user's own folder
};

struct DapOptions {
  std::optional<std::uint16_t> port;  // of loopback, instead of the standard streams; 0: a free one
};

struct CommandLine {
  Subcommand subcommand{};
  std::vector<std::string> files;
  session::Options options;  // engine, dims, seed, tolerance, fp, bounds, syntax, ...
  std::string cache;         // --cache: a folder, "off", or empty for the default
  std::vector<std::string> plugins;
  Format format = Format::Text;
  Color color = Color::Auto;
  double timeout = 0;          // seconds, of a batch command or of each entry; 0: none
  std::size_t max_memory = 0;  // bytes; 0: the default
  bool trust_scripts = false;  // scripts sourced by others may run a shell and load libraries

  // Of several commands.
  std::string function;  // empty: main, or all
  std::vector<std::string> inputs;
  std::string passes;
  std::string output;
  std::string expected_output;
  std::string expected;                   // values of another framework, beside an ONNX model
  std::optional<DiffLayout> diff_layout;  // nullopt: by the width of the terminal
  repro::Tolerances tolerances;
  repro::OracleKind oracle = repro::OracleKind::Any;
  std::string test_command;
  repro::MemoryLimit memory_limit;
  repro::TimeLimit time_limit;
  repro::PartnerOptions partner;  // without a command: none
  unsigned jobs = 1;
  double seconds = 0;      // for the whole work; 0: no limit
  std::string save_repro;  // a script that reproduces the fault
  std::string tvm_script;  // the same in Python, for TVM

  // Of one command each.
  PromptOptions prompt;
  CheckOptions check;
  OptOptions opt;
  BuildOptions build;
  RunOptions run;
  CompareOptions compare;
  BisectOptions bisect;
  ReduceOptions reduce;
  FuzzOptions fuzz;
  TestOptions test;
  JupyterOptions jupyter;
  DapOptions dap;
};

// Empty optional: `exit_code` is the exit code (help and version were printed, or usage was wrong).
std::optional<CommandLine> parse_command_line(int argc, char** argv, int& exit_code);

// The batch command that a word may have been meant to be; empty: none.
std::string_view nearest_subcommand(std::string_view word);

}  // namespace rldb::ui
