// A parser for the file that talks to tree-sitter directly (query.cc): with our grammar, counted memory and
// cancellation.
#pragma once

#include <string_view>

struct TSParser;
struct TSTree;

namespace rldb::frontend::cst {

TSParser* new_parser();
// Null: cancelled; the parser begins anew at the next call.
TSTree* parse_or_cancel(TSParser* parser, const TSTree* old, std::string_view text);

}  // namespace rldb::frontend::cst
