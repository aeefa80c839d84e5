// Screen: the user's arrangement and the keys. The cells are in screen_cells.cc.
#include "rldb/ui/terminal/screen.h"

#include <algorithm>
#include <iterator>

namespace rldb::ui {

namespace {

// Layouts have gdb's names: which of the panes for code are shown.
struct NamedLayout {
  std::string_view name;
  bool code, instructions;
};
constexpr NamedLayout kLayouts[] = {{"src", true, false}, {"asm", false, true}, {"split", true, true}};

constexpr PaneKind kKinds[] = {PaneKind::Code, PaneKind::Instructions, PaneKind::Values, PaneKind::Heap,
                               PaneKind::Command};

// From the cursor keys: arrows, Home, PageUp. ^B and ^F are for the entry wherever the focus is.
bool is_cursor_key(std::string_view keys) { return keys.starts_with("\033[") || keys.starts_with("\033O"); }

}  // namespace

const std::vector<SingleKey>& single_keys() {
  static const std::vector<SingleKey> rows{
#define RLDB_SINGLE_KEY(key, entry, doc) {key, entry, doc},
#include "rldb/ui/terminal/single_key.def"
  };
  return rows;
}

void Screen::panes_changed() {
  for (State& s : states_) {
    const bool other = s.pane.id != s.shown_id;
    if (other) s.top = 0, s.left = 0;
    if (other || s.pane.current != s.shown_line) s.following = true;
    s.shown_id = s.pane.id;
    s.shown_line = s.pane.current;
  }
  stale_ = true;
}

void Screen::keep_lines() {
  constexpr std::size_t kAround = 100;  // a terminal that is enlarged shows more
  for (State& s : states_) {
    if (!s.pane.line) continue;
    const std::size_t rows = std::size_t(std::max(0, s.rows));
    const std::size_t begin = s.top - std::min(s.top, kAround);
    const std::size_t end = std::min(s.pane.count, s.top + rows + kAround);
    std::vector<PaneLine> kept;
    for (std::size_t i = begin; i < end; ++i) kept.push_back(s.pane.line(i));
    s.pane.line = [begin, kept = std::move(kept)](std::size_t i) {
      return i >= begin && i - begin < kept.size() ? kept[i - begin] : PaneLine();
    };
  }
}

void Screen::show(PaneKind kind, bool shown) {
  if (kind == PaneKind::Command) return;
  wanted_.shown[std::size_t(kind)] = shown;
  if (!shown && focus_ == kind) focus_ = PaneKind::Command;
  stale_ = true;
}

void Screen::set_focus(PaneKind kind) {
  if (kind != PaneKind::Command) show(kind, true);
  focus_ = kind;
  stale_ = true;
}

void Screen::focus_next(bool backwards) {
  // Among those for which there is room.
  const auto has_room = [&](PaneKind kind) {
    return boxes_.empty() ||
           std::any_of(boxes_.begin(), boxes_.end(), [&](const PaneBox& b) { return b.kind == kind; });
  };
  std::size_t at = std::size_t(focus_);
  do {
    at = (at + (backwards ? kPaneKinds - 1 : 1)) % kPaneKinds;
  } while (!wanted_.is_shown(kKinds[at]) || !has_room(kKinds[at]));
  focus_ = kKinds[at];
  stale_ = true;
}

bool Screen::set_layout(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kLayouts), std::end(kLayouts), [&](const NamedLayout& l) { return l.name == name; });
  if (found == std::end(kLayouts)) return false;
  layout_ = std::size_t(found - std::begin(kLayouts));
  show(PaneKind::Code, found->code);
  show(PaneKind::Instructions, found->instructions);
  show(PaneKind::Values, true);
  show(PaneKind::Heap, true);
  return true;
}

void Screen::next_layout(bool backwards) {
  const std::size_t n = std::size(kLayouts);
  set_layout(kLayouts[(layout_ + (backwards ? n - 1 : 1)) % n].name);
}

void Screen::set_height(PaneKind kind, int rows, bool relative) {
  constexpr int kMost = 1000;
  int now = state(kind).rows;
  for (const PaneBox& box : boxes_)
    if (box.kind == kind) now = box.height - 1;
  wanted_.heights[std::size_t(kind)] = std::clamp(relative ? now + rows : rows, 1, kMost);
  stale_ = true;
}

// ---- keys ----

bool Screen::take(KeyFunction function, std::string_view keys) {
  if (toggle(function)) return true;
  if (!on) return false;
  if (is_cursor_key(keys) && scroll(function)) return true;
  back_ = 0;  // a user who types wants to see it
  return false;
}

// The keys that begin with ^X, as in gdb: each turns the screen on.
bool Screen::toggle(KeyFunction function) {
  const bool was_on = on;
  if (function == KeyFunction::TuiSwitchMode) {
    on = !on;
    if (!on) single_key = false;
    return true;
  }
  if (function == KeyFunction::DeleteOtherWindows) {
    on = true;
    const PaneKind kept = is_shown(PaneKind::Code) ? PaneKind::Code : PaneKind::Instructions;
    for (const PaneKind kind : kKinds) show(kind, kind == kept);
    return true;
  }
  if (function == KeyFunction::ChangeWindows) {
    on = true;
    if (was_on) next_layout();
    return true;
  }
  if (function == KeyFunction::NextKeymap) {
    single_key = !(was_on && single_key);
    return on = true;
  }
  if (function == KeyFunction::OtherWindow) {
    if (was_on) focus_next();
    return on = true;
  }
  if (function == KeyFunction::EnlargeWindow || function == KeyFunction::ShrinkWindow) {
    if (was_on) set_height(focus_, function == KeyFunction::EnlargeWindow ? 1 : -1, true);
    return on = true;
  }
  return false;
}

bool Screen::scroll(KeyFunction function) {
  const bool page = function == KeyFunction::HistorySearchBackward || function == KeyFunction::HistorySearchForward;
  if (focus_ == PaneKind::Command) {
    if (!page) return false;
    const std::size_t rows = std::size_t(std::max(1, command_rows() - 1));
    if (function == KeyFunction::HistorySearchBackward)
      back_ += rows;
    else
      back_ -= std::min(back_, rows);
    return true;
  }
  const bool arrow = function == KeyFunction::Up || function == KeyFunction::Down ||
                     function == KeyFunction::ForwardChar || function == KeyFunction::BackwardChar;
  const bool edge = function == KeyFunction::BeginningOfLine || function == KeyFunction::EndOfLine;
  if (!page && !arrow && !edge) return false;
  scroll_pane(state(focus_), function);
  stale_ = true;
  return true;
}

void Screen::scroll_pane(State& s, KeyFunction function) {
  constexpr int kSideways = 4, kFarthest = 4096;
  const std::size_t page = std::size_t(std::max(1, s.rows - 1));
  const std::size_t last = s.pane.count - std::min(s.pane.count, std::size_t(std::max(1, s.rows)));
  const auto up = [&](std::size_t n) { s.top -= std::min(s.top, n); };
  const auto down = [&](std::size_t n) { s.top = std::min(last, s.top + n); };
  if (function == KeyFunction::ForwardChar) s.left = std::min(s.left + kSideways, kFarthest);
  if (function == KeyFunction::BackwardChar) s.left = std::max(0, s.left - kSideways);
  if (function == KeyFunction::Up) up(1);
  if (function == KeyFunction::Down) down(1);
  if (function == KeyFunction::HistorySearchBackward) up(page);
  if (function == KeyFunction::HistorySearchForward) down(page);
  if (function == KeyFunction::BeginningOfLine) s.top = 0, s.left = 0;
  if (function == KeyFunction::EndOfLine) s.top = last;
  s.following = false;
}

std::optional<std::string_view> Screen::take_single(char letter) {
  if (!on || !single_key) return std::nullopt;
  for (const SingleKey& row : single_keys()) {
    if (row.key != letter) continue;
    if (row.entry.empty()) single_key = false;
    back_ = 0;
    return row.entry;
  }
  return std::nullopt;
}

}  // namespace rldb::ui
