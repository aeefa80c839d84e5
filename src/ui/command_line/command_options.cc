// The options of each batch command.
#include <fmt/format.h>

#include <cstdint>

#include "rldb/repro/sanitize.h"
#include "rldb/session/typed_value.h"
#include "rldb/support/ranks.h"
#include "rldb/ui/command_line/subcommand.h"
#include "ui/command_line/options.h"

namespace rldb::ui {

namespace {

// `count`: 0: one or more.
void add_files(CLI::App& app, CommandLine& c, int count) {
  auto* option = app.add_option("files", c.files, "")->required()->type_name("FILE");
  if (count > 0) option->expected(count);
}

// An output that only inspects the module needs no passes.
void add_opt_options(CLI::App& app, CommandLine& c) {
  app.add_option("--passes", c.passes, "pipeline: A,B(opt=1),C")->type_name("PIPELINE");
  app.add_option("-o,--output", c.output, "write to FILE instead of standard output")
      ->type_name("FILE")
      ->check(name_of_text());
  app.add_flag("--print-ir-after-change", c.opt.print_ir_after_change,
               "print the module after each pass that changed it");
  const auto passes = [&](const char* name, std::vector<std::string>& to, const char* doc) {
    app.add_option(name, to, doc)->delimiter(',')->allow_extra_args(false)->type_name("PASS,...");
  };
  passes("--print-ir-before", c.opt.print_ir_before, "print the module before these passes");
  passes("--print-ir-after", c.opt.print_ir_after, "print the module after these passes");
  app.add_flag_callback(
      "--print-ir-before-all", [&c] { c.opt.print_ir_before = {"*"}; }, "print the module before each pass");
  app.add_flag_callback(
      "--print-ir-after-all", [&c] { c.opt.print_ir_after = {"*"}; }, "print the module after each pass");
  app.add_option("--print-changed", c.opt.print_changed,
                 "show the changes of each pass: diff, cdiff (coloured), or quiet: the module, and nothing if it did "
                 "not change")
      ->check(CLI::IsMember({"diff", "cdiff", "quiet"}))
      ->type_name("HOW");
  app.add_flag("--verify-each,!--no-verify-each", c.options.verify_each, "verify after each pass (on by default)");
  app.add_flag("--validate-each", c.opt.validate_each, "run before and after each pass and compare");
  app.add_option("--opt-bisect-limit", c.opt.bisect_limit,
                 "run only the first N passes and list them; -1: run and list all")
      ->type_name("N");
  app.add_option("--dump-ir-to", c.opt.dump_ir_to, "write NNN_Pass.py after each pass")->type_name("DIR");
  app.add_flag("--time-passes", c.opt.time_passes, "print the time of each pass");
  app.add_flag("--memory-report{-}", c.opt.memory_report,
               "write the memory plan after the passes to standard error or to a file (text, .json or .svg)")
      ->type_name("[=FILE]");
  app.add_option("--html", c.opt.html,
                 "write an HTML report of the pipeline: passes, times, changes side by side, memory plan")
      ->type_name("FILE");
  app.add_option(
         "--input", c.inputs,
         "with --html: a value of a parameter ([1, 2], 2x3xf32=rand, @x.npy, name=...); the module is run, and the "
         "page has the values of its bindings")
      ->allow_extra_args(false)
      ->needs("--html")
      ->type_name("VALUE");
  app.add_option("--rewriter", c.opt.rewriters, "apply the rewrite rules in a file before the passes")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.callback([&c] {
    if (c.passes.empty() && c.opt.memory_report.empty() && c.opt.rewriters.empty() &&
        c.options.machine != session::Machine::Relax)
      throw CLI::RequiredError("--passes");
  });
}

void add_profile(CLI::App& app, CommandLine& c) {
  app.add_flag("--profile{-}", c.run.profile.tables,
               "write where the time goes, by binding and by callee, to standard error or to a file (.json or text)")
      ->type_name("[=FILE]");
  app.add_option("--profile-trace", c.run.profile.trace, "write the calls as a trace for Perfetto or chrome://tracing")
      ->type_name("FILE.json");
  app.add_option("--profile-flame", c.run.profile.flame, "write the call paths as a picture")->type_name("FILE.svg");
  app.add_option("--profile-memory", c.run.profile.memory, "write the memory held over time as a picture")
      ->type_name("FILE.svg");
  app.add_option("--profile-simulate", c.run.profile.simulate,
                 "with the time that the run would take if a device did so much a second; once for each device")
      ->allow_extra_args(false)
      ->type_name("DEVICE,flops=N,bytes=N,link=N,latency=TIME");
  app.add_option("--profile-runs", c.run.profile.runs, "number of runs that are profiled")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
}

// `rldb run FILE [FUNCTION] [VALUE...]`, as at the prompt.
void take_call(CommandLine& c) {
  std::vector<std::string> words(c.files.begin() + 1, c.files.end());
  c.files.resize(1);
  if (!words.empty() && !session::looks_like_value(words[0]) && c.function.empty()) {
    c.function = words[0];
    words.erase(words.begin());
  }
  c.inputs.insert(c.inputs.end(), words.begin(), words.end());
}

void add_check_command(CLI::App& app, CommandLine& c) {
  add_files(app, c, 0);
  add_model_options(app, c);
  app.add_flag("--roundtrip", c.check.roundtrip, "also print, reparse and compare");
  add_save_repro(app, c);
}

void add_print_command(CLI::App& app, CommandLine& c) {
  add_files(app, c, 1);
  add_model_options(app, c);
  add_syntax(app, c);
  app.add_option("--function", c.function, "only this one")->type_name("F");
  app.add_flag("--show-meta", c.options.print.show_meta, "print constants in a metadata block");
}

void add_diff_command(CLI::App& app, CommandLine& c) {
  add_files(app, c, 2);
  add_diff_layout(app, c);
}

void add_opt_command(CLI::App& app, CommandLine& c) {
  add_files(app, c, 1);
  add_model_options(app, c);
  add_to_relax(app, c);
  add_syntax(app, c);
  add_opt_options(app, c);
  add_tolerance(app, c);
  add_diff_layout(app, c);
  add_save_repro(app, c);
  add_run_options(app, c);
}

void add_build_command(CLI::App& app, CommandLine& c) {
  add_files(app, c, 1);
  add_model_options(app, c);
  add_to_relax(app, c);
  app.add_option("-o,--output", c.output,
                 "the file to write: x.rlvm, an executable for rldb and TVM; x.so or x.o, a library that needs "
                 "neither, with a C header")
      ->required()
      ->type_name("FILE");
  app.add_flag("--standalone", c.build.standalone,
               "write a program of its own, with arguments and results in .npy files");
  app.add_option("--emit", c.build.emit, "what to write where the name does not say it")
      ->check(CLI::IsMember({"rlvm", "so", "o", "program"}))
      ->type_name("FORM");
  app.add_option("--linker", c.build.linker,
                 "for libraries and programs: a C compiler or linker other than the first of "
                 "cc, gcc, clang, ld.lld and ld that is found")
      ->type_name("COMMAND");
  add_check_bounds(app, c);
  app.add_flag("-O,--optimise", c.build.optimise, "optimise first, with the pipeline `cpu_generic`");
}

void add_disasm_command(CLI::App& app, CommandLine& c) {
  add_files(app, c, 1);
  add_model_options(app, c);
  add_to_relax(app, c);
}

void add_run_command(CLI::App& app, CommandLine& c) {
  add_files(app, c, 0);
  add_model_options(app, c);
  add_to_relax(app, c);
  add_inputs(app, c);
  app.add_option("--ranks", c.run.ranks,
                 "number of workers that run the program together; x@1=... is an input of rank 1")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  app.add_option("--groups", c.run.groups, "number of groups of ranks, for collectives with in_group")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  app.callback([&c] {
    // In a job of MPI the ranks are its processes.
    if (c.run.ranks % c.run.groups != 0 && !support::Ranks::is_in_job())
      throw CLI::ValidationError("--groups", "needs a number that divides --ranks");
    if (!c.run.record.empty() && (c.run.profile.any() || c.run.sanitizers.any() || c.run.ranks > 1))
      throw CLI::ValidationError("--record", "does not work with --profile, --sanitize and --ranks");
    if (c.run.ranks > 1 && c.run.sanitizers.any())
      throw CLI::ValidationError("--sanitize", "does not work with --ranks: it looks at a single rank");
    if (c.run.profile.any() && c.run.sanitizers.any())
      throw CLI::ValidationError("--profile", "does not work with --sanitize, which runs the program in another way");
    take_call(c);
  });
  app.add_option("-o,--output", c.output,
                 "write the result to f.npy, or to f.npz or f.safetensors if there are several")
      ->type_name("FILE");
  app.add_option("--expected-output", c.expected_output, "compare the result with f.npy or f.npz")->type_name("FILE");
  app.add_option_function<std::string>(
         "--sanitize",
         [&c](const std::string& text) {
           std::string wrong;
           const auto which = repro::parse_sanitizers(text, wrong);
           if (!which)
             throw CLI::ValidationError("--sanitize", "knows " + repro::sanitizer_names() + ", not `" + wrong + "`");
           c.run.sanitizers = *which;
         },
         "look for " + repro::sanitizer_doc())
      ->type_name("WHAT,...");
  add_profile(app, c);
  app.add_option("--record", c.run.record,
                 "write the run to a file that `rldb FILE.rldbrun` opens on any machine: at its end, or at its fault")
      ->type_name("FILE.rldbrun");
  add_tolerance(app, c);
  add_save_repro(app, c);
  add_run_options(app, c);
}

void add_compare_command(CLI::App& app, CommandLine& c) {
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
  app.add_option("--other-passes", c.compare.other_passes, "passes applied to the second program")
      ->type_name("PIPELINE");
  app.add_option_function<std::string>(
         "--other-engine", [&c](const std::string& word) { c.compare.other_engine = engine_words().at(word); },
         "engine for the kernels of the second program")
      ->check(CLI::IsMember(engine_words()))
      ->type_name("ENGINE");
  add_expected(app, c);
  app.add_option("--recorded", c.compare.recorded,
                 "a folder with a recorded run of TVM: each of its calls is run on the arguments recorded for it "
                 "(python/rldb_tvm.py records)")
      ->type_name("DIR");
  app.add_flag("--shadow", c.compare.shadow,
               "also run the first program in float64, to tell whether the difference is more than rounding");
  add_save_repro(app, c);
  add_tvm_script(app, c);
  add_inputs(app, c);
  add_tolerances(app, c);
  add_run_options(app, c);
}

void add_bisect_command(CLI::App& app, CommandLine& c) {
  add_model_options(app, c);
  auto* file = app.add_option("files", c.files, "a module")->expected(0, 1)->type_name("FILE");
  auto* trace = app.add_option("--trace", c.bisect.traces,
                               "a folder of files NNN_PassName.py, as TVM's DumpIR writes; one folder per pipeline")
                    ->type_name("DIR")
                    ->expected(1)
                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                    ->excludes(file);
  app.add_option("--original", c.bisect.original,
                 "with --trace: the module before the first pass, from which constants that the folder leaves out are "
                 "taken too")
      ->type_name("FILE")
      ->needs(trace);
  for (CLI::Option* option : add_oracle(app, c))
    if (option->get_name() != "--expected-output") option->excludes(trace);
  add_diff_layout(app, c);
  app.add_option_function<std::string>(
         "--by", [&c](const std::string& word) { c.bisect.by_kernel = word == "kernel"; },
         "pass (default), or kernel: which kernel the JIT gets wrong, and which step of its schedule")
      ->check(CLI::IsMember({"pass", "kernel"}))
      ->type_name("WHAT")
      ->excludes(trace);
}

void add_reduce_command(CLI::App& app, CommandLine& c) {
  add_files(app, c, 1);
  add_model_options(app, c);
  add_oracle(app, c);
  app.add_option("-o,--output", c.output, "write to FILE instead of standard output")
      ->type_name("FILE")
      ->check(name_of_text());
  app.add_option("-j,--jobs", c.jobs, "number of candidates tried in parallel")->check(CLI::Range(1, 256));
  app.add_flag("--keep-defined", c.reduce.keep_defined,
               "refuse candidates that access tensors out of bounds, unless the program itself does");
  add_partner(app, c, "--test-server",
              "like --test, but the command stays up and is asked by lines of JSON (docs/repro.md, \"Partners\"): "
              "for one that takes long to start");
  add_onnx_output(app, c);
  app.add_option("--seconds", c.seconds, "stop after this many seconds and keep the smallest module so far")
      ->check(seconds());
}

void add_fuzz_command(CLI::App& app, CommandLine& c) {
  auto* relay = app.add_flag("--relay", c.fuzz.relay,
                             "programs of Relay: through the passes of the Relay VM's compiler, and beside their "
                             "translation to Relax");
  app.add_option("--passes", c.passes, "pipeline to apply to each program (default: cpu_generic)")
      ->type_name("PIPELINE");
  app.add_option("--time", c.seconds, "stop after this many seconds (default without --programs: 60)")
      ->check(seconds());
  app.add_option("--programs", c.fuzz.programs, "number of programs")->check(whole_number());
  app.add_flag("--coverage", c.fuzz.coverage,
               "also count the operators, dtypes, passes and rewrites that were reached");
  app.add_option("--seeds", c.fuzz.seed_folders,
                 "folder of modules: each program is one of them with operands exchanged and operators added")
      ->type_name("DIR")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--write", c.fuzz.write_to,
                 "only write the programs, with inputs and the values computed here, for other compilers to be run on")
      ->type_name("DIR");
  add_partner(app, c, "--against",
              "another compiler, a command that stays up: its results have to be rldb's (docs/repro.md, "
              "\"Partners\"; `python3 rldb_tvm.py --serve` is one)");
  app.add_option("-j,--jobs", c.jobs,
                 "with --against: number of programs that are looked at in parallel, and of its processes")
      ->check(CLI::Range(1, 256));
  app.add_option("-o,--output", c.output, "folder for a script for `rldb test` of each fault found")->type_name("DIR");
  add_save_repro(app, c);
  add_tvm_script(app, c);
  add_run_options(app, c);
  for (const char* other : {"--coverage", "--seeds", "--write", "--against", "--tvm-script", "--save-repro"})
    relay->excludes(app.get_option(other));
}

void add_mcp_command(CLI::App& app, CommandLine& c) {
  app.add_option("folders", c.files, "folders whose files the agent may read; none: it sends texts")
      ->type_name("FOLDER");
}

void add_jupyter_command(CLI::App& app, CommandLine& c) {
  app.add_option("files", c.files, "`install`, or the connection file that Jupyter writes")
      ->required()
      ->expected(1)
      ->type_name("install|FILE");
  app.add_option("--prefix", c.jupyter.prefix,
                 "install below DIR/share/jupyter (default: the user's own folder of Jupyter)")
      ->type_name("DIR");
  add_run_options(app, c);
}

void add_lsp_command(CLI::App& app, CommandLine& /*c*/) {
  app.add_flag_callback(
      "--stdio", [] {}, "standard input and output, as some clients say; there is nothing else");
}

// Of TCP.
constexpr std::uint64_t kLastPort = 65535;

void add_dap_command(CLI::App& app, CommandLine& c) {
  app.add_option_function<std::uint16_t>(
         "--port", [&c](const std::uint16_t& port) { c.dap.port = port; },
         "serve on this loopback port instead of the standard streams; 0: a free one")
      ->check(whole_number(kLastPort))
      ->type_name("N");
  add_run_options(app, c);
}

void add_test_command(CLI::App& app, CommandLine& c) {
  add_files(app, c, 0);
  app.add_flag("--bless", c.test.bless, "rewrite the expected output in the files");
  app.add_flag("--update-only-output", c.test.update_only_output,
               "like --bless, but only in files whose expectations (`:expect`) all hold");
  app.add_option("-j", c.jobs, "number of files run in parallel")->check(CLI::Range(1, 256));
  add_trust_scripts(app, c);
  app.add_flag("--git-bisect", c.test.git_bisect,
               "exit codes for `git bisect run`: 1: fault present, 0: absent, 125: cannot tell");
  app.add_option("--test", c.test_command,
                 "with --git-bisect: another program, which is given the file of the module; its exit code 0 means "
                 "that the module has the fault")
      ->type_name("COMMAND");
  add_run_options(app, c);
}

}  // namespace

void add_command_options(Subcommand id, CLI::App& app, CommandLine& c) {
  switch (id) {
    case Subcommand::Repl:
      add_model_options(app, c);
      break;
    case Subcommand::Check:
      add_check_command(app, c);
      break;
    case Subcommand::Print:
      add_print_command(app, c);
      break;
    case Subcommand::Diff:
      add_diff_command(app, c);
      break;
    case Subcommand::Opt:
      add_opt_command(app, c);
      break;
    case Subcommand::Build:
      add_build_command(app, c);
      break;
    case Subcommand::Disasm:
      add_disasm_command(app, c);
      break;
    case Subcommand::Run:
      add_run_command(app, c);
      break;
    case Subcommand::Compare:
      add_compare_command(app, c);
      break;
    case Subcommand::Bisect:
      add_bisect_command(app, c);
      break;
    case Subcommand::Reduce:
      add_reduce_command(app, c);
      break;
    case Subcommand::Fuzz:
      add_fuzz_command(app, c);
      break;
    case Subcommand::Mcp:
      add_mcp_command(app, c);
      break;
    case Subcommand::Jupyter:
      add_jupyter_command(app, c);
      break;
    case Subcommand::Lsp:
      add_lsp_command(app, c);
      break;
    case Subcommand::Dap:
      add_dap_command(app, c);
      break;
    case Subcommand::Test:
      add_test_command(app, c);
      break;
  }
  add_common(app, c);
}

}  // namespace rldb::ui
