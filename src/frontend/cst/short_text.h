// A text without its statements of known shape (known_shapes.h): tree-sitter reads what is left, which takes a tenth of
// the time. Lines of such statements that follow each other in a block are a *run*; a name of one character stands for
// it. The rows of the runs are put into those of the short text afterwards, so that the result is the tree of the
// whole text.
//
// The short text has an error if and only if the text has one, and then the whole text is to be read: which repair
// tree-sitter chooses depends on everything. So is a text with lines of too little indentation (indentation.h), which
// are looked for in the whole text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/cst/known_shapes.h"
#include "frontend/cst/tree.h"

namespace rldb::frontend::cst {

struct ShortText {
  struct Run {
    std::uint32_t begin, end;  // in the text
    std::uint32_t at;          // of the name that stands for it
  };
  std::string text;
  std::vector<Run> runs;
};

// Nothing: it would not be much shorter, or the text cannot be divided without the grammar.
std::optional<ShortText> shorten(std::string_view text, KnownShapes& shapes);

// The rows of the text from those of the short one. False: nodes would lie deeper than `max_depth`.
bool lengthen(std::string_view text, const ShortText& shortened, KnownShapes& shapes, int max_depth,
              const std::vector<NodeRow>& rows, std::vector<NodeRow>& out);

}  // namespace rldb::frontend::cst
