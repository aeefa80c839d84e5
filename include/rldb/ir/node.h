// Node: the common beginning of every IR node: its kind and its dense id.
//
// Nodes live in the arena of an ir::Context, never change, are reached by `const Node*`, and are told apart by
// `isa/as`. Facts that are not semantic (spans, provenance, breakpoints) live in tables of the Context, keyed by `id`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rldb/support/check.h"

namespace rldb::ir {

enum class NodeKind : std::uint8_t {
#define RLDB_NODE(Kind, Struct, doc) Kind,
#include "rldb/ir/node.def"
};
std::string_view to_string(NodeKind kind);

// The same kinds by group, for exhaustive switches without cases that cannot occur: an operator of two operands
// is one ExprKind, and its BinaryKind is the operator. Values are NodeKind's.
enum class BinaryKind : std::uint8_t {
#define RLDB_BINARY(Kind, Struct, doc) Kind = std::uint8_t(NodeKind::Kind),
#include "rldb/ir/node.def"
};
enum class ExprKind : std::uint8_t {
#define RLDB_EXPR(Kind, Struct, doc) Kind = std::uint8_t(NodeKind::Kind),
#include "rldb/ir/node.def"
  Binary = std::uint8_t(NodeKind::Add),
};
enum class StmtKind : std::uint8_t {
#define RLDB_STMT(Kind, Struct, doc) Kind = std::uint8_t(NodeKind::Kind),
#include "rldb/ir/node.def"
};
constexpr NodeKind node_kind(BinaryKind kind) { return NodeKind(kind); }
inline std::string_view to_string(BinaryKind kind) { return to_string(node_kind(kind)); }
constexpr bool operator==(NodeKind a, BinaryKind b) { return a == node_kind(b); }

constexpr bool is_comparison(BinaryKind kind) { return kind >= BinaryKind::EQ && kind <= BinaryKind::GE; }
constexpr bool is_logic(BinaryKind kind) { return kind == BinaryKind::And || kind == BinaryKind::Or; }

template <class T>
using Span = std::span<const T>;

struct Node {
  NodeKind kind;
  std::uint32_t id;
};

// A struct that holds kinds First..Last declares them with RLDB_KINDS.
#define RLDB_KINDS(First, Last)                                                             \
  static bool classof(const ::rldb::ir::Node* n) {                                          \
    return n->kind >= ::rldb::ir::NodeKind::First && n->kind <= ::rldb::ir::NodeKind::Last; \
  }
#define RLDB_KIND(Only) RLDB_KINDS(Only, Only)

template <class T>
bool isa(const Node* n) {
  return n != nullptr && T::classof(n);
}
// The node as a T, or null when it is not one (or is null).
template <class T>
const T* as(const Node* n) {
  return isa<T>(n) ? static_cast<const T*>(n) : nullptr;
}
template <class T>
const T* cast(const Node* n) {
  RLDB_CHECK(isa<T>(n), "node is of another kind");
  return static_cast<const T*>(n);
}

// Facts by node id. Grows on set; reading an entry that was never set gives T{}.
template <class T>
class SideTable {
 public:
  void set(std::uint32_t id, T value) {
    if (id >= rows_.size()) rows_.resize(std::max<std::size_t>(std::size_t(id) + 1, rows_.size() * 2));
    rows_[id] = std::move(value);
  }
  void set(const Node* n, T value) { set(n->id, std::move(value)); }
  T get(std::uint32_t id) const { return id < rows_.size() ? rows_[id] : T{}; }
  T get(const Node* n) const { return get(n->id); }
  // Every row set so far; for code that moves all of them.
  std::vector<T>& rows() { return rows_; }

 private:
  std::vector<T> rows_;
};

}  // namespace rldb::ir
