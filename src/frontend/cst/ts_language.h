// The generated parsers' symbols and fields, as kinds and fields of a Tree. Users: the files here that include
// tree_sitter/api.h.
#pragma once

#include <tree_sitter/api.h>

#include <vector>

#include "frontend/cst/parser.h"

namespace rldb::frontend::cst {

struct Language {
  const TSLanguage* ts;
  std::vector<Kind> kinds;        // by TSSymbol
  std::vector<bool> punctuation;  // by TSSymbol: tokens that never fill a field
  std::vector<Field> fields;      // by TSFieldId

  explicit Language(const TSLanguage* language);
  Kind kind_of(TSSymbol symbol) const { return symbol < kinds.size() ? kinds[symbol] : Kind::Error; }
  Kind kind_of(TSNode node) const { return kind_of(ts_node_symbol(node)); }
  bool is_punctuation(TSSymbol symbol) const { return symbol < punctuation.size() && punctuation[symbol]; }
};

const Language& language(Grammar grammar = Grammar::TvmScript);

// To the child that holds the byte. The runtime counts a child that ends there (a line end's token) as holding it: it
// is queried for the next byte.
inline bool goto_child(TSTreeCursor* cursor, std::uint32_t begin) {
  return ts_tree_cursor_goto_first_child_for_byte(cursor, begin + 1) >= 0;
}

}  // namespace rldb::frontend::cst
