// The prompt's views: stops with source lines, values in brief, explained types, tables.
#include "ui/prompt/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "rldb/bytecode/disassemble.h"
#include "rldb/debug/model_node.h"
#include "rldb/ir/printer.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/render/table.h"
#include "rldb/ui/terminal/screen.h"
#include "rldb/ui/terminal/styled_text.h"
#include "rldb/ui/terminal/window_size.h"
#include "ui/prompt/entry/complete.h"
#include "ui/prompt/kernel_view.h"
#include "ui/prompt/list_text.h"

namespace rldb::ui {

namespace {

std::string shape_text(ir::Span<const ir::Expr*> dims) {
  std::string text = "(";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + ir::print_expr(dims[i]);
  return text + (dims.size() == 1 ? ",)" : ")");
}

std::string rank_and_dtype(const ir::TensorType* t) {
  return fmt::format("checked type: tensor of rank {}, dtype {}",
                     t->ndim == ir::kUnknownNdim ? std::string("unknown") : std::to_string(t->ndim),
                     t->dtype.is_void() ? "unknown" : runtime::to_string(t->dtype));
}

}  // namespace

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> explain_type(const ir::Type* type) {
  if (const auto* t = ir::as<ir::TensorType>(type)) {
    std::vector<std::string> lines{rank_and_dtype(t)};
    if (t->has_shape)
      lines.push_back("shape (V0, symbolic or static): " + shape_text(t->shape));
    else if (t->shape_var)
      lines.push_back("shape (V1, the value of an expression): " + ir::print_expr(t->shape_var));
    else
      lines.push_back("shape (V2): known only at run time");
    return lines;
  }
  if (const auto* t = ir::as<ir::ShapeType>(type)) {
    if (t->has_values) return {"shape value (V0): " + shape_text(t->values)};
    return {t->ndim == ir::kUnknownNdim
                ? std::string("shape value of unknown rank (V2)")
                : fmt::format("shape value of rank {}, dims known only at run time (V2)", t->ndim)};
  }
  if (const auto* t = ir::as<ir::FuncType>(type))
    return {t->opaque ? "opaque callable" : t->pure ? "pure function" : "impure function"};
  return {};
}

DiffOptions diff_options_of(Repl& repl) {
  const std::optional<int> columns = repl.ask ? std::optional(window_size().width) : std::nullopt;
  return diff_options(repl.diff_layout, columns, repl.console().color());
}

std::size_t show_difference(Repl& repl, std::string_view before, std::string_view after, const std::string& before_name,
                            const std::string& after_name, const DifferenceView& view) {
  DiffOptions options = diff_options_of(repl);
  if (view.layout) options.layout = *view.layout;
  OutputPiece piece{OutputKind::Diff, {}, diff_hunks(before, after, options.context), before_name, after_name};
  const std::string text = show_diff(piece.hunks, before_name, after_name, options);
  if (text.empty()) return 0;
  std::size_t end = 0, lines = 0;
  for (; end < text.size() && lines < view.most_lines; ++lines) end = text.find('\n', end) + 1;
  repl.show(std::string_view(text).substr(0, end), std::move(piece));
  return std::size_t(std::count(text.begin() + std::ptrdiff_t(end), text.end(), '\n'));
}

bool needs(Repl& repl, std::string_view what, unsigned abilities) {
  auto refusal = session::missing_ability(what, abilities, repl.session());
  if (refusal) repl.fail(std::move(*refusal));
  return !refusal;
}

void show_text(Repl& repl, const std::string& text) {
  const Repl::Kind script(repl, OutputKind::Script);
  repl.console().write(repl.console().color() && repl.highlight ? paint_script(text) : text);
  if (!text.ends_with('\n')) repl.console().write("\n");
}

std::string describe_position(const Repl& repl, const debug::Position& where) {
  std::string text = where.function;
  if (!where.written_in.empty() && where.written_in != where.function) text += " > " + where.written_in;
  if (!where.binding.empty()) text += ":" + where.binding;
  const source::SourceManager& sources = const_cast<Repl&>(repl).session().sources();
  if (const source::Buffer* buffer = sources.find(where.span.file))
    text += fmt::format(" at {}:{}", buffer->name(), buffer->line_column(where.span.begin).line);
  if (const onnx::Node* node = debug::model_node_at(const_cast<Repl&>(repl).session(), where.span))
    text += fmt::format(", node {} ({})", node->label, node->op);
  if (where.pc >= 0) text += fmt::format(" [pc {}]", where.pc);
  if (!where.kernel.empty()) return text + fmt::format(", {} of {}", fmt::join(where.group, " "), where.kernel);
  if (!where.group.empty()) return text + fmt::format(", one computation for {}", fmt::join(where.group, " "));
  return text;
}

std::string describe_frame(const Repl& repl, const debug::FrameInfo& frame) {
  if (frame.is_virtual == debug::VirtualFrame::None) return describe_position(repl, frame.where);
  debug::Position where = frame.where;
  where.function = frame.is_virtual == debug::VirtualFrame::Fused ? frame.where.kernel : frame.where.written_in;
  where.written_in.clear();
  where.kernel.clear();
  where.group.clear();
  const std::string note =
      frame.is_virtual == debug::VirtualFrame::Fused
          ? fmt::format("virtual: {} of {}", frame.where.part + 1, fmt::join(frame.where.group, " "))
          : fmt::format("virtual: inlined into {}", frame.where.function);
  return fmt::format("{}, {}", describe_position(repl, where), note);
}

// Where there is no text: shows the instructions.
static void show_instructions_around(Repl& repl, const debug::Position& where, std::size_t lines) {
  const vm::Machine* machine = repl.debugger().machine();
  if (!machine || where.pc < 0) return;
  const bytecode::Executable& exe = machine->executable();
  const bytecode::FunctionIndex f = exe.find_function(where.function);
  if (f < 0) return;
  const auto half = std::int64_t(lines / 2);
  const bytecode::Pc first = std::max(exe.functions[std::size_t(f)].start, where.pc - half);
  const bytecode::Pc end = std::min(exe.functions[std::size_t(f)].end, first + std::int64_t(lines));
  for (bytecode::Pc pc = first; pc < end; ++pc)
    repl.print("{} {:>5}  {}\n", pc == where.pc ? "=>" : "  ", pc, bytecode::instruction_text(exe, pc));
}

source::FileId file_at_hand(Repl& repl) {
  const std::vector<debug::FrameInfo> frames = repl.debugger().frames();
  if (repl.debugger().active() && std::size_t(repl.frame()) < frames.size())
    return frames[std::size_t(repl.frame())].where.span.file;
  const ir::Module* module = repl.session().module();
  if (!module || module->entries.empty()) return {};
  return repl.session().context().span_of(module->entries.front().function).file;
}

LineWindow lines_around(const source::Buffer& buffer, const debug::Position& where, std::size_t lines) {
  return lines_around(buffer, buffer.line_column(where.span.begin).line, lines);
}

LineWindow lines_around(const source::Buffer& buffer, std::uint32_t line, std::size_t lines) {
  LineWindow w;
  w.current = line;
  const auto half = std::uint32_t(lines / 2);
  w.first = w.current > half ? w.current - half : 1;
  w.last = std::min(buffer.line_count(), w.first + std::uint32_t(lines) - 1);
  return w;
}

void show_source_around(Repl& repl, const debug::Position& where, std::size_t lines) {
  const source::Buffer* buffer = repl.session().sources().find(where.span.file);
  if (!buffer) return show_instructions_around(repl, where, lines);
  show_source_lines(repl, where.span.file, lines_around(*buffer, where, lines));
}

// A line that would fill the terminal, as the signature of a model with hundreds of weights, is cut to three of its
// lines.
static std::string not_too_wide(const Repl& repl, std::string text, std::string_view plain) {
  constexpr std::size_t kLines = 3, kMargin = 14;  // before the line, and for what stands in place of the rest
  const std::size_t columns = columns_of_reader(repl);
  if (columns > plain.size() / kLines) return text;
  const std::size_t most = kLines * columns - kMargin;
  if (width_of(plain) <= most) return text;
  std::string_view style;
  return text_of(clipped(styled_cells(text, style), 0, int(most))) + "...";
}

void show_source_lines(Repl& repl, source::FileId file, const LineWindow& window) {
  const source::Buffer* buffer = repl.session().sources().find(file);
  const auto [first, last, current] = window;
  const bool paint = repl.console().color() && repl.highlight;
  const Repl::Kind source(repl, OutputKind::Source);
  for (std::uint32_t n = first; n <= last; ++n) {
    const std::string text =
        not_too_wide(repl, paint ? repl.painted.line(file, *buffer, n) : std::string(buffer->line(n)), buffer->line(n));
    repl.print("{} {:>5}  {}\n", n == current ? (paint ? "\033[1;33m=>\033[0m" : "=>") : "  ", n, text);
  }
}

bool screen_shows_code(const Repl& repl) {
  return repl.screen && repl.screen->on &&
         (repl.screen->is_shown(PaneKind::Code) || repl.screen->is_shown(PaneKind::Instructions));
}

static constexpr std::string_view kSilent = "silent";  // among a breakpoint's commands, as in gdb

// Shows the points that stopped the run, each with the value it saw.
static void show_points(Repl& repl, const debug::StopReport& stop) {
  for (std::size_t i = 0; i < stop.breakpoints.size(); ++i) {
    const debug::Breakpoint* b = repl.debugger().find_breakpoint(stop.breakpoints[i]);
    const std::string name =
        b ? fmt::format("{} {}", kind_name(*b), b->number) : fmt::format("breakpoint {}", stop.breakpoints[i]);
    if (i < stop.details.size())
      repl.print("{}: {}\n", name, stop.details[i]);
    else if (b && b->kind == debug::PointKind::Catch)
      repl.print("{} ({})\n", name, b->spec);
    else
      repl.print("{}, {}\n", name, describe_position(repl, stop.where));
  }
  const debug::Breakpoint* last =
      stop.breakpoints.empty() ? nullptr : repl.debugger().find_breakpoint(stop.breakpoints.back());
  if (last && last->kind != debug::PointKind::Break) repl.print("{}\n", describe_position(repl, stop.where));
}

// The time limit of the entry stopped the run between two instructions.
static bool is_cut_by_time(const debug::StopReport& stop) {
  return stop.kind == debug::StopKind::Interrupted && support::cancel_cause() == support::CancelCause::Timeout;
}

Status Repl::show_stop(const debug::StopReport& stop) {
  source::Diagnostics notes;
  session_->report_helpers(notes);
  report(notes);
  if (wants_json()) return give_stop(stop);
  const Status status = tell_stop(stop);
  if (stop.kind == debug::StopKind::Finished && debugger_->return_to_outer()) tell_return();
  if (debugger_->active()) show_displays(*this);
  return is_cut_by_time(stop) ? Status::Failed : status;
}

// The run suspended by a call from the prompt is current again.
void Repl::tell_return() {
  frame_ = 0;
  print("back in the run that is stopped at {}\n", describe_position(*this, debugger_->last_stop().where));
}

// The commands of the breakpoints that stopped the run come after the entry. True: they suppress showing the stop.
bool Repl::take_commands(const debug::StopReport& stop) {
  bool silent = false;
  for (const int number : stop.breakpoints)
    if (const debug::Breakpoint* b = debugger_->find_breakpoint(number))
      for (const std::string& line : b->commands) {
        if (line == kSilent)
          silent = true;
        else
          to_do_.push_back({line, b->commands_by});
      }
  return silent;
}

// The error of a fault, with its notes, as a diagnostic at the binding.
void Repl::report_fault(const debug::StopReport& stop) {
  source::Message m = source::message(diag::RunFailed, stop.fault ? stop.fault->error.message : "");
  if (stop.fault)
    for (const std::string& note : stop.fault->error.notes) m.notes.push_back({{}, note});
  source::Diagnostics d;
  d.add(stop.where.span, std::move(m));
  report(d);
}

Status Repl::give_stop(const debug::StopReport& stop) {
  frame_ = 0;
  take_commands(stop);
  if (stop.kind == debug::StopKind::Finished) {
    last_.value = stop.value;
    debugger_->return_to_outer();
  }
  if (stop.kind == debug::StopKind::Fault) report_fault(stop);
  give(stop_json(*this, stop));
  const bool is_failure = stop.kind == debug::StopKind::None || stop.kind == debug::StopKind::Fault;
  return is_failure || is_cut_by_time(stop) ? Status::Failed : Status::Good;
}

Status Repl::tell_stop(const debug::StopReport& stop) {
  frame_ = 0;
  if (take_commands(stop)) return Status::Good;
  using debug::StopKind;
  switch (stop.kind) {
    case StopKind::None:
      return Status::Failed;
    case StopKind::Finished:
      last_.value = stop.value;
      print("finished after {} instructions\n", stop.time);
      if (!stop.value.is_null()) show_value(stop.value);
      if (!stop.note.empty()) print("note: {}\n", stop.note);
      return Status::Good;
    case StopKind::Fault:
      report_fault(stop);
      if (!stop.where.function.empty())
        print("stopped in {} after {} instructions\n", describe_position(*this, stop.where), stop.time);
      return Status::Failed;
    case StopKind::Entry:
      print("started {}\n", describe_position(*this, stop.where));
      break;
    case StopKind::Breakpoint:
      show_points(*this, stop);
      break;
    case StopKind::Step:
      if (!stop.returned_from.empty())
        print("returned from {}: {}\n", stop.returned_from, runtime::format_brief(stop.returned));
      print("{}\n", describe_position(*this, stop.where));
      break;
    case StopKind::Interrupted:
      if (stop.where.function.empty())
        print("interrupted while no thread was running the program\n");  // of another process
      else
        print("interrupted in {}\n", describe_position(*this, stop.where));
      break;
    case StopKind::HistoryEnd:
      print("no earlier history: {}\n", describe_position(*this, stop.where));
      break;
  }
  if (!stop.note.empty()) print("note: {}\n", stop.note);
  for (const RunNote& note : notes)
    if (note.time == stop.time) print("note @{}: {}\n", note.time, note.text);
  if (stop.in_kernel) {
    show_kernel_stop(*this);
    return Status::Good;
  }
  if (!screen_shows_code(*this)) show_source_around(*this, stop.where, list_lines);
  return Status::Good;
}

static std::vector<bytecode::Pc> pcs_of(const debug::Breakpoint& b) {
  std::vector<bytecode::Pc> pcs;
  for (const debug::Site& site : b.sites)
    if (pcs.empty() || pcs.back() != site.pc) pcs.push_back(site.pc);
  return pcs;
}

void show_breakpoints(Repl& repl, std::optional<debug::PointKind> kind) {
  const auto is_shown = [&](const auto& entry) { return !kind || entry.second.kind == *kind; };
  const auto& points = repl.debugger().breakpoints();
  if (std::none_of(points.begin(), points.end(), is_shown)) {
    repl.print("no {}s\n", kind == debug::PointKind::Watch ? "watchpoint" : "breakpoint");
    return;
  }
  for (const auto& [number, b] : points) {
    if (!is_shown(std::pair(number, b))) continue;
    const bool anywhere = b.sites.empty() && b.kind != debug::PointKind::Break;
    repl.print("{:<3} {} {:<10} {:<24} {}", number, b.enabled ? "on " : "off", kind_name(b), b.spec,
               b.in_kernel       ? b.place
               : anywhere        ? b.kind == debug::PointKind::Watch
                                       ? fmt::format("in {}{}", b.every_activation ? "every call of " : "",
                                              b.function.empty() ? "the function that is run" : b.function)
                                       : "anywhere"
               : b.sites.empty() ? b.place.empty() ? "pending" : b.place
                                 : fmt::format("pc {}", fmt::join(pcs_of(b), ", ")));
    if (!b.moved_to.empty()) repl.print("  ({})", b.moved_to);
    if (!b.condition.empty()) repl.print("  if {}", b.condition);
    if (b.hits) repl.print("  hit {}", support::counted(std::size_t(b.hits), "time"));
    if (b.iterations) repl.print("  tells the iteration");
    if (b.temporary) repl.print("  once");
    if (!b.log.empty()) repl.print("  \"{}\"", b.log);
    repl.print("\n");
    for (const std::string& line : b.commands) repl.print("        {}\n", line);
  }
}

void show_operator(Repl& repl, const ops::OpInfo& op) {
  repl.print("R.{}({})\n  {}\n", op.short_name(), op.signature, op.doc);
  repl.print("  {}, {}\n", op.purity == ops::Purity::Pure ? "pure" : "impure",
             op.legalize ? "legalised through a tensor expression" : "no legalisation");
}

void show_program(Repl& repl) {
  session::Session& s = repl.session();
  if (!s.program()) {
    repl.print("no program is loaded\n");
    return;
  }
  repl.print("program: {}\n", s.program_path().empty() ? "entered at the prompt" : s.program_path());
  repl.print("kind: {}\n", to_string(s.program()->kind()));
  repl.print("functions: {}\n", fmt::join(s.function_names(), ", "));
  if (const session::Program* p = s.program(); p && p->version_count() > 0)
    repl.print("version: {} of {}\n", p->position(), p->version_count() - 1);
  repl.print("engine: {}\n", session::to_string(s.options().engine));
  if (repl.debugger().active()) repl.print("stopped: {}\n", describe_position(repl, repl.debugger().last_stop().where));
}

}  // namespace rldb::ui
