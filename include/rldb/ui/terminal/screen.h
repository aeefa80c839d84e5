// Screen: the contents of the terminal in screen mode, as cells: panes over the stopped program, and below them the
// command line with its output. Knows neither the debugger, which fills the panes (debug_panes.h), nor the terminal, to
// which full_screen.h brings the cells: a test reads them.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ui/terminal/arrange.h"
#include "rldb/ui/terminal/key_bindings.h"
#include "rldb/ui/terminal/layout.h"
#include "rldb/ui/terminal/scrollback.h"

namespace rldb::ui {

struct PaneLine {
  std::string text;      // may contain colours
  bool changed = false;  // since the previous stop
};

struct Pane {
  std::string title;
  std::string id;                             // a new id means a new text, shown from its start
  std::size_t count = 0;                      // lines
  std::function<PaneLine(std::size_t)> line;  // called for visible lines
  std::optional<std::size_t> current;         // the line that the pane follows
  std::string instead;                        // shown when there are no lines
};

struct SingleKey {
  char key;
  std::string_view entry, doc;
};
const std::vector<SingleKey>& single_keys();

class Screen {
 public:
  explicit Screen(bool color) : color_(color) {}
  bool color() const { return color_; }

  // ---- display ----
  bool on = false;
  bool single_key = false;
  std::string status;  // the title of the command line
  Pane& pane(PaneKind kind) { return states_[std::size_t(kind)].pane; }
  // Call after the panes were refilled: those whose current line has moved follow it again.
  void panes_changed();
  // Call before an entry is executed: from then on the panes have copies of the visible lines and of some around them,
  // because the entry may change or free the data behind the lines.
  void keep_lines();
  Scrollback& output() { return output_; }

  // ---- arranged by the user ----
  bool is_shown(PaneKind kind) const { return wanted_.is_shown(kind); }
  void show(PaneKind kind, bool shown);
  PaneKind focus() const { return focus_; }
  void set_focus(PaneKind kind);
  void focus_next(bool backwards = false);
  // Selects a named layout: `src`, `asm`, `split`. False: there is none with that name.
  bool set_layout(std::string_view name);
  void next_layout(bool backwards = false);
  // Sets the rows of a pane; relative to its current ones.
  void set_height(PaneKind kind, int rows, bool relative);

  // ---- keys ----
  // True: the key was for the screen. Otherwise it is the editor's, which then shows its entry again.
  bool take(KeyFunction function, std::string_view keys);
  // The entry for a letter typed at an empty entry; empty: the letter is consumed, nothing is to be run.
  std::optional<std::string_view> take_single(char letter);

  // ---- cells ----
  Frame compose(const Frame& entry, int width, int height);
  // While an entry is executed: the panes, the output so far, and a line of progress.
  Frame working(std::string_view progress, int width, int height);
  // Rows for the entry and the list below it.
  int command_rows() const;

 private:
  struct State {
    Pane pane;
    std::optional<std::size_t> shown_line;  // `current` of the previous text
    std::string shown_id;
    std::size_t top = 0;
    int left = 0, rows = 0;
    bool following = true;
  };
  State& state(PaneKind kind) { return states_[std::size_t(kind)]; }
  bool toggle(KeyFunction function);
  bool scroll(KeyFunction function);
  void scroll_pane(State& state, KeyFunction function);
  void render(int width, int height);
  void follow(State& state) const;
  void render_pane(const PaneBox& box, std::vector<std::vector<Row>>& rows);
  Row body_row(State& state, std::size_t line, int width) const;
  Row title_row(const PaneBox& box, std::string_view title) const;
  Frame with_command(std::vector<Row> entry, ScreenPosition cursor, bool open);

  bool color_;
  Arrangement wanted_;
  PaneKind focus_ = PaneKind::Command;
  std::size_t layout_ = 0;
  std::array<State, kPaneKinds> states_;
  Scrollback output_;
  std::size_t back_ = 0;  // rows by which the command line is scrolled back
  // The panes as they were last rendered.
  std::vector<PaneBox> boxes_;
  std::vector<Row> rows_;
  int width_ = 0, height_ = 0;
  bool stale_ = true;
};

}  // namespace rldb::ui
