#include "ui/prompt/kernel_view.h"

#include <fmt/format.h>

#include "ui/prompt/view.h"

namespace rldb::ui {

using debug::Debugger;

namespace {

// `C[i, j], C[2, 3]`, or once where both are the same.
std::string access_text(const Debugger::KernelAccess& a) {
  return a.at == a.element ? a.at : fmt::format("{} ({})", a.element, a.at);
}

std::string value_text(const std::optional<runtime::Value>& v) {
  return v ? runtime::format_brief(*v) : "(outside of the buffer)";
}

}  // namespace

void show_kernel_stop(Repl& repl) {
  const auto at = repl.debugger().kernel_position();
  if (!at) return;
  repl.print("in kernel {}: {}\n", at->kernel, at->text);
  for (const auto& [name, value] : at->variables) repl.print("  {} = {}\n", name, runtime::format_brief(value));
  for (const Debugger::KernelAccess& a : at->accesses) {
    if (!a.write)
      repl.print("  reads {} = {}\n", access_text(a), value_text(a.before));
    else if (a.after)
      repl.print("  writes {}: {} -> {}\n", access_text(a), value_text(a.before), runtime::format_brief(*a.after));
    else
      repl.print("  writes {}: {}\n", access_text(a), value_text(a.before));
  }
}

void list_kernel(Repl& repl) {
  const Repl::Kind source(repl, OutputKind::Source);
  for (const Debugger::KernelLine& line : repl.debugger().kernel_lines(repl.list_lines))
    repl.print("{} {:>5}  {}\n", line.current ? "=>" : "  ", line.number, line.text);
}

void show_kernel_locals(Repl& repl) {
  const auto at = repl.debugger().kernel_position();
  if (!at) return;
  for (const auto& [name, value] : at->variables) repl.print("{} = {}\n", name, runtime::format_brief(value));
  for (const auto& [name, value] : at->buffers) repl.print("{} = {}\n", name, runtime::format_brief(value));
}

std::string kernel_place(const Debugger& debugger) {
  const auto at = debugger.kernel_position();
  if (!at) return {};
  std::string text = at->kernel;
  for (const auto& [name, value] : at->loops) text += fmt::format(" {}={}", name, runtime::format_brief(value));
  return text;
}

std::string describe_kernel_frame(const Debugger& debugger) {
  const auto at = debugger.kernel_position();
  if (!at) return {};
  std::string text = kernel_place(debugger);
  if (at->source)
    text += fmt::format(" at {}:{}", at->source->name(), at->line);
  else if (at->line > 0)
    text += fmt::format(" at line {} of its text", at->line);
  std::string blocks;
  for (const std::string& b : at->blocks) blocks += (blocks.empty() ? "" : " > ") + b;
  return blocks.empty() ? text : text + ", in block " + blocks;
}

}  // namespace rldb::ui
