// Screen mode: `:tui`, and gdb's commands for its panes.
#include <algorithm>

#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_screen.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/screen.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

Status no_screen(Repl& repl) { return repl.fail(source::message(diag::NoScreen)); }

// gdb's names for its windows are accepted too.
std::optional<PaneKind> find_pane(std::string_view name) {
  constexpr std::pair<std::string_view, PaneKind> kOfGdb[] = {
      {"src", PaneKind::Code}, {"asm", PaneKind::Instructions}, {"regs", PaneKind::Values}, {"cmd", PaneKind::Command}};
  for (const auto& [other, kind] : kOfGdb)
    if (other == name) return kind;
  return pane_named(name);
}

Status no_pane(Repl& repl, std::string_view name) {
  return repl.fail(
      source::message(diag::NoSuchThing, "pane", name).with_hint("panes: code, instructions, values, heap, command"));
}

}  // namespace

Status command_Tui(Repl& repl, std::string_view rest) {
  const std::vector<std::string> words = split_words(rest);
  if (!repl.screen) return no_screen(repl);
  Screen& screen = *repl.screen;
  if (words.empty()) {
    screen.on = !screen.on;
    if (!screen.on) screen.single_key = false;
    return Status::Good;
  }
  const std::string& verb = words[0];
  if (words.size() == 1 && (verb == "on" || verb == "enable")) {
    screen.on = true;
    return Status::Good;
  }
  if (words.size() == 1 && (verb == "off" || verb == "disable")) {
    screen.on = screen.single_key = false;
    return Status::Good;
  }
  if (words.size() == 1 && verb == "single-key") {
    screen.single_key = !screen.single_key;
    screen.on = true;
    return Status::Good;
  }
  if (words.size() != 2 || (verb != "show" && verb != "hide")) return Status::Usage;
  const auto kind = find_pane(words[1]);
  if (!kind) return no_pane(repl, words[1]);
  if (*kind == PaneKind::Command) return Status::Usage;  // it is always shown
  screen.show(*kind, verb == "show");
  screen.on = true;
  return Status::Good;
}

Status command_Layout(Repl& repl, std::string_view rest) {
  if (!repl.screen) return no_screen(repl);
  if (rest.empty()) return Status::Usage;
  if (rest == "next" || rest == "prev")
    repl.screen->next_layout(rest == "prev");
  else if (!repl.screen->set_layout(rest))
    return repl.fail(source::message(diag::NoSuchThing, "layout", rest).with_hint("layouts: src, asm, split"));
  repl.screen->on = true;
  return Status::Good;
}

Status command_Focus(Repl& repl, std::string_view rest) {
  if (!repl.screen) return no_screen(repl);
  if (rest.empty()) return Status::Usage;
  const auto kind = find_pane(rest);
  if (rest == "next" || rest == "prev")
    repl.screen->focus_next(rest == "prev");
  else if (kind)
    repl.screen->set_focus(*kind);
  else
    return no_pane(repl, rest);
  repl.screen->on = true;
  return Status::Good;
}

Status command_Winheight(Repl& repl, std::string_view rest) {
  constexpr std::uint64_t kMost = 1000;
  if (!repl.screen) return no_screen(repl);
  const std::vector<std::string> words = split_words(rest);
  if (words.empty() || words.size() > 2) return Status::Usage;
  const auto kind = words.size() == 1 ? std::optional(repl.screen->focus()) : find_pane(words[0]);
  if (!kind) return no_pane(repl, words[0]);
  std::string_view number = words.back();
  const char sign = number.empty() ? '\0' : number[0];
  const bool relative = sign == '+' || sign == '-';
  if (relative) number.remove_prefix(1);
  const auto rows = parse_count(number);
  if (!rows || *rows == 0) return Status::Usage;
  const int count = int(std::min(*rows, kMost));
  repl.screen->set_height(*kind, sign == '-' ? -count : count, relative);
  repl.screen->on = true;
  return Status::Good;
}

}  // namespace rldb::ui
