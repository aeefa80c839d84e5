// Options that several commands share.
#include "ui/command_line/options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "rldb/repro/oracle.h"
#include "rldb/runtime/threads.h"
#include "rldb/session/value_text.h"
#include "rldb/ui/terminal/guarded.h"

namespace rldb::ui {

namespace {

const std::map<std::string, ir::Syntax> kSyntaxes{
    {"current", ir::Syntax::Current}, {"sinfo", ir::Syntax::Sinfo}, {"rfc", ir::Syntax::Rfc}};
const std::map<std::string, Format> kFormats{{"text", Format::Text}, {"json", Format::Json}};
const std::map<std::string, Color> kColors{{"auto", Color::Auto}, {"always", Color::Always}, {"never", Color::Never}};

// An option whose words denote enumerators.
template <class E>
void add_enum(CLI::App& app, const char* flag, E& target, const std::map<std::string, E>& words, const char* doc,
              const char* type) {
  app.add_option_function<std::string>(
         flag, [&target, &words](const std::string& word) { target = words.at(word); }, doc)
      ->check(CLI::IsMember(words))
      ->type_name(type);
}

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

// `--bind-input name=2x3xf32=...`
bool add_bound_input(CommandLine& c, const std::string& text, std::string& why) {
  const auto eq = text.find('=');
  why = "needs NAME=VALUE, e.g. shape=2xi64=3,4";
  if (eq == std::string::npos || eq == 0) return false;
  auto value = session::value_of_text(text.substr(eq + 1));
  if (!value.ok()) {
    why = value.error().message;
    return false;
  }
  c.options.bound_inputs[text.substr(0, eq)] = std::move(value).value();
  return true;
}

}  // namespace

const std::map<std::string, session::Engine>& engine_words() {
  static const std::map<std::string, session::Engine> words = [] {
    std::map<std::string, session::Engine> all;
    for (const session::Engine e : session::kEngines) all.emplace(session::to_string(e), e);
    return all;
  }();
  return words;
}

CLI::Validator seconds() {
  return {[](std::string& text) {
            double value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool good = error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= 1e9;
            return good ? std::string() : fmt::format("`{}` is not a number of seconds", text);
          },
          ""};
}

// NaN would make everything differ, and infinity nothing.
static CLI::Validator tolerance() {
  return {[](std::string& text) {
            double value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool good =
                error == std::errc() && end == text.data() + text.size() && value >= 0 && std::isfinite(value);
            return good ? std::string() : fmt::format("`{}` is not a finite number from 0 on", text);
          },
          ""};
}

CLI::Validator whole_number(std::uint64_t most) {
  return {[most](std::string& text) {
            std::uint64_t value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error == std::errc() && end == text.data() + text.size() && value <= most) return std::string();
            const bool open = most == std::numeric_limits<std::uint64_t>::max();
            return fmt::format("`{}` is not a whole number from 0 {}", text, open ? "on" : fmt::format("to {}", most));
          },
          ""};
}

void add_common(CLI::App& app, CommandLine& c) {
  add_enum(app, "--format", c.format, kFormats, "text or json", "FORMAT");
  add_enum(app, "--color", c.color, kColors, "auto, always or never", "WHEN");
  app.add_option(
         "--timeout", c.timeout,
         "time limit in seconds, exit code 124; of each file for `check`, of each entry for `test` and at the prompt")
      ->check(seconds())
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
  add_enum(app, "--engine", c.options.engine, engine_words(),
           "jit (default), eval (reference evaluator), vm (VM with interpreted kernels), opencl or cuda (VM, GPU "
           "kernels by OpenCL or CUDA)",
           "ENGINE");
  app.add_option_function<std::vector<std::string>>(
         "--dim",
         [&c](const std::vector<std::string>& texts) {
           if (!add_dim(c, texts)) throw CLI::ValidationError("--dim", "needs NAME=N with N >= 0, e.g. --dim n=7");
         },
         "value of a symbolic dimension, e.g. n=7")
      ->allow_extra_args(false)
      ->type_name("NAME=N");
  app.add_option("--seed", c.options.seed, "seed of generated inputs")->check(whole_number());
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
               "rldb's own functions for RFC 0089's examples (`custom_add`, ...) run without a note");
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
         "an input of an ONNX model that is a constant, e.g. shape=2xi64=3,4, shape=@x.npy or shape=@x.pb")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
}

CLI::Validator name_of_text() {
  return CLI::Validator(
      [](const std::string& path) {
        const bool model = path.ends_with(".onnx") || path.ends_with(".pt2");
        return model ? "a module cannot be written as an ONNX model: " + path : std::string();
      },
      "");
}

CLI::Option* add_expected(CLI::App& app, CommandLine& c) {
  return app
      .add_option("--expected", c.expected,
                  "of an ONNX model: values of another framework, as a test of ONNX (test_data_set_0, input_0.pb, "
                  "output_0.pb), .npz, or a folder with NODE.npy")
      ->type_name("DIR");
}

void add_onnx_output(CLI::App& app, CommandLine& c) {
  const auto name_of_model = [](const std::string& path) {
    return path.ends_with(".onnx") && path.size() > 5 ? std::string() : "not a name OUT.onnx: " + path;
  };
  auto* file = app.add_option("--onnx", c.reduce.onnx,
                              "of an ONNX model: also write the smallest ONNX model with the same fault, and beside "
                              "OUT.onnx a folder OUT with its inputs and results, if the fault is in values")
                   ->type_name("OUT.onnx")
                   ->check(CLI::Validator(name_of_model, ""));
  app.add_option("--test-model", c.reduce.test_model,
                 "with --onnx: like --test, but the command is given the file of an ONNX model")
      ->type_name("COMMAND")
      ->needs(file)
      ->excludes("--test")
      ->excludes("--expected-output");
  add_expected(app, c)->needs(file)->excludes("--test")->excludes("--test-model")->excludes("--expected-output");
}

void add_to_relax(CLI::App& app, CommandLine& c) {
  app.add_flag_callback(
      "--to-relax", [&c] { c.options.machine = session::Machine::Relax; }, "translate Relay text to Relax");
}

void add_trust_scripts(CLI::App& app, CommandLine& c) {
  app.add_flag("--trust-scripts", c.trust_scripts,
               "sourced scripts may run shell commands and load libraries without asking");
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
  app.add_option("--atol", c.tolerances.atol, "absolute tolerance (default: by dtype)")->check(tolerance());
  app.add_option("--rtol", c.tolerances.rtol, "relative tolerance (default: by dtype)")->check(tolerance());
  app.add_option("--ulp", c.tolerances.ulp, "values within this many units in the last place are equal too")
      ->check(whole_number());
  app.add_flag("--exact", c.tolerances.exact, "values must be equal bit by bit");
}

void add_tolerance(CLI::App& app, CommandLine& c) {
  app.add_option("--atol", c.options.tolerance.atol, "absolute tolerance of comparisons")->check(tolerance());
  app.add_option("--rtol", c.options.tolerance.rtol, "relative tolerance of comparisons")->check(tolerance());
}

void add_inputs(CLI::App& app, CommandLine& c) {
  app.add_option("--function", c.function, "function to call")->type_name("F");
  app.add_option("--input", c.inputs, "a value: [1, 2], np.arange(6), 2x3xf32=rand, @x.npy, name=...")
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

void add_partner(CLI::App& app, CommandLine& c, const char* name, const char* doc) {
  auto* partner = app.add_option(name, c.partner.command, doc)->type_name("COMMAND");
  app.add_option("--partner-passes", c.partner.passes, "a pipeline by a name that the partner knows (default: its own)")
      ->type_name("NAME")
      ->needs(partner);
  app.add_option("--partner-seconds", c.partner.seconds, "time limit for one answer (default: 60)")
      ->check(seconds())
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

std::vector<CLI::Option*> add_oracle(CLI::App& app, CommandLine& c) {
  auto* passes = app.add_option("--passes", c.passes, "pipeline: A,B(opt=1),C")->type_name("PIPELINE");
  auto* oracle = app.add_option_function<std::string>(
                        "--oracle", [&c](const std::string& word) { c.oracle = *repro::parse_oracle(word); },
                        "kind of fault: " + repro::oracle_doc())
                     ->check(CLI::IsMember(repro::oracle_words()))
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
  auto* time =
      app.add_option_function<std::string>(
             "--time-limit", [&c](const std::string& text) { c.time_limit = *repro::parse_time_limit(text); },
             "for --oracle=time: processor time of each pass and of a run, as in 2s or 100ms, or a multiple of the run "
             "before the first pass, as in 5x (default: 3x)")
          ->check(CLI::Validator(
              [](const std::string& text) {
                return repro::parse_time_limit(text) ? std::string() : "not a time or a factor: " + text;
              },
              ""))
          ->type_name("TIME|Nx")
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
  app.callback([&c, memory, time] {
    if (memory->count() > 0 && c.oracle != repro::OracleKind::Memory)
      throw CLI::ValidationError("--memory-limit", "is for --oracle=memory only");
    if (time->count() > 0 && c.oracle != repro::OracleKind::Time)
      throw CLI::ValidationError("--time-limit", "is for --oracle=time only");
  });
  return {passes, oracle, memory, time, test, expected};
}

}  // namespace rldb::ui
