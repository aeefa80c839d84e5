// The trees of statements by their shape (shape.h), each read once by the grammar.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/cst/shape.h"
#include "frontend/cst/ts_parser.h"

namespace rldb::frontend::cst {

// The rows of a statement, from its first to its last piece.
struct ShapedRow {
  Kind kind;
  Field field;
  std::uint16_t first, last;  // pieces
  std::uint16_t next;
};
struct ShapedTree {
  std::vector<ShapedRow> rows;
  int depth = 0;  // of the deepest
};

class KnownShapes {
 public:
  // Null: the grammar has to read the statement, because its shape is met for the first time, or because it is not
  // one simple statement without errors.
  const ShapedTree* find(const ShapeScan& statement, std::string_view text);
  // To be called when no tree is in use. (While a text is read, a table that is full takes no more shapes.)
  void forget_if_many();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  struct Entry {
    bool tried = false;
    std::optional<ShapedTree> tree;
  };
  std::optional<ShapedTree> read(const ShapeScan& statement, std::string_view text);

  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries_;
  std::size_t bytes_ = 0;
  ParserPtr parser_;
};

}  // namespace rldb::frontend::cst
