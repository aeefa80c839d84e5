// tree-sitter's parser with our grammar, counted memory and cancellation. Users: the files here that include
// tree_sitter/api.h.
#pragma once

#include <tree_sitter/api.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/cst/parser.h"
#include "frontend/cst/statements.h"

namespace rldb::frontend::cst {

struct ParserDeleter {
  void operator()(TSParser* p) const;
};
struct TreeDeleter {
  void operator()(TSTree* t) const;
};
using ParserPtr = std::unique_ptr<TSParser, ParserDeleter>;
using TreePtr = std::unique_ptr<TSTree, TreeDeleter>;

ParserPtr make_parser(Grammar grammar = Grammar::TvmScript);
// Null: cancelled; the parser begins anew at the next call.
TreePtr parse_or_cancel(TSParser* parser, const TSTree* old, std::string_view text);
// Throws when it is cancelled. A text over the runtime's limits is read as nothing.
TreePtr parse_text(TSParser* parser, const TSTree* old, std::string_view text, Grammar grammar = Grammar::TvmScript);
// The one change that turns one text into another.
TSInputEdit difference(std::string_view before, std::string_view after);
// The same as an edit of a tree.
TSInputEdit difference_for_runtime(std::string_view before, std::string_view after);

// A statement of a text, and a line behind it: recovery from an error at its end needs something to go on with. `alone`
// (null: not wanted) becomes the text of the tree.
TreePtr parse_statement(std::string_view text, std::uint32_t begin, std::uint32_t end, std::string* alone = nullptr);

// A LiveTree as tree-sitter has it: of the text with placeholders, and for what they stand.
struct LiveParts {
  TSNode root;
  const std::vector<Statement>& cut_out;
};
LiveParts parts_of(const LiveTree& tree);

}  // namespace rldb::frontend::cst
