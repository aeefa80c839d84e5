// The debugger's verbs and queries.
#include <fmt/format.h>

#include <charconv>

#include "rldb/bytecode/disassemble.h"
#include "rldb/debug/foreign_run.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/screen.h"
#include "ui/prompt/commands/handlers.h"
#include "ui/prompt/kernel_view.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

using debug::Debugger;
using debug::StopReport;

namespace {

// Going backwards from a finished run or a fault is allowed: that is when it is most useful.
bool can_reverse(Repl& repl) {
  return repl.debugger().active() || repl.debugger().last_stop().kind != debug::StopKind::None;
}

template <class Verb>
Status reverse_with_count(Repl& repl, std::string_view rest, Verb verb) {
  if (!can_reverse(repl)) return repl.fail(source::message(diag::NotStopped));
  const auto count = rest.empty() ? std::optional<std::uint64_t>(1) : parse_count(rest);
  if (!count || *count == 0) return Status::Usage;
  return repl.show_stop((repl.debugger().*verb)(*count));
}

template <class Verb>
Status reverse_plain(Repl& repl, std::string_view rest, Verb verb) {
  if (!rest.empty()) return Status::Usage;
  if (!can_reverse(repl)) return repl.fail(source::message(diag::NotStopped));
  return repl.show_stop((repl.debugger().*verb)());
}

template <class Verb>
Status with_count(Repl& repl, std::string_view rest, Verb verb) {
  if (!repl.debugger().active()) return repl.fail(source::message(diag::NotStopped));
  const auto count = rest.empty() ? std::optional<std::uint64_t>(1) : parse_count(rest);
  if (!count || *count == 0) return Status::Usage;
  return repl.show_stop((repl.debugger().*verb)(*count));
}

// After a stop of a verb that steps by instruction: shows the next one, unless instructions were listed anyway.
Status show_instruction(Repl& repl, Status shown) {
  const debug::StopReport& stop = repl.debugger().last_stop();
  const bool has_text = repl.session().sources().find(stop.where.span.file) != nullptr;
  if (repl.wants_json()) return shown;
  if (repl.screen && repl.screen->on && repl.screen->is_shown(PaneKind::Instructions)) return shown;
  if (shown != Status::Good || !repl.debugger().active() || stop.in_kernel || stop.where.pc < 0 || !has_text)
    return shown;
  const bytecode::Executable& exe = repl.debugger().machine()->executable();
  repl.print("=> *{}  {}\n", stop.where.pc, bytecode::instruction_text(exe, stop.where.pc));
  return shown;
}

template <class Verb>
Status plain(Repl& repl, std::string_view rest, Verb verb) {
  if (!rest.empty()) return Status::Usage;
  if (!repl.debugger().active()) return repl.fail(source::message(diag::NotStopped));
  return repl.show_stop((repl.debugger().*verb)());
}

// `i`, `block 3`: where to go in a kernel, and how often.
template <class Verb>
Status step_to(Repl& repl, std::string_view rest, Verb verb) {
  const std::vector<std::string> words = split_words(rest);
  const auto count = words.size() == 2 ? parse_count(words[1]) : std::optional<std::uint64_t>(1);
  if (words.size() > 2 || !count || *count == 0) return Status::Usage;
  source::Diagnostics diagnostics;
  const StopReport stop = (repl.debugger().*verb)(words[0], *count, diagnostics);
  if (repl.report(diagnostics) == Status::Failed) return Status::Failed;
  return repl.show_stop(stop);
}

Status select_frame(Repl& repl, int number) {
  const std::vector<debug::FrameInfo> frames = repl.debugger().frames();
  if (number < 0 || std::size_t(number) >= frames.size())
    return repl.fail(source::message(diag::NoSuchNumber, "frame", number));
  repl.frame() = number;
  if (repl.wants_json()) return repl.give(frame_json(repl, frames[std::size_t(number)]));
  if (frames[std::size_t(number)].in_kernel) {
    repl.print("#{} {}\n", number, describe_kernel_frame(repl.debugger()));
    if (!screen_shows_code(repl)) list_kernel(repl);
    return Status::Good;
  }
  repl.print("#{} {}\n", number, describe_frame(repl, frames[std::size_t(number)]));
  if (!screen_shows_code(repl)) show_source_around(repl, frames[std::size_t(number)].where, repl.list_lines);
  return Status::Good;
}

// Marks the current instruction and breakpoints, and puts source lines above their first instruction.
class DisasmDecorator : public bytecode::Decorator {
 public:
  DisasmDecorator(Repl& repl, const bytecode::Executable& exe) : repl_(repl), exe_(exe) {}
  std::string gutter(bytecode::Pc pc) override {
    const Debugger& debugger = repl_.debugger();
    if (debugger.active() && debugger.last_stop().where.pc == pc) return "=>";
    for (const auto& [number, b] : debugger.breakpoints())
      for (const debug::Site& site : b.sites)
        if (site.pc == pc) return b.enabled ? "b " : "d ";
    return "  ";
  }
  std::vector<std::string> lines_before(bytecode::Pc pc) override {
    const bytecode::InstructionDebug* debug = exe_.debug.instruction(pc);
    const source::Buffer* buffer = debug ? repl_.session().sources().find(debug->span.file) : nullptr;
    if (!buffer) return {};
    const std::uint32_t line = buffer->line_column(debug->span.begin).line;
    if (debug->span.file == file_ && line == line_) return {};
    file_ = debug->span.file;
    line_ = line;
    return {fmt::format("# {}:{} {}", buffer->name(), line, trim(buffer->line(line)))};
  }

 private:
  Repl& repl_;
  const bytecode::Executable& exe_;
  source::FileId file_;
  std::uint32_t line_ = 0;
};

}  // namespace

Status command_Step(Repl& r, std::string_view rest) { return with_count(r, rest, &Debugger::step); }
Status command_Next(Repl& r, std::string_view rest) { return with_count(r, rest, &Debugger::next); }
Status command_Stepi(Repl& r, std::string_view rest) {
  return show_instruction(r, with_count(r, rest, &Debugger::step_instruction));
}
Status command_Nexti(Repl& r, std::string_view rest) {
  return show_instruction(r, with_count(r, rest, &Debugger::next_instruction));
}
Status command_Stept(Repl& repl, std::string_view rest) {
  if (rest.empty() || parse_count(rest)) return with_count(repl, rest, &Debugger::step_statement);
  if (!repl.debugger().active()) return repl.fail(source::message(diag::NotStopped));
  return step_to(repl, rest, &Debugger::step_to_in_kernel);
}
Status command_ReverseStept(Repl& repl, std::string_view rest) {
  if (rest.empty() || parse_count(rest)) return reverse_with_count(repl, rest, &Debugger::reverse_step_statement);
  if (!can_reverse(repl)) return repl.fail(source::message(diag::NotStopped));
  return step_to(repl, rest, &Debugger::reverse_step_to_in_kernel);
}
Status command_ReverseStep(Repl& r, std::string_view rest) {
  return reverse_with_count(r, rest, &Debugger::reverse_step);
}
Status command_ReverseNext(Repl& r, std::string_view rest) {
  return reverse_with_count(r, rest, &Debugger::reverse_next);
}
Status command_ReverseStepi(Repl& r, std::string_view rest) {
  return show_instruction(r, reverse_with_count(r, rest, &Debugger::reverse_step_instruction));
}
Status command_Finish(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  if (!repl.debugger().active()) return repl.fail(source::message(diag::NotStopped));
  return repl.show_stop(repl.debugger().finish(repl.frame()));
}
Status command_ReverseContinue(Repl& r, std::string_view rest) {
  return reverse_plain(r, rest, &Debugger::reverse_resume);
}
Status command_ReverseFinish(Repl& r, std::string_view rest) {
  return reverse_plain(r, rest, &Debugger::reverse_finish);
}

Status command_Continue(Repl& repl, std::string_view rest) {
  if (!repl.debugger().active()) return repl.fail(source::message(diag::NotStopped));
  const auto count = rest.empty() ? std::optional<std::uint64_t>(1) : parse_count(rest);
  if (!count || *count == 0) return Status::Usage;
  StopReport stop;
  // Passes COUNT stops at breakpoints; stopping for any other reason ends it.
  for (std::uint64_t i = 0; i < *count && repl.debugger().active(); ++i) {
    stop = repl.debugger().resume();
    if (stop.kind != debug::StopKind::Breakpoint) break;
  }
  if (stop.kind == debug::StopKind::Finished && !stop.value.is_null()) repl.session().set_value("_", stop.value);
  return repl.show_stop(stop);
}

Status command_Until(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (!repl.debugger().active()) return repl.fail(source::message(diag::NotStopped));
  source::Diagnostics diagnostics;
  const StopReport stop = repl.debugger().until(rest, diagnostics);
  if (repl.report(diagnostics) == Status::Failed) return Status::Failed;
  return repl.show_stop(stop);
}

Status command_Kill(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  if (!repl.debugger().active()) return repl.fail(source::message(diag::NotStopped));
  if (debug::is_foreign(repl.debugger())) return command_Detach(repl, rest);
  if (!repl.may_give_run_up("`kill`")) return Status::Failed;
  repl.debugger().kill_one();
  repl.print("run ended\n");
  if (repl.debugger().active())
    repl.tell_return();
  else
    repl.begin_run();
  return Status::Good;
}

Status command_Frame(Repl& repl, std::string_view rest) {
  if (!repl.debugger().machine()) return repl.fail(source::message(diag::NotStopped));
  if (rest.empty()) return select_frame(repl, repl.frame());
  const auto number = parse_count(rest);
  return number ? select_frame(repl, int(*number)) : Status::Usage;
}

// As far as there are frames; only from the last one it is an error.
static Status move_frame(Repl& repl, std::string_view rest, bool up) {
  const auto count = rest.empty() ? std::optional<std::uint64_t>(1) : parse_count(rest);
  if (!count || *count == 0) return Status::Usage;
  if (!repl.debugger().machine()) return repl.fail(source::message(diag::NotStopped));
  const int outermost = int(repl.debugger().frames().size()) - 1, from = repl.frame();
  const auto left = std::uint64_t(std::max(0, up ? outermost - from : from));
  if (left == 0) return repl.fail(source::message(diag::LastFrame, from, up ? "outermost" : "innermost"));
  const int by = int(std::min(*count, left));
  return select_frame(repl, up ? from + by : from - by);
}

Status command_Up(Repl& repl, std::string_view rest) { return move_frame(repl, rest, true); }
Status command_Down(Repl& repl, std::string_view rest) { return move_frame(repl, rest, false); }

Status command_Disasm(Repl& repl, std::string_view rest) {
  std::shared_ptr<const session::Build> keep;
  const bytecode::Executable* exe = nullptr;
  if (repl.debugger().machine()) {
    exe = &repl.debugger().machine()->executable();
  } else {
    source::Diagnostics diagnostics;
    keep = repl.session().viewable(diagnostics);
    if (repl.report(diagnostics) == Status::Failed || !keep) return Status::Failed;
    exe = keep->executable.get();
  }
  DisasmDecorator decorator(repl, *exe);
  bytecode::ListingOptions options;
  options.decorator = &decorator;
  std::string_view name = rest;
  if (name.empty() && repl.debugger().active()) name = repl.debugger().last_stop().where.function;
  const bytecode::FunctionIndex function = name.empty() ? bytecode::FunctionIndex(-1) : exe->find_function(name);
  if (repl.wants_json() && (name.empty() || function >= 0)) return repl.give(disassembly_json(repl, *exe, function));
  if (name.empty()) {
    for (std::size_t i = 0; i < exe->functions.size(); ++i)
      if (exe->functions[i].kind == bytecode::FunctionKind::Bytecode)
        repl.print("{}:\n{}", exe->functions[i].name, bytecode::listing(*exe, bytecode::FunctionIndex(i), options));
    return Status::Good;
  }
  const std::string text = bytecode::listing(*exe, function, options);
  if (text.empty()) return repl.fail(source::message(diag::NoSuchThing, "bytecode function", name));
  repl.console().write(text);
  return Status::Good;
}

Status command_Origin(Repl& repl, std::string_view rest) {
  const auto given = rest.empty() ? std::nullopt : parse_count(rest);
  if (!rest.empty() && !given) return Status::Usage;
  if (rest.empty() && !repl.debugger().machine()) return repl.fail(source::message(diag::NotStopped));
  const auto pc = given ? bytecode::Pc(*given) : repl.debugger().last_stop().where.pc;
  const std::vector<std::string> lines = repl.debugger().origin(pc);
  if (lines.empty()) return repl.fail(source::message(diag::NoSuchNumber, "instruction", pc));
  if (repl.wants_json()) return repl.give(origin_json(pc, lines));
  for (const std::string& line : lines) repl.print("{}\n", line);
  return Status::Good;
}

}  // namespace rldb::ui
