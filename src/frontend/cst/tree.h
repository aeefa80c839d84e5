// Syntax tree: tree-sitter's tree, copied once into a flat array that is cheap to read.
//
// Nodes are in pre-order: the first child of node i is i + 1, its next sibling is `next`. Kept are named nodes,
// errors, and tokens that fill a field (operators); comments, brackets and keywords are dropped. The copy is made with
// a cursor, never by recursion, and no node lies deeper than `max_depth`: a deeper one becomes Kind::TooDeep without
// children. A statement that the caller already knows may be left out (Kind::Kept). Users: the script room. Files that
// include tree_sitter/api.h also include ts_parser.h or ts_language.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rldb/source/span.h"

namespace rldb::frontend::cst {

enum class Kind : std::uint8_t {
#define RLDB_CST(K, name, ...) K,
#include "frontend/cst/node_kinds.def"
  Token,    // an anonymous token in a field
  Error,    // text that fits no rule
  Missing,  // a token that is required there (width zero)
  TooDeep,
  Kept,  // a statement already known: its inside was left out
  Other,
};
std::string_view to_string(Kind kind);

// The same kinds by group, for exhaustive switches.
enum class StatementKind : std::uint8_t {
#define RLDB_CST_STATEMENT(K, name, ...) K = std::uint8_t(Kind::K),
#include "frontend/cst/node_kinds.def"
  Damage = std::uint8_t(Kind::Error),  // Error, Missing and TooDeep: damage.cc reports them
  Other = std::uint8_t(Kind::Other),   // no statement
};
enum class ExpressionKind : std::uint8_t {
#define RLDB_CST_EXPRESSION(K, name) K = std::uint8_t(Kind::K),
#include "frontend/cst/node_kinds.def"
  Damage = std::uint8_t(Kind::Error),
  Other = std::uint8_t(Kind::Other),  // no expression
};
StatementKind statement_kind(Kind kind);

// The labels of the statements that have the answer No, or Skip, in a column of node_kinds.def.
#define RLDB_CST_ANSWER(which, answer, label) RLDB_CST_ANSWER_OF(which, answer, label)
#define RLDB_CST_ANSWER_OF(which, answer, label) RLDB_CST_##which##_##answer(label)
#define RLDB_CST_CASE_Yes(label)
#define RLDB_CST_CASE_No(label) label
#define RLDB_CST_CASE_Skip(label)
#define RLDB_CST_SKIP_Yes(label)
#define RLDB_CST_SKIP_No(label)
#define RLDB_CST_SKIP_Skip(label) label

ExpressionKind expression_kind(Kind kind);

enum class Field : std::uint8_t {
  None,
#define RLDB_FIELD(F, name) F,
#include "frontend/cst/fields.def"
};

struct NodeRow {
  Kind kind;
  Field field;
  bool damaged;  // is, or holds, an Error or Missing node
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t next;  // index after the last descendant
};

struct Tree {
  source::FileId file;
  std::string_view text;          // outlives the tree
  std::uint32_t text_offset = 0;  // where `text` starts in the file (a string's inside has its own tree)
  bool mapped = true;             // false: offsets do not map to the file one by one; spans are `whole`
  source::Span whole;
  std::vector<NodeRow> rows;
};

class Node;

class Children {
 public:
  class Iterator {
   public:
    Iterator(const Tree* tree, std::uint32_t at) : tree_(tree), at_(at) {}
    Node operator*() const;
    Iterator& operator++() {
      at_ = tree_->rows[at_].next;
      return *this;
    }
    bool operator!=(const Iterator& o) const { return at_ != o.at_; }
    bool operator==(const Iterator& o) const { return at_ == o.at_; }

   private:
    const Tree* tree_;
    std::uint32_t at_;
  };
  Children(const Tree* tree, std::uint32_t begin, std::uint32_t end) : tree_(tree), begin_(begin), end_(end) {}
  Iterator begin() const { return {tree_, begin_}; }
  Iterator end() const { return {tree_, end_}; }
  bool empty() const { return begin_ == end_; }

 private:
  const Tree* tree_;
  std::uint32_t begin_, end_;
};

// A handle; null when default-made ("no such child").
class Node {
 public:
  Node() = default;
  Node(const Tree* tree, std::uint32_t index) : tree_(tree), index_(index) {}
  explicit operator bool() const { return tree_ != nullptr; }
  const Tree* tree() const { return tree_; }
  std::uint32_t index() const { return index_; }
  const NodeRow& row() const { return tree_->rows[index_]; }
  Kind kind() const { return tree_ ? row().kind : Kind::Missing; }
  bool is(Kind k) const { return tree_ && row().kind == k; }
  Field field() const { return tree_ ? row().field : Field::None; }
  bool damaged() const { return tree_ && row().damaged; }
  std::string_view text() const {
    return tree_ ? tree_->text.substr(row().begin, row().end - row().begin) : std::string_view();
  }
  source::Span span() const {
    if (!tree_) return {};
    if (!tree_->mapped) return tree_->whole;
    return {tree_->file, row().begin + tree_->text_offset, row().end + tree_->text_offset};
  }
  Children children() const {
    if (!tree_) return {tree_, 0, 0};
    return {tree_, index_ + 1, row().next};
  }
  // The first child in a field, or null.
  Node child(Field f) const {
    if (!tree_) return {};
    for (std::uint32_t i = index_ + 1, e = row().next; i < e; i = tree_->rows[i].next)
      if (tree_->rows[i].field == f) return {tree_, i};
    return {};
  }
  Node first() const {
    if (!tree_ || row().next == index_ + 1) return {};
    return {tree_, index_ + 1};
  }
  std::size_t count() const {
    std::size_t n = 0;
    for (Node c : children()) n += c ? 1 : 0;
    return n;
  }

 private:
  const Tree* tree_ = nullptr;
  std::uint32_t index_ = 0;
};

inline Node Children::Iterator::operator*() const { return {tree_, at_}; }

}  // namespace rldb::frontend::cst
