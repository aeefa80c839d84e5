// The command line, parsed with CLI11: subcommands, options, and the struct that they fill. One file: commands share
// most of their options, which stand beside each other here.
#include "rldb/ui/command_line/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <sstream>

#include "rldb/repro/oracle.h"
#include "rldb/repro/sanitize.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/runtime/threads.h"
#include "rldb/source/diagnostic.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/support/file.h"
#include "rldb/ui/command_line/cache_folder.h"
#include "rldb/ui/command_line/subcommand.h"
#include "rldb/ui/render/version.h"
#include "rldb/ui/terminal/console.h"
#include "rldb/ui/terminal/exit_code.h"
#include "rldb/ui/terminal/guarded.h"
#include "ui/command_line/help_topic.h"

namespace rldb::ui {

namespace {

struct SubcommandRow {
  Subcommand id;
  const char* name;
  const char* usage;
  const char* doc;
};
constexpr SubcommandRow kSubcommands[] = {
#define RLDB_SUBCOMMAND(id, name, handler, usage, needs, doc) {Subcommand::id, name, usage, doc},
#include "rldb/ui/command_line/subcommand.def"
};

constexpr std::string_view kHelp = "help";

const std::map<std::string, session::Engine> kEngines{
    {"jit", session::Engine::Jit}, {"eval", session::Engine::Eval}, {"vm", session::Engine::Vm}};
const std::map<std::string, ir::Syntax> kSyntaxes{
    {"current", ir::Syntax::Current}, {"sinfo", ir::Syntax::Sinfo}, {"rfc", ir::Syntax::Rfc}};
const std::map<std::string, Format> kFormats{{"text", Format::Text}, {"json", Format::Json}};
const std::map<std::string, Color> kColors{{"auto", Color::Auto}, {"always", Color::Always}, {"never", Color::Never}};

// `--dim n=7`
bool add_dim(CommandLine& c, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const auto eq = text.find('=');
    if (eq == std::string::npos || eq == 0) return false;
    std::int64_t value = 0;
    const char* begin = text.data() + eq + 1;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(begin, end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || value < 0) return false;
    c.options.dims[text.substr(0, eq)] = value;
  }
  return true;
}

// An option whose words denote enumerators.
template <class E>
void add_enum(CLI::App& app, const char* flag, E& target, const std::map<std::string, E>& words, const char* doc,
              const char* type) {
  app.add_option_function<std::string>(
         flag, [&target, &words](const std::string& word) { target = words.at(word); }, doc)
      ->check(CLI::IsMember(words))
      ->type_name(type);
}

void add_common(CLI::App& app, CommandLine& c) {
  add_enum(app, "--format", c.format, kFormats, "text or json", "FORMAT");
  add_enum(app, "--color", c.color, kColors, "auto, always or never", "WHEN");
  app.add_option(
         "--timeout", c.timeout,
         "time limit in seconds, exit code 124; of each file for `check`, of each entry for `test` and at the prompt")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
  app.add_option_function<std::string>(
         "--max-memory",
         [&c](const std::string& text) {
           const auto size = parse_size(text);
           if (!size) throw CLI::ValidationError("--max-memory", "needs a size such as 512M or 4G");
           c.max_memory = *size;
         },
         "memory limit of the process, tensors included (default: 2G, or less on a small machine)")
      ->type_name("SIZE");
}

void add_syntax(CLI::App& app, CommandLine& c) {
  add_enum(app, "--syntax", c.options.print.syntax, kSyntaxes, "spelling of printed TVMScript: current, sinfo or rfc",
           "SPELLING");
}

void add_check_bounds(CLI::App& app, CommandLine& c) {
  app.add_flag("--check-bounds,!--no-check-bounds", c.options.check_bounds,
               "kernels report out-of-bounds accesses (default); --no-check-bounds: they do not check");
}

void add_run_options(CLI::App& app, CommandLine& c) {
  add_enum(app, "--engine", c.options.engine, kEngines,
           "jit (default), eval (reference evaluator) or vm (VM with interpreted kernels)", "ENGINE");
  app.add_option_function<std::vector<std::string>>(
         "--dim",
         [&c](const std::vector<std::string>& texts) {
           if (!add_dim(c, texts)) throw CLI::ValidationError("--dim", "needs NAME=N with N >= 0, e.g. --dim n=7");
         },
         "value of a symbolic dimension, e.g. n=7")
      ->allow_extra_args(false)
      ->type_name("NAME=N");
  app.add_option("--seed", c.options.seed, "seed of generated inputs");
  app.add_option("--plugin", c.plugins, "shared library of packed functions")
      ->allow_extra_args(false)
      ->type_name("LIB.so");
  add_check_bounds(app, c);
  app.add_option_function<std::size_t>(
         "--threads", [](std::size_t n) { runtime::set_thread_count(n); },
         "threads that a kernel may use (default: the CPUs); results do not depend on it")
      ->check(CLI::Range(std::size_t(1), runtime::kMostThreads))
      ->type_name("N");
  app.add_flag("--check-accesses", c.options.check_accesses,
               "kernels check each access once more in the optimised code (slow; to test rldb)");
  app.add_flag("--rfc-functions", c.options.rfc_functions,
               "rldb's own functions for RFC 0089's examples (`custom_add`, ...) are meant: no note when one runs");
  app.add_option_function<std::string>(
         "--devices",
         [&c](const std::string& text) {
           const auto devices = runtime::parse_devices(text);
           if (!devices) throw CLI::ValidationError("--devices", "needs a list such as cpu,sim:0,cuda:1");
           c.options.devices = *devices;
         },
         "devices of the run, by their numbers in the program (default: those that the module declares); each but cpu "
         "is "
         "simulated with memory of its own")
      ->type_name("LIST");
  app.add_flag("--isolate", c.options.isolate, "plugins and unchecked kernels run in guard processes");
  app.add_option("--kernels", c.options.kernels_file,
                 "module (.py) that has the kernels of an executable written by TVM")
      ->type_name("FILE");
  app.add_flag("--trust-kernels", c.options.trust_kernels, "run the machine code stored in an executable");
  app.add_option("--cache", c.cache, "folder for compiled kernels (default: in the user's cache folder); off: no cache")
      ->type_name("DIR");
  app.add_option_function<std::string>(
         "--fp",
         [&c](const std::string& mode) {
           if (mode != "strict" && mode != "fast") throw CLI::ValidationError("--fp", "needs strict or fast");
           c.options.fast_math = mode == "fast";
         },
         "strict (default) or fast: reductions may be reassociated")
      ->type_name("MODE");
}

// `--bind-input name=2x3xf32=...`
bool add_bound_input(CommandLine& c, const std::string& text, std::string& why) {
  const auto eq = text.find('=');
  why = "needs NAME=VALUE, e.g. shape=2xi64=3,4";
  if (eq == std::string::npos || eq == 0) return false;
  auto value = runtime::parse_value_literal(text.substr(eq + 1));
  if (!value.ok()) {
    why = value.error().message;
    return false;
  }
  c.options.bound_inputs[text.substr(0, eq)] = std::move(value).value();
  return true;
}

// Of ONNX models.
void add_model_options(CLI::App& app, CommandLine& c) {
  app.add_flag("--bind-params,!--no-bind-params", c.options.bind_params,
               "the initialisers of an ONNX model are constants (default); --no-bind-params: parameters");
  app.add_option_function<std::vector<std::string>>(
         "--bind-input",
         [&c](const std::vector<std::string>& texts) {
           std::string why;
           for (const std::string& text : texts)
             if (!add_bound_input(c, text, why)) throw CLI::ValidationError("--bind-input", why);
         },
         "an input of an ONNX model that is a constant, e.g. shape=2xi64=3,4 or shape=@x.npy")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
}

void add_to_relax(CLI::App& app, CommandLine& c) {
  app.add_flag_callback(
      "--to-relax", [&c] { c.options.machine = session::Machine::Relax; }, "translate Relay text to Relax");
}

void add_trust_scripts(CLI::App& app, CommandLine& c) {
  app.add_flag("--trust-scripts", c.trust_scripts,
               "sourced scripts may run shell commands and load libraries without asking");
}

// An output that only inspects the module needs no passes.
void add_opt_options(CLI::App& app, CommandLine& c) {
  app.add_option("--passes", c.passes, "pipeline: A,B(opt=1),C")->type_name("PIPELINE");
  app.add_option("-o,--output", c.output, "write to FILE instead of standard output")->type_name("FILE");
  app.add_flag("--print-ir-after-change", c.print_ir_after_change, "print the module after each pass that changed it");
  const auto passes = [&](const char* name, std::vector<std::string>& to, const char* doc) {
    app.add_option(name, to, doc)->delimiter(',')->allow_extra_args(false)->type_name("PASS,...");
  };
  passes("--print-ir-before", c.print_ir_before, "print the module before these passes");
  passes("--print-ir-after", c.print_ir_after, "print the module after these passes");
  app.add_flag_callback(
      "--print-ir-before-all", [&c] { c.print_ir_before = {"*"}; }, "print the module before each pass");
  app.add_flag_callback(
      "--print-ir-after-all", [&c] { c.print_ir_after = {"*"}; }, "print the module after each pass");
  app.add_option("--print-changed", c.print_changed,
                 "show the changes of each pass: diff, cdiff (coloured), or quiet: the module, and nothing if it did "
                 "not change")
      ->check(CLI::IsMember({"diff", "cdiff", "quiet"}))
      ->type_name("HOW");
  app.add_flag("--verify-each,!--no-verify-each", c.options.verify_each, "verify after each pass (on by default)");
  app.add_flag("--validate-each", c.validate_each, "run before and after each pass and compare");
  app.add_option("--opt-bisect-limit", c.bisect_limit,
                 "run only the first N passes and list them; -1: run and list all")
      ->type_name("N");
  app.add_option("--dump-ir-to", c.dump_ir_to, "write NNN_Pass.py after each pass")->type_name("DIR");
  app.add_flag("--time-passes", c.time_passes, "print the time of each pass");
  app.add_flag("--memory-report{-}", c.memory_report,
               "write the memory plan after the passes to standard error or to a file (text, .json or .svg)")
      ->type_name("[=FILE]");
  app.add_option("--html", c.html,
                 "write an HTML report of the pipeline: passes, times, changes side by side, memory plan")
      ->type_name("FILE");
  app.add_option("--rewriter", c.rewriters, "apply the rewrite rules in a file before the passes")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.callback([&c] {
    if (c.passes.empty() && c.memory_report.empty() && c.rewriters.empty() &&
        c.options.machine != session::Machine::Relax)
      throw CLI::RequiredError("--passes");
  });
}

void add_diff_layout(CLI::App& app, CommandLine& c) {
  auto* beside = app.add_flag_callback(
      "--side-by-side", [&c] { c.diff_layout = DiffLayout::SideBySide; },
      "differences in two columns (the default on a terminal of 140 columns)");
  app.add_flag_callback(
         "--unified", [&c] { c.diff_layout = DiffLayout::Unified; }, "differences as a unified diff")
      ->excludes(beside);
}

void add_tolerances(CLI::App& app, CommandLine& c) {
  app.add_option("--atol", c.tolerances.atol, "absolute tolerance (default: by dtype)");
  app.add_option("--rtol", c.tolerances.rtol, "relative tolerance (default: by dtype)");
  app.add_option("--ulp", c.tolerances.ulp, "values within this many units in the last place are equal too");
  app.add_flag("--exact", c.tolerances.exact, "values must be equal bit by bit");
}

// One tolerance for all dtypes, from the session's options.
void add_tolerance(CLI::App& app, CommandLine& c) {
  app.add_option("--atol", c.options.tolerance.atol, "absolute tolerance of comparisons");
  app.add_option("--rtol", c.options.tolerance.rtol, "relative tolerance of comparisons");
}

void add_profile(CLI::App& app, CommandLine& c) {
  app.add_flag("--profile{-}", c.profile,
               "write where the time goes, by binding and by callee, to standard error or to a file (.json or text)")
      ->type_name("[=FILE]");
  app.add_option("--profile-trace", c.profile_trace, "write the calls as a trace for Perfetto or chrome://tracing")
      ->type_name("FILE.json");
  app.add_option("--profile-flame", c.profile_flame, "write the call paths as a picture")->type_name("FILE.svg");
  app.add_option("--profile-memory", c.profile_memory, "write the memory held over time as a picture")
      ->type_name("FILE.svg");
  app.add_option("--profile-runs", c.profile_runs, "number of runs that are profiled")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
}

void add_inputs(CLI::App& app, CommandLine& c) {
  app.add_option("--function", c.function, "function to call")->type_name("F");
  app.add_option("--input", c.inputs, "a value: 2x3xf32=1,2,3,4,5,6, @x.npy, name=...")
      ->allow_extra_args(false)
      ->type_name("VALUE");
}

void add_save_repro(CLI::App& app, CommandLine& c) {
  app.add_option("--save-repro", c.save_repro, "write a script that reproduces the fault, for `rldb test`")
      ->type_name("FILE.session");
}

void add_tvm_script(CLI::App& app, CommandLine& c) {
  app.add_option("--tvm-script", c.tvm_script,
                 "write a Python script that shows the fault with TVM alone, and its inputs to FILE.npz")
      ->type_name("FILE.py");
}

// A partner, started and limited alike by both commands that ask one.
void add_partner(CLI::App& app, CommandLine& c, const char* name, const char* doc) {
  auto* partner = app.add_option(name, c.partner.command, doc)->type_name("COMMAND");
  app.add_option("--partner-passes", c.partner.passes, "a pipeline by a name that the partner knows (default: its own)")
      ->type_name("NAME")
      ->needs(partner);
  app.add_option("--partner-seconds", c.partner.seconds, "time limit for one answer (default: 60)")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS")
      ->needs(partner);
  app.add_option_function<std::string>(
         "--partner-memory",
         [&c](const std::string& text) {
           const auto size = parse_size(text);
           if (!size) throw CLI::ValidationError("--partner-memory", "needs a size such as 512M or 4G");
           c.partner.memory = *size;
         },
         "memory limit of each process of the partner (default: 4G)")
      ->type_name("SIZE")
      ->needs(partner);
}

// Options that choose an oracle; returns those that apply to a pipeline.
std::vector<CLI::Option*> add_oracle(CLI::App& app, CommandLine& c) {
  auto* passes = app.add_option("--passes", c.passes, "pipeline: A,B(opt=1),C")->type_name("PIPELINE");
  auto* oracle = app.add_option_function<std::string>(
                        "--oracle", [&c](const std::string& word) { c.oracle = *repro::parse_oracle(word); },
                        "kind of fault: any (values, or a pass that fails), values, nan, diagnostic, or memory (a peak "
                        "above --memory-limit)")
                     ->check(CLI::IsMember({"any", "values", "nan", "diagnostic", "memory"}))
                     ->type_name("WHAT");
  auto* memory =
      app.add_option_function<std::string>(
             "--memory-limit", [&c](const std::string& text) { c.memory_limit = *repro::parse_memory_limit(text); },
             "for --oracle=memory: bytes, as in 64K, or a multiple of the peak before the first pass, as in 1.5x "
             "(default: 1x)")
          ->check(CLI::Validator(
              [](const std::string& text) {
                return repro::parse_memory_limit(text) ? std::string() : "not a size or a factor: " + text;
              },
              ""))
          ->type_name("SIZE|Nx")
          ->needs(oracle);
  auto* test =
      app.add_option(
             "--test", c.test_command,
             "a command that is given the file of a module; its exit code 0 means that the module has the fault")
          ->type_name("COMMAND");
  auto* expected = app.add_option("--expected-output", c.expected_output,
                                  "the expected result, as a framework computed it: f.npy or f.npz")
                       ->type_name("FILE");
  add_save_repro(app, c);
  add_tvm_script(app, c);
  add_inputs(app, c);
  add_tolerances(app, c);
  add_run_options(app, c);
  app.callback([&c, memory] {
    if (memory->count() > 0 && c.oracle != repro::OracleKind::Memory)
      throw CLI::ValidationError("--memory-limit", "is for --oracle=memory only");
  });
  return {passes, oracle, memory, test, expected};
}

// `rldb run FILE [FUNCTION] [VALUE...]`, as at the prompt.
void take_call(CommandLine& c) {
  std::vector<std::string> words(c.files.begin() + 1, c.files.end());
  c.files.resize(1);
  const bool is_value = !words.empty() && words[0].find_first_of("=@(.") != std::string::npos;
  const bool is_number = !words.empty() && words[0].find_first_not_of("+-0123456789") == std::string::npos;
  if (!words.empty() && !is_value && !is_number && c.function.empty()) {
    c.function = words[0];
    words.erase(words.begin());
  }
  c.inputs.insert(c.inputs.end(), words.begin(), words.end());
}

void add_options(Subcommand id, CLI::App& app, CommandLine& c) {
  const auto files = [&](int count) {
    auto* option = app.add_option("files", c.files, "")->required()->type_name("FILE");
    if (count > 0) option->expected(count);
  };
  switch (id) {
    case Subcommand::Repl:
      add_model_options(app, c);
      break;
    case Subcommand::Check:
      files(0);
      add_model_options(app, c);
      app.add_flag("--roundtrip", c.roundtrip, "also print, reparse and compare");
      add_save_repro(app, c);
      break;
    case Subcommand::Print:
      files(1);
      add_model_options(app, c);
      add_syntax(app, c);
      app.add_option("--function", c.function, "only this one")->type_name("F");
      app.add_flag("--show-meta", c.options.print.show_meta, "print constants in a metadata block");
      break;
    case Subcommand::Diff:
      files(2);
      add_diff_layout(app, c);
      break;
    case Subcommand::Opt:
      files(1);
      add_model_options(app, c);
      add_to_relax(app, c);
      add_syntax(app, c);
      add_opt_options(app, c);
      add_tolerance(app, c);
      add_diff_layout(app, c);
      add_save_repro(app, c);
      add_run_options(app, c);
      break;
    case Subcommand::Build:
      files(1);
      add_model_options(app, c);
      add_to_relax(app, c);
      app.add_option("-o,--output", c.output,
                     "the file to write: x.rlvm, an executable for rldb and TVM; x.so or x.o, a library that needs "
                     "neither, with a C header")
          ->required()
          ->type_name("FILE");
      app.add_flag("--standalone", c.standalone,
                   "write a program of its own, with arguments and results in .npy files");
      app.add_option("--emit", c.emit, "what to write where the name does not say it")
          ->check(CLI::IsMember({"rlvm", "so", "o", "program"}))
          ->type_name("FORM");
      app.add_option("--linker", c.linker,
                     "for libraries and programs: a C compiler or linker other than the first of "
                     "cc, gcc, clang, ld.lld and ld that is found")
          ->type_name("COMMAND");
      add_check_bounds(app, c);
      app.add_flag("-O,--optimise", c.optimise, "optimise first, with the pipeline `cpu_generic`");
      break;
    case Subcommand::Disasm:
      files(1);
      add_model_options(app, c);
      add_to_relax(app, c);
      break;
    case Subcommand::Run:
      files(0);
      add_model_options(app, c);
      add_to_relax(app, c);
      add_inputs(app, c);
      app.add_option("--ranks", c.ranks,
                     "number of workers that run the program together; x@1=... is an input of rank 1")
          ->check(CLI::Range(1, 64))
          ->type_name("N");
      app.add_option("--groups", c.groups, "number of groups of ranks, for collectives with in_group")
          ->check(CLI::Range(1, 64))
          ->type_name("N");
      app.callback([&c] {
        if (c.ranks % c.groups != 0) throw CLI::ValidationError("--groups", "needs a number that divides --ranks");
        if (!c.record.empty() && (c.profiles() || c.sanitizers.any() || c.ranks > 1))
          throw CLI::ValidationError("--record", "does not work with --profile, --sanitize and --ranks");
        if (c.profiles() && c.sanitizers.any())
          throw CLI::ValidationError("--profile",
                                     "does not work with --sanitize, which runs the program in another way");
        take_call(c);
      });
      app.add_option("-o,--output", c.output, "write the result to f.npy, or to f.npz if there are several")
          ->type_name("FILE");
      app.add_option("--expected-output", c.expected_output, "compare the result with f.npy or f.npz")
          ->type_name("FILE");
      app.add_option_function<std::string>(
             "--sanitize",
             [&c](const std::string& text) {
               std::string wrong;
               const auto which = repro::parse_sanitizers(text, wrong);
               if (!which)
                 throw CLI::ValidationError("--sanitize",
                                            "knows storage, uninit, nan, bounds and overflow, not `" + wrong + "`");
               c.sanitizers = *which;
             },
             "look for storage (memory of a live tensor given away), uninit (memory read before it was written), nan, "
             "bounds, overflow (integers)")
          ->type_name("WHAT,...");
      add_profile(app, c);
      app.add_option(
             "--record", c.record,
             "write the run to a file that `rldb FILE.rldbrun` opens on any machine: at its end, or at its fault")
          ->type_name("FILE.rldbrun");
      add_tolerance(app, c);
      add_save_repro(app, c);
      add_run_options(app, c);
      break;
    case Subcommand::Compare:
      add_model_options(app, c);
      add_to_relax(app, c);
      app.add_option("files", c.files,
                     "one program or two: modules, executables (.rlvm), stages of a folder (DIR:012_FuseOps, DIR:12, "
                     "DIR:FuseOps)")
          ->required()
          ->expected(1, 2)
          ->type_name("FILE");
      app.add_option("--passes", c.passes,
                     "applied to the second program; with --other-passes to the first one. Of one module: compare it "
                     "with the result of this pipeline")
          ->type_name("PIPELINE");
      app.add_option("--other-passes", c.other_passes, "passes applied to the second program")->type_name("PIPELINE");
      app.add_option_function<std::string>(
             "--other-engine", [&c](const std::string& word) { c.other_engine = kEngines.at(word); },
             "engine for the kernels of the second program")
          ->check(CLI::IsMember(kEngines))
          ->type_name("ENGINE");
      app.add_option("--expected", c.expected,
                     "of an ONNX model: values of another framework, as a test of ONNX (test_data_set_0, input_0.pb, "
                     "output_0.pb), .npz, or a folder with NODE.npy")
          ->type_name("DIR");
      app.add_option("--recorded", c.recorded,
                     "a folder with a recorded run of TVM: each of its calls is run on the arguments recorded for it "
                     "(python/rldb_tvm.py records)")
          ->type_name("DIR");
      app.add_flag("--shadow", c.shadow,
                   "also run the first program in float64, to tell whether the difference is more than rounding");
      add_save_repro(app, c);
      add_tvm_script(app, c);
      add_inputs(app, c);
      add_tolerances(app, c);
      add_run_options(app, c);
      break;
    case Subcommand::Bisect: {
      add_model_options(app, c);
      auto* file = app.add_option("files", c.files, "a module")->expected(0, 1)->type_name("FILE");
      auto* trace = app.add_option("--trace", c.traces,
                                   "a folder of files NNN_PassName.py, as TVM's DumpIR writes; one folder per pipeline")
                        ->type_name("DIR")
                        ->expected(1)
                        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                        ->excludes(file);
      app.add_option(
             "--original", c.original,
             "with --trace: the module before the first pass, from which constants that the folder leaves out are "
             "taken too")
          ->type_name("FILE")
          ->needs(trace);
      for (CLI::Option* option : add_oracle(app, c))
        if (option->get_name() != "--expected-output") option->excludes(trace);
      add_diff_layout(app, c);
      app.add_option_function<std::string>(
             "--by", [&c](const std::string& word) { c.by_kernel = word == "kernel"; },
             "pass (default), or kernel: which kernel the JIT gets wrong, and which step of its schedule")
          ->check(CLI::IsMember({"pass", "kernel"}))
          ->type_name("WHAT")
          ->excludes(trace);
      break;
    }
    case Subcommand::Reduce:
      files(1);
      add_model_options(app, c);
      add_oracle(app, c);
      app.add_option("-o,--output", c.output, "write to FILE instead of standard output")->type_name("FILE");
      app.add_option("-j,--jobs", c.jobs, "number of candidates tried in parallel")->check(CLI::Range(1, 256));
      app.add_flag("--keep-defined", c.keep_defined,
                   "refuse candidates that access tensors out of bounds, unless the program itself does");
      add_partner(app, c, "--test-server",
                  "like --test, but the command stays up and is asked by lines of JSON (docs/repro.md, \"Partners\"): "
                  "for one that takes long to start");
      app.add_option("--seconds", c.seconds, "stop after this many seconds and keep the smallest module so far")
          ->check(CLI::NonNegativeNumber);
      break;
    case Subcommand::Fuzz:
      app.add_option("--passes", c.passes, "pipeline to apply to each program (default: cpu_generic)")
          ->type_name("PIPELINE");
      app.add_option("--time", c.seconds, "stop after this many seconds (default without --programs: 60)")
          ->check(CLI::NonNegativeNumber);
      app.add_option("--programs", c.programs, "number of programs");
      app.add_flag("--coverage", c.coverage, "also count the operators, dtypes, passes and rewrites that were reached");
      app.add_option("--seeds", c.seed_folders,
                     "folder of modules: each program is one of them with operands exchanged and operators added")
          ->type_name("DIR")
          ->expected(1)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      app.add_option(
             "--write", c.write_to,
             "only write the programs, with inputs and the values computed here, for other compilers to be run on")
          ->type_name("DIR");
      add_partner(app, c, "--against",
                  "another compiler, a command that stays up: its results have to be rldb's (docs/repro.md, "
                  "\"Partners\"; `python3 rldb_tvm.py --serve` is one)");
      app.add_option("-j,--jobs", c.jobs, "with --against: number of its processes, for reducing")
          ->check(CLI::Range(1, 256));
      app.add_option("-o,--output", c.output, "folder for a script for `rldb test` of each fault found")
          ->type_name("DIR");
      add_save_repro(app, c);
      add_tvm_script(app, c);
      add_run_options(app, c);
      break;
    case Subcommand::Mcp:
      app.add_option("folders", c.files, "folders whose files the agent may read; none: it sends texts")
          ->type_name("FOLDER");
      break;
    case Subcommand::Jupyter:
      app.add_option("files", c.files, "`install`, or the connection file that Jupyter writes")
          ->required()
          ->expected(1)
          ->type_name("install|FILE");
      app.add_option("--prefix", c.prefix,
                     "install below DIR/share/jupyter (default: the user's own folder of Jupyter)")
          ->type_name("DIR");
      add_run_options(app, c);
      break;
    case Subcommand::Lsp:
      app.add_flag_callback(
          "--stdio", [] {}, "standard input and output, as some clients say; there is nothing else");
      break;
    case Subcommand::Dap:
      app.add_option_function<std::uint16_t>(
             "--port", [&c](const std::uint16_t& port) { c.port = port; },
             "serve on this loopback port instead of the standard streams; 0: a free one")
          ->type_name("N");
      add_run_options(app, c);
      break;
    case Subcommand::Test:
      files(0);
      app.add_flag("--bless", c.bless, "rewrite the expected output in the files");
      app.add_flag("--update-only-output", c.update_only_output,
                   "like --bless, but only in files whose expectations (`:expect`) all hold");
      app.add_option("-j", c.jobs, "number of files run in parallel")->check(CLI::Range(1, 256));
      add_trust_scripts(app, c);
      app.add_flag("--git-bisect", c.git_bisect,
                   "exit codes for `git bisect run`: 1: fault present, 0: absent, 125: cannot tell");
      app.add_option("--test", c.test_command,
                     "with --git-bisect: another program, which is given the file of the module; its exit code 0 means "
                     "that the module has the fault")
          ->type_name("COMMAND");
      add_run_options(app, c);
      break;
  }
  add_common(app, c);
}

// The prompt's own flags are parsed by hand: -x and -ex keep their order, on which gdb users rely.
struct ReplArgs {
  std::vector<std::string> rest;
  bool ok = true;
  std::string missing;
};
ReplArgs take_startup(int argc, char** argv, CommandLine& c) {
  constexpr std::string_view kServe = "--serve=";
  ReplArgs args;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool file = arg == "-x";
    if (file || arg == "-ex") {
      if (i + 1 == argc) {
        args.ok = false;
        args.missing = arg;
        return args;
      }
      c.startup.emplace_back(file, argv[++i]);
    } else if (arg == "-nx") {
      c.no_init = true;
    } else if (arg == "--serve") {
      c.startup.emplace_back(false, ":serve");
    } else if (arg.starts_with(kServe)) {
      c.startup.emplace_back(false, ":serve " + arg.substr(kServe.size()));
    } else {
      args.rest.push_back(arg);
    }
  }
  return args;
}

std::string footer() {
  std::string text = "\nBatch commands (rldb help COMMAND and rldb COMMAND --help for each):\n";
  for (const SubcommandRow& row : kSubcommands) {
    std::string left = std::string("  ") + row.name + " " + row.usage;
    text += left + "\n      " + row.doc + "\n";
  }
  text +=
      "\nExit codes: 0 success; 1 a check failed, values differ or the program failed; 2 usage error; 3 the text does\n"
      "not parse, type-check or verify; 4 internal error; 124 time-out; 125 cannot tell; 128+N killed by signal N.\n";
  return text;
}

// The existing option nearest to an unknown one; empty: none is near.
std::string nearest_option(const CLI::App& app, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::vector<std::string_view> views(names.begin(), names.end());
  return std::string(source::nearest(word.substr(0, word.find('=')), views));
}

// CLI11's error, in our words.
source::Message usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string hint = fmt::format("`{} --help` lists the arguments", app.get_name());
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    const std::string words = text.substr(std::min(text.find(": "), text.size() - 2) + 2);
    const std::string near = nearest_option(app, words);
    return source::message(diag::UnknownArgument, words)
        .with_hint(near.empty() ? hint : fmt::format("did you mean `{}`?", near));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error)) {
    const std::string name = text.substr(0, text.find(' '));
    const CLI::Option* option = app.get_option_no_throw(name);
    return source::message(diag::ArgumentMissing, option && option->get_positional() ? option->get_type_name() : name)
        .with_hint(hint);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error)) {
    const std::string said = text.substr(std::min(text.rfind(": ") + 2, text.size()));  // `--seed = x`
    const auto sign = said.find(" = ");
    if (sign != std::string::npos)
      return source::message(diag::BadArgument,
                             fmt::format("{}: `{}` is not a number", said.substr(0, sign), said.substr(sign + 3)))
          .with_hint(hint);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) && text.find("At Most") != std::string::npos)
    return source::message(diag::BadArgument,
                           fmt::format("{}: given more often than allowed", text.substr(0, text.find(':'))))
        .with_hint(hint);
  return source::message(diag::BadArgument, text).with_hint(hint);
}

int finish(CLI::App& app, const CLI::ParseError& error) {
  TerminalConsole console;
  if (error.get_exit_code() == int(CLI::ExitCodes::Success)) {  // --help and --version
    std::ostringstream out;
    app.exit(error, out, out);
    console.write(out.str());
    return kGood;
  }
  source::Diagnostics diagnostics;
  diagnostics.add({}, usage_error(app, error));
  console.diagnose(diagnostics, {});
  return kUsage;
}

// Compiled kernels are kept for the next run, except by tests, whose results must not depend on earlier runs.
void choose_cache(CommandLine& c) {
  if (c.cache.empty() && c.subcommand != Subcommand::Test) c.cache = cache_folder("kernels");
  if (c.cache != "off") c.options.cache_dir = c.cache;
}

std::optional<CommandLine> parse_subcommand(const SubcommandRow& row, int argc, char** argv, int& exit_code) {
  CommandLine c;
  c.subcommand = row.id;
  CLI::App app(std::string(row.doc) + "\nusage: rldb " + row.name + " " + row.usage, std::string("rldb ") + row.name);
  add_options(row.id, app, c);
  try {
    app.parse(argc - 1, argv + 1);
  } catch (const CLI::ParseError& error) {
    exit_code = finish(app, error);
    return std::nullopt;
  }
  choose_cache(c);
  return c;
}

void add_repl_options(CLI::App& app, CommandLine& c) {
  app.set_version_flag("--version", std::string("rldb ") + kVersion);
  app.add_option("files", c.files,
                 "the program: text (.py, .relay), an executable (.rlvm), a model (.onnx, .pt2) or a recorded run "
                 "(.rldbrun); scripts (.session) among the files run after it is open")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "-x", [](const std::string&) {}, "run the entries in a file; -x and -ex keep their order")
      ->type_name("FILE");
  app.add_flag("--batch", c.batch, "no prompt: run the -x and -ex commands (or standard input) and exit");
  app.add_flag("-q,--quiet", c.quiet, "no banner");
  add_trust_scripts(app, c);
  app.add_flag("--resume", c.resume, "restore the last session that was killed");
  app.add_flag("--watch", c.watch, "read the file again whenever it is written");
  app.add_flag_function(
      "--serve", [](std::int64_t) {}, "serve a live page of the session on this machine; --serve=PORT: at this port");
  app.add_flag("--journal", c.journal, "keep a journal even without a terminal");
  add_syntax(app, c);
  add_run_options(app, c);
  add_common(app, c);
}

// Scripts among the files are run after the program has been opened.
bool sort_files(CommandLine& c) {
  std::vector<std::string> programs;
  std::vector<std::pair<bool, std::string>> scripts;
  for (const std::string& file : c.files) {
    if (file.ends_with(".session"))
      scripts.emplace_back(true, file);
    else
      programs.push_back(file);
  }
  c.startup.insert(c.startup.begin(), scripts.begin(), scripts.end());
  c.files = std::move(programs);
  // A misspelt command is no program; whoever opens it says so.
  if (c.files.size() < 2 || (!support::file_exists(c.files[0]) && !nearest_subcommand(c.files[0]).empty())) return true;
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::OneProgram, c.files.size(), c.files[0], c.files[1]));
  TerminalConsole().diagnose(diagnostics, {});
  return false;
}

std::optional<CommandLine> parse_repl(int argc, char** argv, int& exit_code) {
  CommandLine c;
  c.arguments.assign(argv + 1, argv + argc);
  ReplArgs args = take_startup(argc, argv, c);
  CLI::App app(
      "rldb: a REPL and debugger for Relax IR\n"
      "usage: rldb [FILE...]             the prompt\n"
      "       rldb COMMAND [ARGUMENTS]   a batch command",
      "rldb");
  app.footer(
      "\nTwo options in gdb's spelling:\n"
      "  -ex ENTRY                   run an entry: a command (-ex ':run main') or TVMScript\n"
      "  -nx                         read no start files: ~/.config/rldb, ~/.rldbinit, .rldbrc\n" +
      footer());
  add_repl_options(app, c);
  if (!args.ok) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, source::message(diag::ArgumentMissing, fmt::format("the argument of `{}`", args.missing)));
    TerminalConsole().diagnose(diagnostics, {});
    exit_code = kUsage;
    return std::nullopt;
  }
  try {
    std::reverse(args.rest.begin(), args.rest.end());  // CLI11 expects the last one first
    app.parse(args.rest);
  } catch (const CLI::ParseError& error) {
    exit_code = finish(app, error);
    return std::nullopt;
  }
  if (!sort_files(c)) {
    exit_code = kUsage;
    return std::nullopt;
  }
  choose_cache(c);
  return c;
}

// The index of the first argument that is neither an option nor the value of one; argc: there is none.
int first_word(int argc, char** argv) {
  CommandLine c;
  CLI::App app;
  add_repl_options(app, c);
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    const std::string arg = argv[i];
    if (arg == "--") return argc;  // only files follow
    if (arg == "-ex") {
      ++i;
    } else if (arg.find('=') == std::string::npos) {
      const CLI::Option* option = app.get_option_no_throw(arg);
      if (option && option->get_expected_min() > 0) ++i;
    }
  }
  return std::min(i, argc);
}

}  // namespace

// `rldb help [COMMAND]`: the topic, and the options. The exit code.
static int give_help(const std::string& topic) {
  TerminalConsole console;
  if (topic.empty()) {
    console.write("Topics: rldb help COMMAND, of the commands below; `:help` at the prompt has more.\n" + footer());
    return kGood;
  }
  const auto row = std::find_if(std::begin(kSubcommands), std::end(kSubcommands),
                                [&](const SubcommandRow& r) { return topic == r.name; });
  if (row == std::end(kSubcommands)) {
    source::Diagnostics diagnostics;
    const std::string_view near = nearest_subcommand(topic);
    source::Message m = source::message(diag::NoHelpTopic, topic);
    if (!near.empty()) m.hint = fmt::format("did you mean `rldb help {}`?", near);
    diagnostics.add({}, std::move(m));
    console.diagnose(diagnostics, {});
    return kUsage;
  }
  for (const HelpTopic& t : help_topics())
    if (t.name == topic) console.write(std::string(t.text));
  console.write(fmt::format("\n`rldb {} --help` lists all options.\n", topic));
  return kGood;
}

std::optional<CommandLine> parse_command_line(int argc, char** argv, int& exit_code) {
  const int at = first_word(argc, argv);
  if (at == 1 && argc > 1 && argc <= 3 && std::string_view(argv[1]) == kHelp) {
    exit_code = give_help(argc > 2 ? argv[2] : "");
    return std::nullopt;
  }
  for (const SubcommandRow& row : kSubcommands) {
    if (at >= argc || std::string_view(argv[at]) != row.name) continue;
    std::rotate(argv + 1, argv + at, argv + at + 1);  // options before it are its options
    return parse_subcommand(row, argc, argv, exit_code);
  }
  return parse_repl(argc, argv, exit_code);
}

std::string_view nearest_subcommand(std::string_view word) {
  std::vector<std::string_view> names;
  for (const SubcommandRow& row : kSubcommands) names.emplace_back(row.name);
  return source::nearest(word, names);
}

}  // namespace rldb::ui
