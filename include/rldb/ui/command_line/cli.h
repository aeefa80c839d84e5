// The command line, parsed: one plain struct for all forms of the program. Only cli.cc uses CLI11.
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

  // the prompt
  std::vector<std::pair<bool, std::string>> startup;  // (is a file: -x, else a command: -ex), in the order given
  bool batch = false;
  bool quiet = false;
  bool no_init = false;
  bool trust_scripts = false;  // scripts sourced by others may run a shell and load libraries
  bool journal = false;        // even without a terminal
  bool resume = false;
  bool watch = false;                  // the file is read again whenever it is written
  std::vector<std::string> arguments;  // as given

  // check, print, diff
  bool roundtrip = false;
  std::string function;                   // empty: main, or all
  std::optional<DiffLayout> diff_layout;  // of diff, opt and bisect; nullopt: by the width of the terminal
  // opt
  std::string passes;
  std::string output;
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
  // build
  bool optimise = false;
  bool standalone = false;  // build: a program
  std::string emit;         // build: the form, if the name does not say it
  std::string linker;
  // run
  std::vector<std::string> inputs;
  std::string expected_output;
  std::size_t ranks = 1;   // workers that run the program
  std::size_t groups = 1;  // of ranks; it divides their number
  std::string profile;     // "": none; "-": tables on standard error; else a file, .json or text by its name
  std::string profile_trace, profile_flame, profile_memory;  // files; empty: none
  std::size_t profile_runs = 1;
  std::string record;  // a file for the run; empty: none
  bool profiles() const {
    return !profile.empty() || !profile_trace.empty() || !profile_flame.empty() || !profile_memory.empty();
  }
  // compare, bisect, reduce
  repro::Tolerances tolerances;
  std::optional<session::Engine> other_engine;  // of the second program
  std::string other_passes;                     // of the second program, when `passes` are the first one's
  std::vector<std::string> traces;              // folders of IR files, pass by pass
  std::string original;                         // of a folder: the module before its first pass
  repro::OracleKind oracle = repro::OracleKind::Any;
  std::string test_command;
  repro::MemoryLimit memory_limit;
  repro::PartnerOptions partner;  // of fuzz and reduce; without a command: none
  unsigned jobs = 1;
  double seconds = 0;                     // for the whole work; 0: no limit
  std::size_t programs = 0;               // of fuzz
  bool coverage = false;                  // fuzz: a histogram of what the programs reach
  std::vector<std::string> seed_folders;  // fuzz: modules to start from
  std::string write_to;                   // fuzz: a folder for the programs with inputs and values
  std::string save_repro;                 // a script that reproduces the fault
  std::string tvm_script;                 // the same in Python, for TVM
  bool keep_defined = false;              // reduce: no candidates with accesses out of bounds
  bool by_kernel = false;                 // bisect: the kernel that the JIT compiles incorrectly
  std::string expected;                   // compare, reduce: values of another framework, beside an ONNX model
  std::string onnx_output;                // reduce: a file for the smallest ONNX model; empty: none
  std::string test_model;                 // reduce: a command that is given the file of an ONNX model
  std::string recorded;                   // compare: the folder of a recorded run of TVM
  bool shadow = false;                    // compare: both sides against a run in float64
  repro::Sanitizers sanitizers;
  // jupyter
  std::string prefix;  // below which `install` writes; empty: the user's own folder
  // test
  bool bless = false;
  bool update_only_output = false;
  bool git_bisect = false;  // exit codes for `git bisect run`
  // dap
  std::optional<std::uint16_t> port;  // of loopback, instead of the standard streams; 0: a free one
};

// Empty optional: `exit_code` is the exit code (help and version were printed, or usage was wrong).
std::optional<CommandLine> parse_command_line(int argc, char** argv, int& exit_code);

// The batch command that a word may have been meant to be; empty: none.
std::string_view nearest_subcommand(std::string_view word);

}  // namespace rldb::ui
