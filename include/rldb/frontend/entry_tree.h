// EntryTree: an entry that is being typed or read line by line. It remembers the tree of the last text, so that a
// keystroke, or one more line, costs only what it changes and the part that is shown, in damaged text as well: the tree
// is that of an edited file. Colours and completeness (parse.h) are its answers; the call for a hint (unfinished.h) and
// the indentation are those of the brackets that are open, which no recovery moves. Users: the prompt's editor and its
// reader of scripts and pastes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "rldb/frontend/parse.h"
#include "rldb/frontend/unfinished.h"

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
  // The indentation, in columns, that the next line would start with.
  int next_indent(std::string_view text);
  // Of a last line that is `else:` or `elif c:`: the indentation of the `if` that it belongs to. nullopt: there is
  // none.
  static std::optional<int> branch_indent(std::string_view text);
  // nullopt: no bracket is open, there is a closing one too many, or a long string is open.
  std::optional<ClosedEntry> close_brackets(std::string_view text);
  // The innermost call that is open at `cursor`.
  OpenCall open_call(std::string_view text, std::size_t cursor);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rldb::frontend
