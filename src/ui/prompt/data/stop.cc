// The stop after a verb, the code there, and information about the run's values.
#include "rldb/bytecode/disassemble.h"
#include "rldb/ui/prompt/data.h"
#include "ui/prompt/commands/at_rank.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

std::string_view kind_of(debug::StopKind kind) {
  using debug::StopKind;
  switch (kind) {
    case StopKind::None:
      return "none";
    case StopKind::Entry:
      return "entry";
    case StopKind::Breakpoint:
      return "breakpoint";
    case StopKind::Step:
      return "step";
    case StopKind::Finished:
      return "finished";
    case StopKind::Fault:
      return "fault";
    case StopKind::Interrupted:
      return "interrupted";
    case StopKind::HistoryEnd:
      return "history-end";
  }
  RLDB_UNREACHABLE("stop kind");
}

Json value_or_null(Repl& repl, const runtime::Value& v) {
  return v.is_null() ? Json() : value_json(v, repl.print_format.max_elements);
}

std::string_view rest_of(debug::CauseStep::Rest rest) {
  using Rest = debug::CauseStep::Rest;
  switch (rest) {
    case Rest::None:
      return "none";
    case Rest::Above:
      return "above";
    case Rest::Deeper:
      return "deeper";
  }
  RLDB_UNREACHABLE("rest of a cause");
}

Json line_json(std::uint32_t number, std::string_view text, bool current) {
  return {{"line", number}, {"text", text}, {"current", current}};
}

}  // namespace

Json stop_json(Repl& repl, const debug::StopReport& stop) {
  const bool over = stop.kind == debug::StopKind::Finished || stop.kind == debug::StopKind::None;
  Json points = Json::array();
  for (std::size_t i = 0; i < stop.breakpoints.size(); ++i)
    points.push_back(
        {{"number", stop.breakpoints[i]}, {"detail", i < stop.details.size() ? or_null(stop.details[i]) : Json()}});
  Json out{{"kind", kind_of(stop.kind)},
           {"breakpoints", std::move(points)},
           {"where", over ? Json() : position_json(repl, stop.where)},
           {"time", stop.time},
           {"value", value_or_null(repl, stop.value)},
           {"returned_from", or_null(stop.returned_from)},
           {"returned", stop.returned_from.empty() ? Json() : value_or_null(repl, stop.returned)},
           {"note", or_null(stop.note)}};
  const auto kernel = stop.in_kernel ? repl.debugger().kernel_position() : std::nullopt;
  out["kernel"] = kernel ? kernel_json(*kernel, repl.print_format.max_elements) : Json();
  out["displays"] = repl.debugger().active() ? displays_json(repl) : Json::array();
  return out;
}

Json displays_json(Repl& repl) {
  Json rows = Json::array();
  for (const Display& d : repl.displays) {
    source::Diagnostics diagnostics;  // a value missing here does not make the stop fail
    const auto value = evaluate_in_ranks(repl, d.text, diagnostics);
    const bool wrong = !value && !diagnostics.all().empty();
    rows.push_back({{"number", d.number},
                    {"expression", d.text},
                    {"value", value ? value_or_null(repl, *value) : Json()},
                    {"problem", wrong ? Json(diagnostics.all()[0].message) : Json()}});
  }
  return rows;
}

Json lines_json(Repl& repl) {
  Json rows = Json::array();
  const auto inside = repl.frame() == 0 ? repl.debugger().kernel_position() : std::nullopt;
  if (inside) {
    for (const debug::Debugger::KernelLine& l : repl.debugger().kernel_lines(repl.list_lines))
      rows.push_back(line_json(l.number, l.text, l.current));
    return {{"kernel", inside->kernel},
            {"file", inside->source ? Json(inside->source->name()) : Json()},
            {"lines", std::move(rows)}};
  }
  const std::vector<debug::FrameInfo> frames = repl.debugger().frames();
  const debug::Position where = std::size_t(repl.frame()) < frames.size() ? frames[std::size_t(repl.frame())].where
                                                                          : repl.debugger().last_stop().where;
  const source::Buffer* buffer = repl.session().sources().find(where.span.file);
  if (!buffer) return {{"kernel", nullptr}, {"file", nullptr}, {"lines", std::move(rows)}};
  return lines_json(*buffer, lines_around(*buffer, where, repl.list_lines));
}

Json lines_json(const source::Buffer& buffer, const LineWindow& window) {
  Json rows = Json::array();
  for (std::uint32_t n = window.first; n <= window.last; ++n)
    rows.push_back(line_json(n, buffer.line(n), n == window.current));
  return {{"kernel", nullptr}, {"file", buffer.name()}, {"lines", std::move(rows)}};
}

// ---- instructions ----

static Json instruction_json(Repl& repl, const bytecode::Executable& exe, bytecode::Pc pc) {
  Json out{{"pc", pc.value()}, {"text", bytecode::instruction_text(exe, pc)}};
  const bytecode::InstructionDebug* debug = exe.debug.instruction(pc);
  out["variable"] = debug ? or_null(debug->variable) : Json();
  const source::Buffer* buffer = debug ? repl.session().sources().find(debug->span.file) : nullptr;
  out["file"] = buffer ? Json(buffer->name()) : Json();
  out["line"] = buffer ? Json(buffer->line_column(debug->span.begin).line) : Json();
  out["current"] = repl.debugger().active() && repl.debugger().last_stop().where.pc == pc;
  Json points = Json::array();
  for (const auto& [number, b] : repl.debugger().breakpoints())
    for (const debug::Site& site : b.sites)
      if (site.pc == pc && (points.empty() || points.back() != number)) points.push_back(number);
  out["breakpoints"] = std::move(points);
  return out;
}

Json disassembly_json(Repl& repl, const bytecode::Executable& exe, bytecode::FunctionIndex function) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < exe.functions.size(); ++i) {
    const bytecode::FunctionEntry& f = exe.functions[i];
    if (f.kind != bytecode::FunctionKind::Bytecode) continue;
    if (function >= 0 && bytecode::FunctionIndex(i) != function) continue;
    Json instructions = Json::array();
    for (bytecode::Pc pc = f.start; pc < f.end; ++pc) {
      support::poll();
      instructions.push_back(instruction_json(repl, exe, pc));
    }
    rows.push_back({{"function", f.name}, {"parameters", f.param_names}, {"instructions", std::move(instructions)}});
  }
  return rows;
}

Json origin_json(bytecode::Pc pc, const std::vector<std::string>& steps) {
  return {{"pc", pc.value()}, {"from", steps}};
}

// ---- time ----

Json when_json(const debug::NameHistory& history) {
  Json moments = Json::array();
  for (const debug::NameMoment& m : history.moments)
    moments.push_back({{"time", m.time},
                       {"passed", m.passed},
                       {"by", m.by < 0 ? Json() : Json(m.by.value())},
                       {"instruction", or_null(m.instruction)},
                       {"memory_of", or_null(m.memory_of)},
                       {"register", m.reg < 0 ? Json() : Json(std::int64_t(m.reg))},
                       {"last_used", m.last_used ? Json(*m.last_used) : Json()}});
  return {{"name", history.name}, {"moments", std::move(moments)}, {"notes", history.notes}};
}

Json why_json(const std::vector<debug::CauseStep>& steps) {
  Json rows = Json::array();
  for (const debug::CauseStep& s : steps)
    rows.push_back({{"depth", s.depth},
                    {"name", s.name},
                    {"binding", or_null(s.binding)},
                    {"value", s.value},
                    {"file", or_null(s.file)},
                    {"line", s.line ? Json(s.line) : Json()},
                    {"kernels", s.kernels},
                    {"command", or_null(s.command)},
                    {"problem", or_null(s.problem)},
                    {"remark", or_null(s.remark)},
                    {"left_out", rest_of(s.rest)}});
  return rows;
}

Json checkpoints_json(Repl& repl) {
  const std::optional<debug::RunHistory> h = repl.debugger().history();
  Json named = Json::array();
  for (const auto& [name, time] : repl.debugger().checkpoints()) named.push_back({{"name", name}, {"time", time}});
  Json out{{"time", nullptr}, {"first_time", nullptr}, {"checkpoints", std::move(named)}};
  if (!h) return out;
  out["time"] = h->time;
  out["first_time"] = h->first_time ? Json(*h->first_time) : Json();
  out["bytes"] = h->bytes;
  out["limit"] = h->limit;
  out["recorded_calls"] = h->recorded;
  out["calls_not_recorded"] = h->not_recorded;
  return out;
}

}  // namespace rldb::ui
