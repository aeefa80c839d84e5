// tree-sitter's tree -> the rows of a Tree.
#pragma once

#include <tree_sitter/api.h>

#include <string_view>
#include <vector>

#include "frontend/cst/parser.h"
#include "frontend/cst/statements.h"

namespace rldb::frontend::cst {

// The statements for which placeholders stand in the text of a tree, in order, and the text that has them.
struct CutOut {
  std::string_view text;
  std::vector<Statement> statements;
};

// Copies what the script room reads of a subtree, and the trees of the statements cut out (null: none) in place of
// their placeholders. False when the tree does not match the known statements.
bool copy_rows(TSNode root, const TreeOptions& options, const CutOut* cut_out, std::vector<NodeRow>& rows);

}  // namespace rldb::frontend::cst
