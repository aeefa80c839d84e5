// A parser for the file that talks to tree-sitter directly (query.cc): with our grammar, counted memory and
// cancellation.
#pragma once

struct TSParser;

namespace rldb::frontend::cst {

TSParser* new_parser();

}  // namespace rldb::frontend::cst
