// From launch to the end: the program is loaded, started, restarted, ended.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "protocol/dap/adapter.h"
#include "protocol/dap/fields.h"
#include "rldb/repro/sanitize.h"
#include "rldb/session/dim_names.h"
#include "rldb/support/file.h"
#include "rldb/ui/prompt/command.h"
#include "rldb/ui/terminal/exit_code.h"
#include "rldb/ui/terminal/script_path.h"

namespace rldb::protocol::dap {

namespace fs = std::filesystem;

namespace {

// A word as the prompt splits them.
std::string quoted(const std::string& word) {
  if (ui::split_values(word) == std::vector{word}) return word;
  return word.find('"') == std::string::npos ? fmt::format("\"{}\"", word) : fmt::format("'{}'", word);
}

// JSON's numbers, booleans and lists of them are values in the prompt's spelling.
bool holds_numbers(const Json& v, int depth = 0) {
  constexpr int kMaxDepth = 64;  // as for lists that are typed
  if (!v.is_array()) return v.is_number() || v.is_boolean();
  return depth < kMaxDepth &&
         std::all_of(v.begin(), v.end(), [&](const Json& one) { return holds_numbers(one, depth + 1); });
}
std::string text_of(const Json& v) { return v.is_string() ? v.get<std::string>() : v.dump(); }

// A list of values, or an object of names and values.
std::vector<std::string> read_inputs(Fields& fields, const Json& arguments) {
  if (!fields.has("inputs")) return {};
  const Json& inputs = arguments["inputs"];
  std::vector<std::string> words;
  const bool by_name = inputs.is_object();
  if (!by_name && !inputs.is_array()) return fields.texts("inputs");
  for (const auto& [name, value] : inputs.items()) {
    if (!value.is_string() && !holds_numbers(value))
      fields.fail("`inputs` must hold texts such as \"2x3xf32=ones\", numbers, booleans, or lists of numbers");
    else
      words.push_back(by_name ? fmt::format("{}={}", name, text_of(value)) : text_of(value));
  }
  return words;
}

void read_dims(Fields& fields, session::Options& options) {
  for (const auto& [name, value] : fields.object("dims").items()) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0)
      fields.fail("the values of `dims` must be integers of at least 0");
    else
      options.dims[name] = value.get<std::int64_t>();
  }
}

void read_engine(Fields& fields, session::Options& options) {
  const std::string said = fields.text_or("engine");
  if (said.empty()) return;
  if (const auto engine = session::engine_named(said))
    options.engine = *engine;
  else
    fields.fail(fmt::format("`engine` must be one of {}, not `{}`", session::engine_names(), said));
}

}  // namespace

std::vector<std::string> Launch::words() const {
  std::vector<std::string> all = inputs;
  if (!function.empty()) all.insert(all.begin(), function);
  return all;
}

std::string Launch::call() const {
  std::string words = function;
  for (const std::string& input : inputs) words += (words.empty() ? "" : " ") + quoted(input);
  return words;
}

// ---- launch ----

std::optional<Failure> Adapter::read_launch(const Json& arguments) {
  Fields fields(arguments);
  Launch l;
  l.program = fields.text("program");
  l.function = fields.text_or("function");
  l.inputs = read_inputs(fields, arguments);
  l.passes = fmt::format("{}", fmt::join(fields.texts("passes"), ","));
  l.sanitize = fmt::format("{}", fmt::join(fields.texts("sanitize"), ","));
  l.commands = fields.texts("commands");
  l.ranks = fields.integer_or("ranks", 1);
  l.rank = fields.integer_or("rank", 0);
  l.groups = fields.integer_or("groups", 1);
  l.stop_on_entry = fields.flag("stopOnEntry");
  l.stop_on_exit = fields.flag("stopOnExit");
  l.no_debug = fields.flag("noDebug");
  line_.options.seed = std::uint64_t(fields.integer_or("seed", std::int64_t(line_.options.seed)));
  if (fields.flag("toRelax")) line_.options.machine = session::Machine::Relax;
  read_engine(fields, line_.options);
  read_dims(fields, line_.options);
  std::string folder = fields.text_or("cwd");
  if (fields.failure()) return fields.failure();
  if (l.program.find('\n') != std::string::npos) return Failure{"`program` has a line break"};
  std::string wrong;
  if (!l.sanitize.empty() && !repro::parse_sanitizers(l.sanitize, wrong))
    return Failure{fmt::format("`sanitize` knows {}, not `{}`", repro::sanitizer_names(), wrong)};
  if (!folder.empty() && ::chdir(folder.c_str()) != 0)
    return Failure{fmt::format("`{}` is not a folder that can be entered", folder)};
  std::error_code ignored;
  l.program = fs::absolute(l.program, ignored).lexically_normal().string();
  l.is_script = ui::is_script_path(l.program);
  launch_ = std::move(l);
  return std::nullopt;
}

std::optional<Failure> Adapter::execute(const std::string& entry) {
  const ui::Status status = repl_->execute(entry);
  if (status == ui::Status::Good) return std::nullopt;
  const std::vector<std::string>& errors = repl_->last().errors;
  return Failure{errors.empty() ? fmt::format("`{}` failed", entry) : errors.front()};
}

std::optional<Failure> Adapter::load() {
  std::error_code ignored;
  if (!fs::is_regular_file(launch_.program, ignored))
    return Failure{fmt::format("`{}` is not a file", launch_.program)};
  for (const std::string& plugin : line_.plugins)
    if (auto failure = execute(":plugin " + plugin)) return failure;
  if (!launch_.is_script)
    if (auto failure = execute(":load " + launch_.program)) return failure;
  if (launch_.ranks != 1 || launch_.groups != 1)
    if (auto failure = execute(fmt::format(":ranks {} {} {}", launch_.ranks, launch_.rank, launch_.groups)))
      return failure;
  if (!launch_.passes.empty() && !launch_.is_script)
    if (auto failure = execute(":pipeline " + launch_.passes)) return failure;
  for (const std::string& command : launch_.commands)
    if (auto failure = execute(command)) return failure;
  source::Diagnostics unknown;
  if (!session::has_given_dims(repl_->session(), unknown)) return Failure{reason_in(unknown, {})};
  return std::nullopt;
}

Answer Adapter::begin(const Request& request, bool attach) {
  if (loaded_) return refused("a program is launched already");
  const ui::CommandLine given = line_;
  if (auto failure = read_launch(request.arguments)) {
    line_ = given;
    return support::Failure(*std::move(failure));
  }
  if (attach && !launch_.is_script && !launch_.program.ends_with(".rldbrun"))
    return refused(
        "`attach` takes a script (.session, .rldb) or a recorded run (.rldbrun) as its program; `launch` takes "
        "modules");
  repl_ = std::make_unique<ui::Repl>(line_, console_);
  sources_ = std::make_unique<Sources>(*repl_);
  variables_ = std::make_unique<Variables>(*repl_);
  runs_ = std::make_unique<RankRuns>(*repl_);
  points_ = std::make_unique<Points>(*repl_, *sources_, channel_);
  points_->set_line_base(lines_from_1_ ? 1 : 0);
  console_.set_category("console");
  if (auto failure = load()) {
    points_.reset();
    runs_.reset();
    variables_.reset();
    sources_.reset();
    repl_.reset();
    line_ = given;
    then([this] { channel_.event("terminated"); });
    return support::Failure(*std::move(failure));
  }
  begin_ranks();
  loaded_ = true;
  then([this, attach] {
    channel_.event("process", {{"name", fs::path(launch_.program).filename().string()},
                               {"isLocalProcess", true},
                               {"startMethod", attach ? "attach" : "launch"}});
    channel_.event("initialized");
  });
  return Json();
}

Answer Adapter::on_launch(const Request& request) { return begin(request, false); }
Answer Adapter::on_attach(const Request& request) { return begin(request, true); }

Answer Adapter::on_configurationDone(const Request&) {
  if (configured_) return refused("the program has been started already");
  configured_ = true;
  then([this] { start(); });
  return Json();
}

// ---- start ----

// Findings of the checks are reported and, with the filter `storage`, are places to stop at.
void Adapter::sanitize() {
  std::string which = launch_.sanitize, wrong;
  const bool stops = !launch_.no_debug && points_->catches("storage") && repl_->session().module();
  if (stops && which.find("storage") == std::string::npos) which += which.empty() ? "storage" : ",storage";
  const auto checks = which.empty() ? std::nullopt : repro::parse_sanitizers(which, wrong);
  if (!checks) return;
  if (!repl_->session().module()) {
    channel_.output("console", "the checks of `sanitize` need a module of Relax\n");
    return;
  }
  repro::Program program;
  program.module = repl_->session().module();
  program.function = call_->function;
  program.args = call_->values;
  program.kernels = repl_->session().options().engine;
  repl_->session().mute(true);
  const repro::SanitizedRun ran = repro::run_sanitized(repl_->session(), program, *checks);
  repl_->session().mute(false);
  std::vector<std::pair<std::string, std::string>> places;
  for (const repro::Finding& f : ran.findings) {
    const std::string text = repro::to_string(f);
    channel_.output("important", fmt::format("sanitize: {}\n", text));
    if (stops && f.is_about_storage()) places.emplace_back(fmt::format("{}:{}", f.function, f.reader), text);
  }
  if (ran.findings.empty()) channel_.output("console", fmt::format("sanitize: {} found nothing\n", which));
  points_->set_found(places);
}

void Adapter::start() {
  begin_ranks();
  if (launch_.is_script) return run_script();
  // A recorded run stands where it was recorded.
  if (const debug::StopReport stop = repl_->debugger().last_stop(); stop.kind != debug::StopKind::None) {
    points_->refresh();
    sources_->tell(channel_);
    return report(stop, false);
  }
  bool ready = false;
  repl_->guard(":run " + launch_.call(), [&] {
    call_ = ui::prepare_call(*repl_, launch_.words());
    source::Diagnostics diagnostics;
    ready = call_ && repl_->session().runnable(diagnostics) != nullptr;
    repl_->report(diagnostics);
    if (ready) sanitize();
    return ready ? ui::Status::Good : ui::Status::Failed;
  });
  if (!ready) return end_program(ui::kFailed);
  repl_->last_call = launch_.call();
  if (launch_.no_debug) points_->remove_all();
  points_->refresh();
  sources_->tell(channel_);
  starting_ = runs_->count() > 1;
  const bool went = run(
      "run",
      [this]() -> debug::StopReport {
        const auto stop =
            ui::start_call(*repl_, *call_, (launch_.stop_on_entry && !launch_.no_debug) || pause_at_entry_);
        if (!runs_->is_of_this_group()) begin_ranks();
        return stop ? *stop : debug::StopReport{};
      },
      resume_verb());
  if (went && starting_) start_other_ranks();
}

// A script runs up to where it stops by itself; its expectations are reported like its other replies.
void Adapter::run_script() {
  const auto text = support::read_file(launch_.program, source::kMaxBytes);
  if (!text.ok()) {
    channel_.output("stderr", fmt::format("{}: {}\n", launch_.program, text.error().reason));
    return end_program(ui::kFailed);
  }
  console_.set_category("console");
  traffic_.begin_run(threads());
  repl_->script_path = launch_.program;
  repl_->run_script(*text, launch_.program, true);
  const Traffic::RunEnd end = traffic_.end_run();
  begin_ranks();
  points_->refresh();
  sources_->tell(channel_);
  if (end.ending) return;
  const debug::StopReport stop = repl_->debugger().last_stop();
  if (!repl_->debugger().active() && stop.kind != debug::StopKind::Finished) {
    channel_.output("console", "the script leaves no run to debug\n");
    return end_program(ui::kGood);
  }
  report(stop, false);
}

// ---- the end ----

void Adapter::end_program(int exit_code) {
  if (ended_) return;
  ended_ = true;
  forget_stop();
  if (repl_) repl_->debugger().kill();
  channel_.event("exited", {{"exitCode", exit_code}});
  channel_.event("terminated");
}

Answer Adapter::on_terminate(const Request&) {
  then([this] { end_program(ui::kGood); });
  return Json();
}

Answer Adapter::on_disconnect(const Request&) {
  over_ = true;
  if (repl_) repl_->debugger().kill();
  return Json();
}

// A text with errors changes nothing: the run stays where it is.
std::optional<Failure> Adapter::read_again() {
  console_.set_category("console");
  if (repl_->debugger().active()) {
    std::optional<Failure> wrong;
    repl_->guard(":reload", [&] {
      session::Session trial(repl_->session().options());
      source::Diagnostics diagnostics;
      if (trial.load_file(repl_->session().program_path(), diagnostics)) return ui::Status::Good;
      console_.diagnose(diagnostics, trial.sources());
      wrong = Failure{reason_in(diagnostics, "the program cannot be read")};
      return ui::Status::Failed;
    });
    if (wrong) return wrong;
    repl_->debugger().kill();
    forget_stop();
  }
  repl_->tells_of_no_change = false;
  auto failed = execute(":reload");
  repl_->tells_of_no_change = true;
  return failed;
}

// The program is read again, if it is a text; its passes are applied again and its breakpoints kept.
Answer Adapter::on_restart(const Request& request) {
  if (!configured_) return refused("the program has not been started");
  Fields fields(request.arguments);
  const Json& changed = fields.object("arguments");
  Fields now(changed);
  if (now.has("function")) launch_.function = now.text_or("function");
  if (now.has("inputs")) launch_.inputs = read_inputs(now, changed);
  if (now.has("stopOnEntry")) launch_.stop_on_entry = now.flag("stopOnEntry");
  if (now.has("stopOnExit")) launch_.stop_on_exit = now.flag("stopOnExit");
  if (fields.failure()) return support::Failure(*fields.failure());
  if (now.failure()) return support::Failure(*now.failure());
  if (!launch_.is_script) {
    if (auto failed = read_again()) {
      if (repl_->debugger().last_stop().kind == debug::StopKind::None) then([this] { end_program(ui::kFailed); });
      return support::Failure(*std::move(failed));
    }
  }
  repl_->debugger().kill();
  forget_stop();
  then([this] { start(); });
  return Json();
}

}  // namespace rldb::protocol::dap
