// The tree behind a TextIndex. Users: text_index.cc, document.cc, relay/document.cc.
#pragma once

#include <vector>

#include "frontend/cst/parser.h"
#include "rldb/frontend/text_index.h"

namespace rldb::frontend {

struct TextIndex::Tree {
  cst::Tree tree;
  std::vector<std::uint32_t> line_ends;

  // The text is not needed afterwards, and may not outlive the index.
  void note_lines();
  // The row of a binding; 0: none is there.
  std::uint32_t find_binding(TextRange at) const;
  // Puts another one in its place, whose rows are those of a file that has nothing else.
  void replace(std::uint32_t row, const cst::Tree& binding);
};

// `tree.text` is that of the whole file.
TextIndex index_of(TextIndex::Tree tree);
TextIndex relay_index_of(TextIndex::Tree tree);  // Relay's

}  // namespace rldb::frontend
