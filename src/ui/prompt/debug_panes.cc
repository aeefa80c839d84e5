// The lines of each pane, and its scroll position at a stop.
#include "ui/prompt/debug_panes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "rldb/bytecode/disassemble.h"
#include "rldb/ui/terminal/guarded.h"
#include "rldb/ui/terminal/styled_text.h"
#include "ui/prompt/entry/complete.h"
#include "ui/prompt/kernel_view.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kNotRunning = "no program is being run";

void clear(Pane& pane, std::string_view instead) {
  pane = {};
  pane.instead = instead;
}

// A line that cannot be computed (a limit is reached, a bug of ours) is empty.
std::function<PaneLine(std::size_t)> guarded_line(std::function<PaneLine(std::size_t)> make) {
  return [make = std::move(make)](std::size_t i) {
    PaneLine line;
    (void)run_guarded([&] { line = make(i); }, 0);
    return line;
  };
}

// Breakpoints among the lines or instructions of a pane: `b` is on, `d` is disabled.
using Marks = std::map<std::int64_t, char>;

void mark(Marks& marks, std::int64_t at, bool enabled) {
  char& c = marks[at];
  if (c != 'b') c = enabled ? 'b' : 'd';
}

void mark_all(Marks& marks, const std::vector<std::uint32_t>& lines, bool enabled) {
  for (const std::uint32_t line : lines) mark(marks, line, enabled);
}

std::string gutter(const Marks& marks, std::int64_t at, bool current) {
  const auto found = marks.find(at);
  return fmt::format("{}{}{:>5}  ", found == marks.end() ? ' ' : found->second, current ? "=>" : "  ", at);
}

const bytecode::Executable* executable_of(Repl& repl) {
  if (const vm::Machine* machine = repl.debugger().machine()) return &machine->executable();
  const auto build = repl.debugger().build();
  return build ? build->executable.get() : nullptr;
}

Marks marked_lines(Repl& repl, const source::Buffer& buffer) {
  Marks marks;
  const bytecode::Executable* exe = executable_of(repl);
  if (!exe) return marks;
  const source::SourceManager& sources = repl.session().sources();
  for (const auto& [number, b] : repl.debugger().breakpoints()) {
    for (const debug::Site& site : b.sites)
      if (const bytecode::InstructionDebug* debug = exe->debug.instruction(site.pc))
        if (sources.find(debug->span.file) == &buffer)
          mark(marks, buffer.line_column(debug->span.begin).line, b.enabled);
    if (b.kernel_file == buffer.name()) mark_all(marks, b.kernel_lines, b.enabled);
  }
  return marks;
}

Marks marked_instructions(Repl& repl) {
  Marks marks;
  for (const auto& [number, b] : repl.debugger().breakpoints())
    for (const debug::Site& site : b.sites) mark(marks, site.pc.value(), b.enabled);
  return marks;
}

// In the kernel's text, whether a line, a loop, a block, an axis or a buffer was given.
Marks marked_kernel_lines(Repl& repl, std::string_view kernel) {
  Marks marks;
  for (const auto& [number, b] : repl.debugger().breakpoints())
    if (b.kernel == kernel) mark_all(marks, b.kernel_lines, b.enabled);
  return marks;
}

// The text of the program when nothing is running.
const source::Buffer* program_text(Repl& repl) {
  const source::SourceManager& sources = repl.session().sources();
  if (repl.session().program_path().empty()) return nullptr;
  for (std::uint32_t i = std::uint32_t(sources.size()); i > 0; --i)
    if (const source::Buffer* b = sources.find(source::FileId{i}); b && b->name() == repl.session().program_path())
      return b;
  return nullptr;
}

}  // namespace

void DebugPanes::fill() {
  debug::Debugger& debugger = repl_.debugger();
  const std::pair moment{debugger.last_stop().time, repl_.frame()};
  if (moment != moment_) before_ = std::exchange(now_, {});
  moment_ = moment;
  const bool running = debugger.machine() && debugger.active();
  const std::vector<debug::FrameInfo> frames = running ? debugger.frames() : std::vector<debug::FrameInfo>();
  const auto at = std::size_t(std::max(0, repl_.frame()));
  const debug::FrameInfo* frame = at < frames.size() ? &frames[at] : nullptr;
  screen_.status = !frame             ? std::string(kNotRunning)
                   : frame->in_kernel ? describe_kernel_frame(debugger)
                                      : describe_position(repl_, frame->where);
  if (frame) screen_.status += fmt::format(" @{}", debugger.last_stop().time);
  fill_code(frame);
  // In a kernel: the call in which it is inspected.
  if (frame)
    fill_instructions(screen_.pane(PaneKind::Instructions),
                      frame->in_kernel ? debugger.last_stop().where : frame->where);
  else
    clear(screen_.pane(PaneKind::Instructions), kNotRunning);
  fill_values(frame);
  fill_heap(frame);
  screen_.panes_changed();
}

// ---- code ----

const DebugPanes::Text& DebugPanes::text_of(const std::string& name, std::string_view text) {
  constexpr std::size_t kMostPainted = std::size_t(1) << 18;
  const bool painted = screen_.color() && repl_.highlight && text.size() <= kMostPainted;
  const std::size_t hash = std::hash<std::string_view>()(text) + (painted ? 1 : 0);
  if (text_.name == name && text_.hash == hash) return text_;
  text_ = {name, hash, {}};
  const std::string shown = painted ? paint_script(text) : std::string(text);
  std::string_view style;
  for (std::size_t begin = 0; begin <= shown.size();) {
    const std::size_t end = std::min(shown.find('\n', begin), shown.size());
    const std::string_view line = std::string_view(shown).substr(begin, end - begin);
    // A style still open at the end of a line continues in the next.
    text_.lines.push_back((style.empty() ? "" : "\033[" + std::string(style) + "m") + std::string(line));
    style = style_after(line, style);
    begin = end + 1;
  }
  return text_;
}

void DebugPanes::fill_code(const debug::FrameInfo* frame) {
  Pane& pane = screen_.pane(PaneKind::Code);
  if (frame && frame->in_kernel) return fill_kernel();
  const source::Buffer* buffer = frame ? repl_.session().sources().find(frame->where.span.file) : program_text(repl_);
  if (buffer) return fill_source(*buffer, frame);
  if (frame) return fill_instructions(pane, frame->where);
  clear(pane,
        repl_.session().module() ? "the program has no text of its own: `:show` prints it" : "no program is loaded");
}

void DebugPanes::fill_source(const source::Buffer& buffer, const debug::FrameInfo* frame) {
  Pane& pane = screen_.pane(PaneKind::Code);
  const Text& text = text_of(buffer.name(), buffer.text());
  pane = {};
  pane.title = buffer.name();
  pane.id = "file " + buffer.name();
  pane.count = buffer.line_count();
  if (frame) pane.current = buffer.line_column(frame->where.span.begin).line - 1;
  pane.line =
      guarded_line([lines = text.lines, marks = marked_lines(repl_, buffer), now = pane.current](std::size_t i) {
        return PaneLine{gutter(marks, std::int64_t(i) + 1, now == i) + (i < lines.size() ? lines[i] : "")};
      });
}

void DebugPanes::fill_kernel() {
  constexpr std::size_t kAll = std::size_t(1) << 20;
  Pane& pane = screen_.pane(PaneKind::Code);
  const auto at = repl_.debugger().kernel_position();
  if (!at) return clear(pane, kNotRunning);
  const std::vector<debug::Debugger::KernelLine> lines = repl_.debugger().kernel_lines(kAll);
  std::string whole;
  for (const debug::Debugger::KernelLine& line : lines) whole += line.text + "\n";
  const Text& text = text_of("kernel " + at->kernel, whole);
  pane = {};
  pane.title = "kernel " + at->kernel;
  pane.id = text.name;
  pane.count = lines.size();
  const std::uint32_t first = lines.empty() ? 1 : lines.front().number;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].current) pane.current = i;
  pane.line = guarded_line(
      [shown = text.lines, first, marks = marked_kernel_lines(repl_, at->kernel), now = pane.current](std::size_t i) {
        return PaneLine{gutter(marks, std::int64_t(first) + std::int64_t(i), now == i) +
                        (i < shown.size() ? shown[i] : "")};
      });
}

void DebugPanes::fill_instructions(Pane& pane, const debug::Position& where) {
  const bytecode::Executable* exe = executable_of(repl_);
  const bytecode::FunctionIndex f = exe ? exe->find_function(where.function) : -1;
  if (f < 0) return clear(pane, "no instructions");
  const bytecode::Pc start = exe->functions[std::size_t(f)].start, end = exe->functions[std::size_t(f)].end;
  pane = {};
  pane.title = where.function;
  pane.id = "instructions of " + where.function;
  pane.count = std::size_t(std::max<std::int64_t>(0, end.value() - start.value()));
  if (where.pc >= start && where.pc < end) pane.current = std::size_t(where.pc.value() - start.value());
  pane.line = guarded_line([exe, start, marks = marked_instructions(repl_), now = pane.current](std::size_t i) {
    const bytecode::Pc pc = start + std::int64_t(i);
    const bytecode::InstructionDebug* debug = exe->debug.instruction(pc);
    const std::string of =
        debug && !debug->variable.empty() && debug->variable != "_" ? "  ; " + debug->variable : std::string();
    return PaneLine{gutter(marks, pc.value(), now == i) + bytecode::instruction_text(*exe, pc) + of};
  });
}

// ---- values ----

// `*` in front of values that have changed since the previous stop.
PaneLine DebugPanes::value_line(const std::string& of, const std::string& name, std::string text) {
  const std::string key = of + ":" + name;
  const auto before = before_.find(key);
  const bool changed = before != before_.end() && before->second != text;
  now_[key] = text;
  return {(changed ? "* " : "  ") + name + " = " + std::move(text), changed};
}

void DebugPanes::fill_values(const debug::FrameInfo* frame) {
  Pane& pane = screen_.pane(PaneKind::Values);
  if (!frame) return clear(pane, kNotRunning);
  if (frame->in_kernel) return fill_kernel_values();
  std::vector<debug::LocalInfo> locals = repl_.debugger().locals(frame->number);
  std::erase_if(locals, [](const debug::LocalInfo& l) { return !l.live; });
  std::reverse(locals.begin(), locals.end());  // newest first: they are the ones that a step has changed
  pane = {};
  pane.id = "values of " + frame->where.function;
  pane.title = frame->where.function;
  pane.count = locals.size();
  pane.instead = "no values yet";
  const auto kept = std::make_shared<std::vector<debug::LocalInfo>>(std::move(locals));
  pane.line = guarded_line([this, kept, of = pane.id](std::size_t i) {
    const debug::LocalInfo& local = (*kept)[i];
    return value_line(of, local.name, runtime::format_brief(local.value));
  });
}

// Variables first: they show where in its loops the kernel is.
void DebugPanes::fill_kernel_values() {
  Pane& pane = screen_.pane(PaneKind::Values);
  const auto at = repl_.debugger().kernel_position();
  if (!at) return clear(pane, kNotRunning);
  const auto rows = std::make_shared<std::vector<std::pair<std::string, runtime::Value>>>(at->variables);
  rows->insert(rows->end(), at->buffers.begin(), at->buffers.end());
  pane = {};
  pane.id = "values of kernel " + at->kernel;
  pane.title = at->kernel;
  pane.count = rows->size();
  pane.instead = "no values yet";
  pane.line = guarded_line([this, rows, of = pane.id](std::size_t i) {
    return value_line(of, (*rows)[i].first, runtime::format_brief((*rows)[i].second));
  });
}

void DebugPanes::fill_heap(const debug::FrameInfo* frame) {
  Pane& pane = screen_.pane(PaneKind::Heap);
  if (!frame) return clear(pane, kNotRunning);
  const auto slots = std::make_shared<std::vector<debug::SlotInfo>>(repl_.debugger().heap(frame->number));
  pane = {};
  pane.id = "heap of " + frame->where.function;
  pane.title = "shapes";
  pane.count = slots->size();
  pane.instead = "no shape heap in this frame";
  pane.line = guarded_line([this, slots, of = pane.id](std::size_t i) {
    const debug::SlotInfo& s = (*slots)[i];
    PaneLine line = value_line(of, s.expression, s.set ? fmt::format("{}", s.value) : "unset");
    line.text += fmt::format("  slot {}, {}", s.slot, s.bound_by);
    return line;
  });
}

}  // namespace rldb::ui
