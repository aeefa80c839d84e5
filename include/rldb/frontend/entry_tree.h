// EntryTree: an entry that is being typed or read line by line. It remembers the tree of the last text, so that a
// keystroke, or one more line, costs only what it changes and the part that is shown: `highlight` and `completeness`
// (parse.h) answer from that one tree. Users: the prompt's editor and its reader of scripts and pastes.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "rldb/frontend/parse.h"

namespace rldb::frontend {

class EntryTree {
 public:
  EntryTree();
  ~EntryTree();
  EntryTree(const EntryTree&) = delete;
  EntryTree& operator=(const EntryTree&) = delete;
  // Within bytes [begin, end).
  std::vector<Highlight> highlight(std::string_view text, std::size_t begin, std::size_t end);
  Completeness completeness(std::string_view text);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rldb::frontend
