// `:report`: the facts that a bug report needs about the current stop.
#include <fmt/format.h>

#include "rldb/bytecode/disassemble.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/support/file.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kLastBindings = 10;
constexpr std::size_t kFrames = 20;

class Report {
 public:
  explicit Report(Repl& repl) : repl_(repl), debugger_(repl.debugger()) {}

  std::string text() {
    place();
    frames();
    values();
    bindings();
    program();
    entries();
    return std::move(text_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void place() {
    const debug::StopReport& stop = debugger_.last_stop();
    line("stopped at {}, time {}", describe_position(repl_, stop.where), stop.time);
    if (stop.fault) {
      line("fault: {}", stop.fault->error.message);
      for (const std::string& note : stop.fault->error.notes) line("  {}", note);
    }
    if (stop.where.pc >= 0 && debugger_.machine())
      line("instruction: *{} {}", stop.where.pc,
           bytecode::instruction_text(debugger_.machine()->executable(), stop.where.pc));
    if (const auto kernel = debugger_.kernel_position()) line("in kernel {}: {}", kernel->kernel, kernel->text);
    for (const std::string& step : debugger_.origin(stop.where.pc)) line("  from: {}", step);
  }

  void frames() {
    line("\nframes:");
    const std::vector<debug::FrameInfo> all = debugger_.frames();
    for (std::size_t i = 0; i < all.size() && i < kFrames; ++i)
      line("  #{} {}", all[i].number, describe_frame(repl_, all[i]));
    if (all.size() > kFrames) line("  ... and {} more", all.size() - kFrames);
  }

  void values() {
    line("\ndims:");
    for (const debug::SlotInfo& s : debugger_.heap(0))
      if (s.set) line("  {} = {} ({})", s.expression, s.value, s.bound_by);
    line("\nvalues:");
    for (const debug::LocalInfo& local : debugger_.locals(0))
      line("  {}{} = {}", local.name, local.type.empty() ? "" : ": " + local.type,
           local.live ? runtime::format_brief(local.value) : "(freed)");
  }

  void bindings() {
    line("\nlast bindings:");
    for (const auto& [time, where] : debugger_.last_bindings(kLastBindings))
      line("  @{} {}", time, describe_position(repl_, where));
  }

  void program() {
    session::Session& s = repl_.session();
    line("\nprogram: {}", s.program_path().empty() ? "entered at the prompt" : s.program_path());
    line("engine: {}", session::to_string(s.options().engine));
    for (std::size_t v = 1; s.program() && v <= s.program()->position(); ++v)
      line("  {}", s.program()->version_name(v));
    line("{}", debug::to_string(debugger_.history()));
  }

  void entries() {
    line("\nto reproduce it:");
    for (const KeptEntry& kept : repl_.entered()) line("{}", kept.entry.text);
  }

  Repl& repl_;
  debug::Debugger& debugger_;
  std::string text_;
};

}  // namespace

Status command_Report(Repl& repl, std::string_view rest) {
  if (repl.debugger().last_stop().kind == debug::StopKind::None) return repl.fail(source::message(diag::NotStopped));
  const std::string text = Report(repl).text();
  if (rest.empty() && repl.wants_json()) return repl.give({{"text", text}});
  if (rest.empty()) {
    repl.console().write(text);
    return Status::Good;
  }
  if (!repl.may_write(rest, rest)) return Status::Failed;
  const auto written = support::write_file(std::string(rest), text);
  if (!written.ok()) return repl.fail(source::message(diag::FileNotWritten, rest, written.error().reason));
  if (repl.wants_json()) return repl.give({{"file", rest}});
  repl.print("wrote {}\n", rest);
  return Status::Good;
}

}  // namespace rldb::ui
