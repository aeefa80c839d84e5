// Highlighter: `highlight` (parse.h) for a text that is being typed. It remembers the tree of the last text, so that a
// keystroke costs only the changed and the visible part, not the whole text. User: the prompt.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "rldb/frontend/parse.h"

namespace rldb::frontend {

class Highlighter {
 public:
  Highlighter();
  ~Highlighter();
  Highlighter(const Highlighter&) = delete;
  Highlighter& operator=(const Highlighter&) = delete;
  // Within bytes [begin, end).
  std::vector<Highlight> highlight(std::string_view text, std::size_t begin, std::size_t end);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rldb::frontend
