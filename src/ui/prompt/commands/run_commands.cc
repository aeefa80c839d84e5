// Commands that run programs and inspect kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "rldb/codegen/nvptx/nvptx.h"
#include "rldb/codegen/opencl/opencl.h"
#include "rldb/debug/file_names.h"
#include "rldb/debug/kernel_result.h"
#include "rldb/expression/array.h"
#include "rldb/expression/language.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/session/default_function.h"
#include "rldb/session/generated.h"
#include "rldb/session/group.h"
#include "rldb/session/prepare.h"
#include "rldb/session/typed_value.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_input.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_rank.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/rank_job.h"
#include "rldb/ui/prompt/start_run.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/duration.h"
#include "ui/prompt/commands/kernel_source.h"
#include "ui/prompt/entry/frame_scope.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

using runtime::Value;

namespace {

std::optional<std::vector<session::Argument>> arguments_of(Repl& repl, const std::string& function,
                                                           std::span<const std::string> words, std::size_t rank) {
  source::Diagnostics diagnostics;
  std::optional<std::vector<std::string>> own(std::in_place, words.begin(), words.end());
  if (repl.group || prompt_ranks()) own = session::inputs_of_rank(words, rank, repl.ranks, diagnostics);
  auto arguments = own ? repl.session().arguments(function, *own, diagnostics) : std::nullopt;
  if (repl.report(diagnostics) == Status::Failed || !arguments) return std::nullopt;
  if (rank == 0)
    for (const std::string& line : session::generated_lines(*arguments)) repl.print("{}\n", line);
  return arguments;
}

}  // namespace

std::optional<PreparedCall> prepare_call(Repl& repl, std::string_view rest) {
  return prepare_call(repl, split_values(rest));
}

std::optional<PreparedCall> prepare_call(Repl& repl, std::vector<std::string> words) {
  const std::vector<std::string> names = repl.session().function_names();
  const auto known = [&](const std::string& n) { return std::find(names.begin(), names.end(), n) != names.end(); };
  PreparedCall call{session::default_function(repl.session()), {}, {}, false};
  const bool value_first = !words.empty() && !known(words[0]) && session::looks_like_value(words[0]);
  if (!words.empty() && !value_first) {
    call.function = words[0];
    words.erase(words.begin());
  }
  for (std::size_t rank = 0; rank < repl.ranks; ++rank) {
    const auto arguments = arguments_of(repl, call.function, words, rank);
    if (!arguments) return std::nullopt;
    std::vector<Value> values;
    for (const session::Argument& a : *arguments) values.push_back(a.value);
    if (rank == repl.rank) call.values = values;
    call.by_rank.push_back(std::move(values));
    call.any_generated |= session::any_generated(*arguments);
  }
  return call;
}

namespace {

// Runs the group as far as it gets. False: it does not finish, and stopping to inspect that was not requested.
bool run_group(Repl& repl, const PreparedCall& call, bool looked_at) {
  session::ProcessGroup* job = prompt_ranks();
  if (!repl.group && !job) return true;
  if (!needs(repl, "a run on several ranks", session::kRanks)) return false;  // loaded after `:ranks`
  source::Diagnostics diagnostics;
  if (job) {
    const auto executable = debug::executable_file(repl.session(), diagnostics);
    const bool started = executable && job->start_others(*executable, call.function, call.by_rank, diagnostics);
    repl.report(diagnostics);
    return started;
  }
  repl.session().mute(true);
  const bool good = repl.group->run(call.function, call.by_rank, diagnostics);
  repl.session().mute(false);
  repl.group->be(repl.rank);
  repl.report(diagnostics);
  return good || (looked_at && repl.session().options().engine != session::Engine::Eval);
}

std::optional<debug::StopReport> run_on_evaluator(Repl& repl, const PreparedCall& call) {
  source::Diagnostics diagnostics;
  const session::RunResult result = repl.session().run(call.function, call.values, diagnostics);
  repl.session().report_helpers(diagnostics);
  if (repl.report(diagnostics) == Status::Failed || !result.ok) return std::nullopt;
  debug::StopReport stop;
  stop.kind = debug::StopKind::Finished;
  stop.value = result.value.is_null() ? debug::kernel_result(repl.session(), call.function, call.values) : result.value;
  return stop;
}

}  // namespace

std::optional<debug::StopReport> start_call(Repl& repl, const PreparedCall& call, bool stop_at_entry) {
  if (!run_group(repl, call, stop_at_entry || !repl.debugger().breakpoints().empty())) return std::nullopt;
  session::ProcessGroup* job = prompt_ranks();
  if (repl.session().options().engine == session::Engine::Eval && !stop_at_entry) {
    const session::ProcessGroup::Together together(job);
    if (!repl.debugger().breakpoints().empty()) repl.print("note: breakpoints need `:engine jit` or `:engine vm`\n");
    return run_on_evaluator(repl, call);
  }
  source::Diagnostics diagnostics;
  repl.begin_run();
  debug::StopReport stop = repl.debugger().start(call.function, call.values, stop_at_entry, diagnostics);
  if (job) job->close_run();
  repl.session().report_helpers(diagnostics);
  if (repl.report(diagnostics) == Status::Failed) return std::nullopt;
  return stop;
}

namespace {

// As in gdb, a run without arguments is called like the last one.
std::string call_text(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return std::string(rest);
  const std::vector<std::string> words = split_values(repl.last_call), names = repl.session().function_names();
  if (words.empty()) return {};
  if (!session::looks_like_value(words[0]) && std::find(names.begin(), names.end(), words[0]) == names.end())
    return {};  // another program
  if (!repl.wants_json() && words.size() > 1) repl.print("with the last arguments: {}\n", repl.last_call);
  return repl.last_call;
}

Status run_or_start(Repl& repl, std::string_view given, bool stop_at_entry) {
  if (!repl.may_give_run_up(stop_at_entry ? "`start`" : "`run`")) return Status::Failed;
  if (repl.written_file_waits) {  // the new run is one of the text as it is now
    repl.debugger().kill();
    repl.follow_written_file();
  }
  const std::string rest = call_text(repl, given);
  const auto call = prepare_call(repl, rest);
  if (!call) return Status::Failed;
  repl.last_call = rest;
  const auto stop = start_call(repl, *call, stop_at_entry);
  if (!stop) return Status::Failed;
  if (stop->kind != debug::StopKind::Finished) return repl.show_stop(*stop);
  // A run that hit no breakpoint shows its value only.
  repl.last().value = stop->value;
  if (!stop->value.is_null()) {
    if (!repl.wants_json()) repl.show_value(stop->value);
    if (!repl.wants_json() && call->any_generated && session::lacks_numbers(stop->value))
      repl.print("{}; `:sanitize nan` shows where they begin\n", session::kLacksNumbers);
    repl.session().set_value("_", stop->value);
  }
  if (!repl.wants_json() && !stop->note.empty()) repl.print("note: {}\n", stop->note);
  return repl.wants_json() ? repl.give(stop_json(repl, *stop)) : Status::Good;
}

std::optional<std::size_t> whole_number(std::string_view text) {
  std::size_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

Status show_code(Repl& repl, std::string_view rest, session::Session::KernelText what) {
  if (rest.empty()) return Status::Usage;
  source::Diagnostics diagnostics;
  const auto text = repl.session().kernel_text(rest, what, diagnostics);
  if (repl.report(diagnostics) == Status::Failed || !text) return Status::Failed;
  if (repl.wants_json()) return repl.give({{"kernel", rest}, {"text", *text}});
  repl.console().write(*text);
  if (!text->ends_with('\n')) repl.console().write("\n");
  return Status::Good;
}

}  // namespace

// Numbers, and lists of such.
static bool is_of_numbers(const runtime::Value& v) {
  if (!v.is(runtime::ValueKind::Tuple)) return expression::is_number(v);
  const auto& fields = v.as_tuple().fields;
  return std::all_of(fields.begin(), fields.end(), is_of_numbers);
}

Status command_Input(Repl& repl, std::string_view rest) {
  if (rest.empty()) {
    if (repl.wants_json()) return repl.give(session_values_json(repl));
    if (repl.session().values().empty()) repl.print("no values\n");
    for (const session::NamedValue& v : repl.session().values().in_order())
      repl.print("{:<10} {}\n", v.name, runtime::describe(v.value));
    return Status::Good;
  }
  const auto blank = rest.find_first_of(" \t=");
  if (blank == std::string_view::npos) return Status::Usage;
  const std::string name(rest.substr(0, blank));
  if (!is_one_name(name))
    return repl.fail(source::message(diag::BadName, name, "a value")
                         .with_hint("it consists of letters, digits and `_`, and does not begin with a digit"));
  std::string_view form = trim(rest.substr(blank));
  if (form.starts_with('=')) form = trim(form.substr(1));
  auto value = session::typed_value(form, nullptr, [&](std::string_view n) { return repl.session().find_value(n); });
  if (!value.ok()) return repl.fail(source::message(diag::BadInput, form, value.error().message));
  const bool is_list = form.starts_with('[') && value->is(runtime::ValueKind::Tuple) && is_of_numbers(*value);
  if (is_list)
    if (auto tensor = expression::as_tensor(*value); !tensor.ok())
      return repl.fail(source::message(diag::BadInput, form, tensor.error().message));
  if (repl.wants_json())
    repl.give({{"name", name}, {"value", value_json(*value, repl.print_format.max_elements)}});
  else
    repl.print("{} = {}{}\n", name, runtime::describe(*value),
               is_list ? " of numbers, a tensor where a parameter is one; `array([...])` is a tensor by itself" : "");
  repl.session().set_value(name, std::move(value).value());
  return Status::Good;
}

Status command_Run(Repl& repl, std::string_view rest) { return run_or_start(repl, rest, false); }
Status command_Start(Repl& repl, std::string_view rest) { return run_or_start(repl, rest, true); }

namespace {

struct Timing {
  std::vector<std::uint64_t> times;
  std::uint64_t total = 0;
  std::uint64_t median() const {
    std::vector<std::uint64_t> sorted = times;
    std::nth_element(sorted.begin(), sorted.begin() + std::ptrdiff_t(sorted.size() / 2), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

// Runs until their sum is `budget` nanoseconds, at least once. False: diagnosed.
bool add_runs(Repl& repl, const PreparedCall& call, const std::vector<Value>& values, std::uint64_t budget,
              Timing& timing, source::Diagnostics& out) {
  constexpr std::size_t kMost = 10'000;
  do {
    const session::RunResult result = repl.session().run(call.function, values, out);
    if (!result.ok) return false;
    timing.times.push_back(result.nanoseconds);
    timing.total += result.nanoseconds;
  } while (timing.total < budget && timing.times.size() < kMost);
  return true;
}

// Optimised code is measured; what the first run does besides is not counted.
bool warm_up(Repl& repl, const PreparedCall& call, source::Diagnostics& out) {
  if (repl.session().options().engine == session::Engine::Eval) return true;
  if (const auto build = repl.session().runnable(out)) session::prepare_kernels(*build, call.function);
  Timing not_counted;
  return add_runs(repl, call, call.values, 0, not_counted, out);
}

}  // namespace

// Runs as `:run` makes them, with the same checks.
Status command_Time(Repl& repl, std::string_view rest) {
  constexpr std::uint64_t kBudget = 1'000'000'000;  // nanoseconds
  const auto call = prepare_call(repl, rest);
  if (!call) return Status::Failed;
  source::Diagnostics diagnostics;
  Timing runs;
  if (warm_up(repl, *call, diagnostics)) add_runs(repl, *call, call->values, kBudget, runs, diagnostics);
  repl.session().report_helpers(diagnostics);
  if (repl.report(diagnostics) == Status::Failed || runs.times.empty()) return Status::Failed;
  const bool checked = repl.session().options().check_bounds;
  std::sort(runs.times.begin(), runs.times.end());
  if (repl.wants_json())
    return repl.give({{"function", call->function},
                      {"runs", runs.times.size()},
                      {"median", runs.median()},
                      {"best", runs.times.front()},
                      {"worst", runs.times.back()},
                      {"bounds_checked", checked}});
  repl.print("{} runs: median {}, best {}, worst {}{}\n", runs.times.size(), format_duration(runs.median()),
             format_duration(runs.times.front()), format_duration(runs.times.back()),
             checked ? "" : " (bounds were not checked)");
  return Status::Good;
}

namespace {

// Gives one kernel an engine of its own; naming the program's engine removes it.
Status set_kernel_engine(Repl& repl, std::string_view said, const std::string& kernel) {
  session::Options& options = repl.session().options();
  using session::Engine;
  const auto engine = session::engine_named(said);
  if (!engine || *engine == Engine::Vm)
    return repl.fail(
        source::message(diag::NoSuchThing, "engine of a kernel", said)
            .with_hint(fmt::format("engines: {}, {}, {}, {}", to_string(Engine::Jit), to_string(Engine::Eval),
                                   to_string(Engine::OpenCl), to_string(Engine::Cuda))));
  source::Diagnostics diagnostics;
  const ir::PrimFunc* now = repl.debugger().active() ? repl.debugger().kernel_of_run(kernel) : nullptr;
  const bool known = now ? repl.debugger().replace_kernel(kernel, now, *engine, diagnostics)
                         : repl.session().find_kernel(kernel, diagnostics) != nullptr;
  if (repl.report(diagnostics) == Status::Failed || !known) return Status::Failed;
  options.kernel_engines.erase(kernel);
  const Engine of_kernels = options.engine == Engine::Vm ? Engine::Eval : options.engine;
  if (*engine != of_kernels) options.kernel_engines[kernel] = *engine;
  repl.print("{} runs on {}{}\n", kernel, said, now ? ", in this run from here on" : "");
  return Status::Good;
}

}  // namespace

Status command_Engine(Repl& repl, std::string_view rest) {
  session::Options& options = repl.session().options();
  if (const std::vector<std::string> words = split_words(rest); words.size() == 3 && words[1] == "for")
    return set_kernel_engine(repl, words[0], words[2]);
  if (!rest.empty()) {
    const auto found = session::engine_named(rest);
    if (!found)
      return repl.fail(
          source::message(diag::NoSuchThing, "engine", rest).with_hint("engines: " + session::engine_names()));
    options.engine = *found;
  }
  if (repl.wants_json()) {
    Json own = Json::array();
    for (const auto& [kernel, engine] : options.kernel_engines)
      own.push_back({{"kernel", kernel}, {"engine", to_string(engine)}});
    return repl.give({{"engine", to_string(options.engine)}, {"kernels", std::move(own)}});
  }
  repl.print("engine: {}\n", to_string(options.engine));
  for (const auto& [kernel, engine] : options.kernel_engines) repl.print("  {}: {}\n", kernel, to_string(engine));
  return Status::Good;
}

namespace {

std::string state_of(const session::Session::KernelState& k) {
  if (!k.compiled) return "not compiled yet";
  return fmt::format("{}, {} tier{}", k.from_cache ? "from cache" : "compiled", k.quick ? "quick" : "full",
                     k.improving ? ", the full one is being compiled" : "");
}

}  // namespace

Status command_Jit(Repl& repl, std::string_view rest) {
  if (!rest.empty()) {
    source::Diagnostics diagnostics;
    const bool ok = repl.session().compile_kernel(rest, diagnostics);
    if (repl.report(diagnostics) == Status::Failed || !ok) return Status::Failed;
    if (repl.wants_json()) return repl.give(kernel_states_json(repl));
    repl.print("{} is compiled\n", rest);
    return Status::Good;
  }
  if (repl.wants_json()) return repl.give(kernel_states_json(repl));
  const auto states = repl.session().kernel_states();
  if (states.empty()) repl.print("no kernels yet\n");
  for (const auto& [kernel, engine] : repl.session().options().kernel_engines)
    repl.print("{:<24} on {}\n", kernel, to_string(engine));
  for (const session::Session::KernelState& k : states) repl.print("{:<24} {}\n", k.name, state_of(k));
  return Status::Good;
}

Status command_Llvm(Repl& repl, std::string_view rest) {
  return show_code(repl, rest, session::Session::KernelText::Llvm);
}

Status command_Asm(Repl& repl, std::string_view rest) {
  return show_code(repl, rest, session::Session::KernelText::Assembly);
}

Status command_OpenCl(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return show_code(repl, rest, session::Session::KernelText::OpenCl);
  const auto devices = codegen::opencl_devices();
  if (!devices.ok()) return repl.fail(devices.error());
  if (repl.wants_json()) {
    Json all = Json::array();
    for (const codegen::OpenClDevice& d : *devices)
      all.push_back({{"platform", d.platform},
                     {"name", d.name},
                     {"version", d.version},
                     {"memory", d.memory},
                     {"local_memory", d.local_memory},
                     {"group_size", d.group_size},
                     {"float64", d.float64}});
    return repl.give(std::move(all));
  }
  for (const codegen::OpenClDevice& d : *devices)
    repl.print("{}: {} ({}), {} MiB of memory, {} KiB shared by a block of up to {} threads{}\n", d.platform, d.name,
               d.version, d.memory >> 20, d.local_memory >> 10, d.group_size, d.float64 ? "" : ", without float64");
  return Status::Good;
}

Status command_Ptx(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return show_code(repl, rest, session::Session::KernelText::Ptx);
  const auto devices = codegen::cuda_devices();
  if (!devices.ok()) return repl.fail(devices.error());
  if (repl.wants_json()) {
    Json all = Json::array();
    for (const codegen::CudaDevice& d : *devices)
      all.push_back({{"name", d.name},
                     {"capability", fmt::format("{}.{}", d.major, d.minor)},
                     {"memory", d.memory},
                     {"shared_memory", d.shared_memory},
                     {"block_size", d.block_size}});
    return repl.give(std::move(all));
  }
  for (const codegen::CudaDevice& d : *devices)
    repl.print("{}: compute capability {}.{}, {} MiB of memory, {} KiB shared by a block of up to {} threads\n", d.name,
               d.major, d.minor, d.memory >> 20, d.shared_memory >> 10, d.block_size);
  return Status::Good;
}

Status show_source(Repl& repl, std::string_view kernel) {
  using session::Engine;
  using Text = session::Session::KernelText;
  const auto& own = repl.session().options().kernel_engines;
  const auto it = own.find(kernel);
  switch (it == own.end() ? repl.session().options().engine : it->second) {
    case Engine::OpenCl:
      return show_code(repl, kernel, Text::OpenCl);
    case Engine::Cuda:
      return show_code(repl, kernel, Text::Ptx);
    case Engine::Jit:
    case Engine::Eval:
    case Engine::Vm:
      return show_code(repl, kernel, Text::Llvm);
  }
  RLDB_UNREACHABLE("engine");
}

Status command_Ranks(Repl& repl, std::string_view rest) {
  const std::vector<std::string> words = split_words(rest);
  if (words.size() > 3) return Status::Usage;
  if (!words.empty()) {
    constexpr std::size_t kMost = 64;
    const auto count = whole_number(words[0]);
    const auto rank = words.size() > 1 ? whole_number(words[1]) : std::optional<std::size_t>(0);
    if (!count || *count < 1 || *count > kMost) return Status::Usage;
    const auto groups = words.size() > 2 ? whole_number(words[2]) : std::optional<std::size_t>(1);
    if (!rank || *rank >= *count) return repl.fail(source::message(diag::NoSuchRank, words[1], rest, *count));
    if (!groups || *groups < 1 || *count % *groups != 0) return Status::Usage;
    if (prompt_ranks()) return repl.fail(source::message(diag::RanksOfJob, "`:ranks`", prompt_ranks()->size()));
    if (*count > 1 && repl.session().program() && !needs(repl, "`:ranks`", session::kRanks)) return Status::Failed;
    repl.group.reset();  // before another one is made: it unsets the current workers
    if (*count > 1) repl.group = std::make_unique<session::Group>(repl.session(), *count, *groups);
    repl.ranks = *count;
    repl.rank = *rank;
  }
  const std::size_t groups = repl.group ? repl.group->groups() : 1;
  if (repl.wants_json()) return repl.give({{"ranks", repl.ranks}, {"rank", repl.rank}, {"groups", groups}});
  if (repl.ranks == 1) {
    repl.print("one worker runs the program\n");
  } else {
    const std::string divided = groups > 1 ? fmt::format(" in {} groups", groups) : "";
    repl.print("{} ranks{} run the program; rank {} is the one at the prompt\n", repl.ranks, divided, repl.rank);
  }
  return Status::Good;
}

namespace {

Json plugins_json(const std::vector<runtime::PluginInfo>& plugins) {
  Json rows = Json::array();
  for (const runtime::PluginInfo& p : plugins) {
    Json functions = Json::array();
    for (const runtime::PluginFunction& f : p.functions)
      functions.push_back({{"name", f.name}, {"signature", or_null(f.signature)}, {"doc", or_null(f.doc)}});
    rows.push_back({{"path", p.path}, {"functions", std::move(functions)}});
  }
  return rows;
}

Status show_plugins(Repl& repl, std::span<const runtime::PluginInfo> plugins) {
  for (const runtime::PluginInfo& p : plugins) {
    repl.print("{}: {}\n", p.path, support::counted(p.functions.size(), "function"));
    for (const runtime::PluginFunction& f : p.functions)
      repl.print("  {}{}{}{}\n", f.name, f.signature, f.doc.empty() ? "" : "  # ", support::one_line(f.doc));
  }
  return Status::Good;
}

}  // namespace

Status command_Plugin(Repl& repl, std::string_view rest) {
  const auto& plugins = repl.session().plugins();
  if (rest.empty()) {
    if (repl.wants_json()) return repl.give(plugins_json(plugins));
    if (plugins.empty()) repl.print("no plugin is loaded\n");
    return show_plugins(repl, plugins);
  }
  if (!repl.may("load a library", rest)) return Status::Failed;
  source::Diagnostics diagnostics;
  const bool ok = repl.session().load_plugin(std::string(rest), diagnostics);
  repl.report(diagnostics);
  if (!ok) return Status::Failed;
  if (repl.wants_json()) return repl.give(plugins_json({plugins.back()}));
  return show_plugins(repl, {&plugins.back(), 1});
}

}  // namespace rldb::ui
