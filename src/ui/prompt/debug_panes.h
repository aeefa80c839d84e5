// DebugPanes: fills the panes of the screen with information on the selected frame: its text, its instructions, its
// values, its shape heap. Lines are made when they become visible.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/screen.h"

namespace rldb::ui {

class DebugPanes {
 public:
  DebugPanes(Repl& repl, Screen& screen) : repl_(repl), screen_(screen) {}
  void fill();

 private:
  // A displayed text, cut into lines, coloured where the console has colours.
  struct Text {
    std::string name;
    std::size_t hash = 0;
    std::vector<std::string> lines;
  };
  void fill_code(const debug::FrameInfo* frame);
  void fill_source(const source::Buffer& buffer, const debug::FrameInfo* frame);
  void fill_kernel();
  void fill_instructions(Pane& pane, const debug::Position& where);
  void fill_values(const debug::FrameInfo* frame);
  void fill_kernel_values();
  void fill_heap(const debug::FrameInfo* frame);
  PaneLine value_line(const std::string& of, const std::string& name, std::string text);
  const Text& text_of(const std::string& name, std::string_view text);

  Repl& repl_;
  Screen& screen_;
  Text text_;
  // The text beside each visible name of a pane, at the previous stop and now.
  std::map<std::string, std::string> before_, now_;
  std::pair<std::uint64_t, int> moment_{0, -1};
};

}  // namespace rldb::ui
