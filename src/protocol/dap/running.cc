// Requests that make the program run, forward and backward, and the stops that follow.
#include <fmt/format.h>

#include <algorithm>

#include "protocol/dap/adapter.h"
#include "protocol/dap/fields.h"
#include "rldb/ui/terminal/exit_code.h"

namespace rldb::protocol::dap {

using debug::Debugger;
using debug::StopKind;
using debug::StopReport;

namespace {

enum class Granularity : std::uint8_t { None, Statement, Line, Instruction };

Granularity read_granularity(Fields& fields) {
  const std::string said = fields.text_or("granularity");
  if (said == "statement") return Granularity::Statement;
  if (said == "line") return Granularity::Line;
  if (said == "instruction") return Granularity::Instruction;
  if (!said.empty()) fields.fail(fmt::format("`granularity` must be statement, line or instruction, not `{}`", said));
  return Granularity::None;
}

// Without a granularity: a binding, or inside a kernel a TensorIR statement.
bool by_statement_of_kernel(const Debugger& debugger, Granularity g) {
  return debugger.last_stop().in_kernel && (g == Granularity::None || g == Granularity::Line);
}

bool is_interrupted(const StopReport& stop) {
  return stop.kind == StopKind::Interrupted ||
         (stop.kind == StopKind::Fault && stop.fault && stop.fault->error.kind == runtime::ErrorKind::Interrupted);
}

}  // namespace

void Adapter::forget_stop() {
  if (!runs_) return;
  variables_->forget();
  StopView& view = runs_->view();
  view.first_frame += view.frames ? std::int64_t(view.frames->size()) + 1 : 1;
  constexpr std::int64_t kLast = std::int64_t(1) << 24;  // times the number of ranks it stays below 2^31
  if (view.first_frame > kLast) view.first_frame = 1;
  view.frames.reset();
  view.step_targets.clear();
  goto_targets_.clear();
}

// ---- the loop around a verb ----

bool Adapter::run(std::string_view what, const Verb& verb, const Verb& again) {
  forget_stop();
  restarting_ = false;
  console_.set_category("stdout");
  Verb next = verb;
  for (;;) {
    StopReport stop;
    bool began = false;
    // The report of abandoned work is told unless the work is done again.
    struct Hold {
      ClientConsole& console;
      bool returned = false;
      ~Hold() {
        if (!returned) console.hold_errors();
      }
    };
    // A cancellation of earlier work is over when the guard has begun.
    const ui::Status status = repl_->guard(what, [&] {
      traffic_.begin_run(threads());
      began = true;
      Hold hold{console_};
      stop = next();
      hold.returned = true;
      return ui::Status::Good;
    });
    const std::string errors = console_.release_errors();
    const Traffic::RunEnd end = began ? traffic_.end_run() : Traffic::RunEnd{};
    repl_->frame() = 0;
    if (end.ending) return false;
    const bool nothing = status != ui::Status::Good || stop.kind == StopKind::None;
    if (nothing && (end.between || end.paused) && !repl_->debugger().active()) {
      // Interrupted while kernels were compiled: the program is started again.
      pause_at_entry_ = end.paused;
      while (const auto request = traffic_.next_between()) channel_.answer(*request, dispatch(*request));
      continue;
    }
    if (!errors.empty()) console_.error(errors);
    if (status != ui::Status::Good) {
      // Abandoned, which is reported; the run is where it was, if it has not ended.
      stop = repl_->debugger().last_stop();
      if (stop.kind == StopKind::None || stop.kind == StopKind::Finished)
        end_program(ui::kFailed);
      else
        send_stopped(stop, "pause", "abandoned");
      return true;
    }
    if (is_interrupted(stop)) {
      // Within a call with large values: back to before it, from where the run can go on.
      if (stop.kind == StopKind::Fault)
        repl_->guard(what, [&] {
          stop = repl_->debugger().reverse_step_instruction();
          return ui::Status::Good;
        });
      if (end.between && !end.paused && serve_between(stop)) {
        next = again;
        continue;
      }
    }
    report(stop, end.paused || std::exchange(pause_at_entry_, false));
    return true;
  }
}

// Serves what the run was interrupted for. True: it goes on.
bool Adapter::serve_between(const StopReport& stop) {
  while (const auto request = traffic_.next_between()) channel_.answer(*request, dispatch(*request));
  return repl_->debugger().active() && (stop.kind == StopKind::Interrupted || stop.kind == StopKind::Step);
}

Adapter::Verb Adapter::resume_verb() {
  return [this] { return repl_->debugger().resume(); };
}

namespace {

// Back to a moment of the run; several bindings may begin at one instruction. A stop: something interrupted it on the
// way.
std::optional<StopReport> come_back(Debugger& d, std::uint64_t time, int part) {
  if (d.last_stop().time != time || d.last_stop().kind == StopKind::Finished) {
    StopReport back = d.go_to(time);
    if (back.time != time || is_interrupted(back)) return back;
  }
  while (d.last_stop().where.part < part) {
    StopReport on = d.next();
    if (on.kind != StopKind::Step) return on;
  }
  return std::nullopt;
}

}  // namespace

// A step that was interrupted between two bindings cannot tell where it would have ended: it is made again from where
// it began. A statement of a kernel is finished where it is.
Adapter::Verb Adapter::from_its_beginning(Verb step) {
  const StopReport& begun = repl_->debugger().last_stop();
  if (begun.in_kernel) return step;
  return [this, step = std::move(step), time = begun.time, part = begun.where.part] {
    if (auto stop = come_back(repl_->debugger(), time, part)) return *std::move(stop);
    return step();
  };
}

// ---- stops ----

bool Adapter::is_fault_caught(const StopReport& stop) const {
  const std::string_view filter = stop.fault ? filter_of(stop.fault->error) : "error";
  if (stop.fault && stop.fault->error.kind == runtime::ErrorKind::Interrupted) return true;
  return points_->catches(filter);
}

void Adapter::send_stopped(const StopReport& stop, std::string_view reason, std::string description) {
  Json body{{"reason", reason},
            {"threadId", runs_->current() + 1},
            {"allThreadsStopped", runs_->count() == 1},
            {"preserveFocusHint", quiet_stop_},
            {"time", stop.time}};
  if (!description.empty()) {
    body["description"] = description;
    body["text"] = std::move(description);
  }
  if (const auto hit = points_->hit(stop.breakpoints)) {
    body["hitBreakpointIds"] = hit->ids;
    // The text that the user broke at is shown until a stop in another one.
    if (hit->group == PointGroup::Source) runs_->view().version = hit->version;
  }
  channel_.event("stopped", std::move(body));
}

void Adapter::report_end(const StopReport& stop) {
  repl_->last().value = stop.value;
  if (!stop.value.is_null()) {
    repl_->session().set_value("_", stop.value);
    channel_.output("console", fmt::format("{}result: {}\n", rank_text(), runtime::format_brief(stop.value)));
  }
  if (repl_->debugger().return_to_outer())
    return send_stopped(repl_->debugger().last_stop(), "step", "back in the run");
  if (launch_.stop_on_exit && !launch_.no_debug) return send_stopped(stop, "exit", "the function has returned");
  end_rank(ui::kGood);
}

void Adapter::report(const StopReport& stop, bool paused) {
  points_->refresh();
  if (!stop.note.empty()) channel_.output("console", fmt::format("note: {}\n", stop.note));
  const auto hit = points_->hit(stop.breakpoints);
  const bool restarted = std::exchange(restarting_, false);
  switch (stop.kind) {
    case StopKind::None:
      return end_program(ui::kFailed);
    case StopKind::Finished:
      return report_end(stop);
    case StopKind::Fault: {
      const std::string text = stop.fault ? stop.fault->error.message : "the program has stopped by itself";
      channel_.output("stderr", fmt::format("{}fault: {}\n", rank_text(), text));
      if (stop.fault)
        for (const std::string& note : stop.fault->error.notes) channel_.output("stderr", fmt::format("  {}\n", note));
      if (launch_.no_debug || !is_fault_caught(stop)) return end_program(ui::kFailed);
      return send_stopped(stop, "exception", text);
    }
    case StopKind::Entry:
      return send_stopped(stop, paused ? "pause" : restarted ? "restart" : "entry", {});
    case StopKind::Breakpoint: {
      const std::string detail = stop.details.empty() ? std::string() : stop.details.front();
      if (!hit) return send_stopped(stop, "breakpoint", detail);
      switch (hit->group) {
        case PointGroup::Source:
        case PointGroup::Console:
          return send_stopped(stop, "breakpoint", detail);
        case PointGroup::Function:
          return send_stopped(stop, "function breakpoint", detail);
        case PointGroup::Data:
          return send_stopped(stop, "data breakpoint", detail);
        case PointGroup::Instruction:
          return send_stopped(stop, "instruction breakpoint", detail);
        case PointGroup::Exception:
          return send_stopped(stop, "exception", hit->detail.empty() ? detail : hit->detail);
      }
      return;
    }
    case StopKind::Step:
      return send_stopped(stop, paused ? "pause" : restarted ? "restart" : "step", {});
    case StopKind::Interrupted:
      return send_stopped(stop, "pause", {});
    case StopKind::HistoryEnd:
      return send_stopped(stop, "step", stop.note.empty() ? "the beginning of the run" : stop.note);
  }
}

Answer Adapter::on_exceptionInfo(const Request& request) {
  Fields fields(request.arguments);
  if (auto failure = select_thread(fields)) return support::Failure(*std::move(failure));
  const StopReport& stop = repl_->debugger().last_stop();
  const auto where = [&] {
    std::string text;
    for (const debug::FrameInfo& f : frames()) {
      const Json one = frame_json(f);
      text +=
          fmt::format("{} at {}:{}\n", one["name"].get<std::string>(),
                      one["source"].value("path", one["source"].value("name", "")), one["line"].get<std::uint32_t>());
      if (f.number >= 20) break;
    }
    return text;
  };
  if (stop.kind == StopKind::Fault) {
    std::string text = stop.fault ? stop.fault->error.message : "fault";
    Json details{
        {"message", text}, {"typeName", stop.fault ? filter_of(stop.fault->error) : "error"}, {"stackTrace", where()}};
    if (stop.fault) {
      for (const std::string& note : stop.fault->error.notes) text += "\n" + note;
      if (!stop.fault->instruction.empty()) text += "\nin " + stop.fault->instruction;
    }
    return Json{{"exceptionId", details["typeName"]},
                {"description", std::move(text)},
                {"breakMode", "always"},
                {"details", std::move(details)}};
  }
  const auto hit = points_->hit(stop.breakpoints);
  if (!hit || hit->group != PointGroup::Exception) return refused("the program is not stopped at an exception");
  const std::string text = !hit->detail.empty()   ? hit->detail
                           : stop.details.empty() ? hit->filter
                                                  : stop.details.front();
  return Json{{"exceptionId", hit->filter},
              {"description", text},
              {"breakMode", "always"},
              {"details", {{"message", text}, {"typeName", hit->filter}, {"stackTrace", where()}}}};
}

// ---- requests ----

Answer Adapter::resume_with(std::string_view what, Verb verb, Verb again) {
  // A fault that the user has seen ends the run, as an exception that nobody catches; back from there is possible.
  const bool goes_back = what.starts_with("reverse") || what == "goto";
  const StopReport& stop = repl_->debugger().last_stop();
  if (!goes_back && (stop.kind == StopKind::Fault || stop.kind == StopKind::Finished)) {
    const int code = stop.kind == StopKind::Fault ? ui::kFailed : ui::kGood;
    then([this, code] { end_rank(code); });
  } else {
    if (!again) again = from_its_beginning(verb);
    then(
        [this, what = std::string(what), verb = std::move(verb), again = std::move(again)] { run(what, verb, again); });
  }
  return Json{{"allThreadsContinued", runs_->count() == 1}};
}

Answer Adapter::on_continue(const Request& request) {
  Fields fields(request.arguments);
  if (auto failure = select_thread(fields)) return support::Failure(*std::move(failure));
  return resume_with("continue", resume_verb(), resume_verb());
}

Answer Adapter::on_reverseContinue(const Request& request) {
  Fields fields(request.arguments);
  if (auto failure = select_thread(fields)) return support::Failure(*std::move(failure));
  const Verb back = [this] { return repl_->debugger().reverse_resume(); };
  return resume_with("reverse-continue", back, back);
}

Answer Adapter::on_next(const Request& request) {
  Fields fields(request.arguments);
  const Granularity g = read_granularity(fields);
  if (auto failure = select_thread(fields)) return support::Failure(*std::move(failure));
  return resume_with("next", [this, g] {
    Debugger& d = repl_->debugger();
    return g == Granularity::Instruction  ? d.next_instruction()
           : by_statement_of_kernel(d, g) ? d.step_statement()
                                          : d.next();
  });
}

Answer Adapter::on_stepBack(const Request& request) {
  Fields fields(request.arguments);
  const Granularity g = read_granularity(fields);
  if (auto failure = select_thread(fields)) return support::Failure(*std::move(failure));
  return resume_with("reverse-next", [this, g] {
    Debugger& d = repl_->debugger();
    return g == Granularity::Instruction  ? d.reverse_step_instruction()
           : by_statement_of_kernel(d, g) ? d.reverse_step_statement()
                                          : d.reverse_next();
  });
}

Answer Adapter::on_stepOut(const Request& request) {
  Fields fields(request.arguments);
  (void)read_granularity(fields);
  if (auto failure = select_thread(fields)) return support::Failure(*std::move(failure));
  return resume_with("finish", [this] { return repl_->debugger().finish(); });
}

// Into a function that the binding calls, else into its kernel; a binding that calls neither is stepped over.
Answer Adapter::on_stepIn(const Request& request) {
  Fields fields(request.arguments);
  const Granularity g = read_granularity(fields);
  const std::int64_t target = fields.integer_or("targetId", -1);
  if (auto failure = select_thread(fields)) return support::Failure(*std::move(failure));
  Debugger& d = repl_->debugger();
  if (g == Granularity::Instruction) return resume_with("step", [&d] { return d.step_instruction(); });
  if (target >= 0) {
    std::string problem;
    const Verb verb = stepping_in(target, problem);
    return verb ? resume_with("step", verb) : Answer(refused(std::move(problem)));
  }
  if (by_statement_of_kernel(d, g) || g == Granularity::Line)
    return resume_with("step", [&d] { return d.step_statement(); });
  return resume_with("step", [&d] {
    const std::vector<Debugger::BindingCall> calls = d.calls_of_binding();
    const bool function = std::any_of(calls.begin(), calls.end(), [](const auto& c) { return c.is_function; });
    const bool kernel = std::any_of(calls.begin(), calls.end(), [](const auto& c) { return c.is_kernel; });
    return kernel && !function ? d.step_statement() : d.step();
  });
}

Adapter::Verb Adapter::stepping_in(std::int64_t target, std::string& problem) {
  if (target >= std::int64_t(runs_->view().step_targets.size())) {
    problem = fmt::format("there is no target {}: `stepInTargets` lists them", target);
    return {};
  }
  const Debugger::BindingCall call = runs_->view().step_targets[std::size_t(target)];
  Debugger& d = repl_->debugger();
  return [&d, call] {
    if (d.last_stop().where.pc != call.pc) {
      source::Diagnostics ignored;  // the instruction exists
      StopReport there = d.until(fmt::format("*{}", call.pc), ignored);
      if (there.kind != StopKind::Step || there.where.pc != call.pc) return there;
    }
    return call.is_kernel ? d.step_statement() : d.step();
  };
}

Answer Adapter::on_stepInTargets(const Request& request) {
  Fields fields(request.arguments);
  const auto frame = frame_of(fields);
  if (fields.failure()) return support::Failure(*fields.failure());
  std::vector<Debugger::BindingCall>& calls = runs_->view().step_targets;
  calls.clear();
  if (*frame == 0)
    for (const Debugger::BindingCall& call : repl_->debugger().calls_of_binding())
      if (call.is_function || call.is_kernel) calls.push_back(call);
  Json targets = Json::array();
  for (std::size_t i = 0; i < calls.size(); ++i)
    targets.push_back(
        {{"id", i}, {"label", fmt::format("{} {}", calls[i].is_kernel ? "kernel" : "function", calls[i].callee)}});
  return Json{{"targets", std::move(targets)}};
}

// The frame begins again, at its first binding. As the protocol has it, the stop says that this is why.
Answer Adapter::on_restartFrame(const Request& request) {
  Fields fields(request.arguments);
  (void)fields.integer("frameId");
  const auto frame = frame_of(fields);
  if (fields.failure()) return support::Failure(*fields.failure());
  const vm::Machine* machine = repl_->debugger().machine();
  const std::size_t index = std::size_t(std::max(0, repl_->debugger().machine_frame(*frame)));
  if (!machine || index >= machine->frames().size()) return refused("this frame cannot begin again");
  return resume_with("reverse-finish", [this, frame = *frame] {
    restarting_ = true;
    return repl_->debugger().restart_frame(frame);
  });
}

// ---- goto: to where a line was, or will be, executed ----

Answer Adapter::on_gotoTargets(const Request& request) {
  Fields fields(request.arguments);
  const auto source = sources_->find(fields.object("source"));
  const std::uint32_t line = line_from_client(fields.integer("line"));
  if (fields.failure()) return support::Failure(*fields.failure());
  if (!source.ok()) return support::Failure(source.error());
  Json targets = Json::array();
  if (const auto spec = code_at(*source, line))
    for (const bool back : {false, true}) {
      targets.push_back({{"id", goto_targets_.size()},
                         {"label", fmt::format("{} line {}", back ? "back to" : "on to", line_to_client(line))},
                         {"line", line_to_client(line)}});
      goto_targets_.push_back({*spec, line, back});
    }
  return Json{{"targets", std::move(targets)}};
}

Answer Adapter::on_goto(const Request& request) {
  Fields fields(request.arguments);
  const std::int64_t id = fields.integer("targetId");
  if (auto failure = select_thread(fields)) return support::Failure(*std::move(failure));
  if (id < 0 || id >= std::int64_t(goto_targets_.size()))
    return refused(fmt::format("there is no target {}: `gotoTargets` lists them", id));
  const GotoTarget target = goto_targets_[std::size_t(id)];
  return resume_with("goto", [this, target]() -> StopReport {
    Debugger& d = repl_->debugger();
    const StopReport begun = d.last_stop();
    StopReport stop = target.back || !d.active() ? back_to(target.spec) : on_to(target.spec);
    // Not to the beginning or the end of the run, where the client did not want to go.
    const bool missed = stop.kind == StopKind::HistoryEnd || stop.kind == StopKind::Finished;
    if (!missed || begun.in_kernel) return stop;
    if (auto other = come_back(d, begun.time, begun.where.part)) return *std::move(other);
    stop = d.last_stop();
    stop.note =
        fmt::format("line {} is not executed {} here", line_to_client(target.line), target.back ? "before" : "after");
    return stop;
  });
}

StopReport Adapter::on_to(const std::string& spec) {
  source::Diagnostics diagnostics;
  StopReport stop = repl_->debugger().until(spec, diagnostics);
  tell(diagnostics);
  return stop;
}

StopReport Adapter::back_to(const std::string& spec) {
  Debugger& d = repl_->debugger();
  source::Diagnostics diagnostics;
  const debug::Breakpoint* b = d.add_breakpoint(spec, false, diagnostics);
  tell(diagnostics);
  if (!b) return d.last_stop();
  // The others must not stop it on the way.
  const int own = b->number;
  std::vector<int> others;
  for (const auto& [number, other] : d.breakpoints())
    if (number != own && other.enabled) others.push_back(number);
  for (const int number : others) d.find_breakpoint(number)->enabled = false;
  StopReport stop = d.reverse_resume();
  for (const int number : others) d.find_breakpoint(number)->enabled = true;
  d.remove_breakpoint(own);
  stop.breakpoints.clear();
  if (stop.kind == StopKind::Breakpoint) stop.kind = StopKind::Step;
  return stop;
}

void Adapter::tell(const source::Diagnostics& diagnostics) {
  for (const source::Diagnostic& problem : diagnostics.all())
    channel_.output("stderr", fmt::format("{}\n", problem.message));
}

Answer Adapter::on_pause(const Request&) { return Json(); }

}  // namespace rldb::protocol::dap
