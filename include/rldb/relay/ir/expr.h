// Relay expressions: a directed acyclic graph. A node that several others refer to is one value, evaluated once for
// each activation at the innermost scope that all its uses share: the meaning of `%0 = ...` in a text.
//
// Invariants: nodes are made by a Context, never change, and are made after the nodes they refer to, so ids ascend from
// operands to users (a variable is made before what binds it). `nesting` counts the scopes (bodies, branches, arms, let
// values) below a node and is at most kMaxNesting: recursion over scopes is safe, over operands and lets it is not.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "rldb/relay/ir/attr.h"
#include "rldb/relay/ir/op.h"
#include "rldb/relay/ir/type.h"
#include "rldb/runtime/value.h"

namespace rldb::relay {

inline constexpr int kMaxNesting = 1000;

enum class ExprKind : std::uint8_t {
#define RLDB_RELAY_EXPR(Kind, word) Kind,
#include "rldb/relay/ir/node.def"
};
std::string_view to_string(ExprKind kind);

struct Expr {
  ExprKind kind;
  std::uint16_t nesting = 0;
  std::uint32_t id = 0;
};

struct Var : Expr {
  static constexpr ExprKind kKind = ExprKind::Var;
  std::string_view name;   // empty: that of `a; b`
  const Type* annotation;  // null: none
  const AttrValue* virtual_device;
};
struct GlobalVar : Expr {  // one for each name
  static constexpr ExprKind kKind = ExprKind::GlobalVar;
  std::string_view name;
};
struct Constant : Expr {
  static constexpr ExprKind kKind = ExprKind::Constant;
  const runtime::Tensor* tensor;  // kept alive by the Context
};
struct Op : Expr {  // one for each operator
  static constexpr ExprKind kKind = ExprKind::Op;
  const OpInfo* info;
};
struct Constructor : Expr {
  static constexpr ExprKind kKind = ExprKind::Constructor;
  std::string_view name;
  std::string_view type_name;
  Span<const Type*> fields;
  std::uint32_t index;  // among the constructors of its type
};
struct Call : Expr {
  static constexpr ExprKind kKind = ExprKind::Call;
  const Expr* callee;
  Span<const Expr*> args;
  // Of an operator: those that differ from their defaults, in the order of its row. Otherwise as in the text.
  Span<NamedAttr> attrs;
  const MetaObject* attrs_object;  // the attributes as one object of the metadata
};
struct Function : Expr {
  static constexpr ExprKind kKind = ExprKind::Function;
  Span<const TypeVar*> type_params;
  Span<const Var*> params;
  const Type* result;  // null: not given
  const Expr* body;
  Span<NamedAttr> attrs;
};
struct Let : Expr {
  static constexpr ExprKind kKind = ExprKind::Let;
  const Var* var;
  const Expr* value;
  const Expr* body;
};
struct If : Expr {
  static constexpr ExprKind kKind = ExprKind::If;
  const Expr* condition;
  const Expr* consequence;
  const Expr* alternative;
};
struct Tuple : Expr {
  static constexpr ExprKind kKind = ExprKind::Tuple;
  Span<const Expr*> fields;
};
struct Projection : Expr {
  static constexpr ExprKind kKind = ExprKind::Projection;
  const Expr* tuple;
  std::int64_t index;
};

enum class PatternKind : std::uint8_t { Wildcard, Variable, Constructor, Tuple };
struct Pattern {
  PatternKind kind;
  const Var* var = nullptr;
  const Constructor* constructor = nullptr;
  Span<const Pattern*> parts;
};
struct Arm {
  const Pattern* pattern;
  const Expr* body;
};
struct Match : Expr {
  static constexpr ExprKind kKind = ExprKind::Match;
  const Expr* value;
  Span<Arm> arms;
  bool complete;  // `match`; `match?` may fall through
};
struct RefCreate : Expr {
  static constexpr ExprKind kKind = ExprKind::RefCreate;
  const Expr* value;
};
struct RefRead : Expr {
  static constexpr ExprKind kKind = ExprKind::RefRead;
  const Expr* reference;
};
struct RefWrite : Expr {
  static constexpr ExprKind kKind = ExprKind::RefWrite;
  const Expr* reference;
  const Expr* value;
};

template <class T>
const T* as(const Expr* e) {
  return e && e->kind == T::kKind ? static_cast<const T*>(e) : nullptr;
}
template <class T>
const T& cast(const Expr* e) {
  return *static_cast<const T*>(e);
}

// Calls `f(operand)` for each expression that `e` refers to, in the text's order of evaluation: operands before
// bodies. Bound variables, and those in attributes, are not operands.
template <class F>
void for_each_operand(const Expr* e, F&& f) {
  switch (e->kind) {
    case ExprKind::Var:
    case ExprKind::GlobalVar:
    case ExprKind::Constant:
    case ExprKind::Op:
    case ExprKind::Constructor:
      return;
    case ExprKind::Call:
      for (const Expr* a : cast<Call>(e).args) f(a);
      return f(cast<Call>(e).callee);
    case ExprKind::Function:
      return f(cast<Function>(e).body);
    case ExprKind::Let:
      f(cast<Let>(e).value);
      return f(cast<Let>(e).body);
    case ExprKind::If:
      f(cast<If>(e).condition);
      f(cast<If>(e).consequence);
      return f(cast<If>(e).alternative);
    case ExprKind::Tuple:
      for (const Expr* x : cast<Tuple>(e).fields) f(x);
      return;
    case ExprKind::Projection:
      return f(cast<Projection>(e).tuple);
    case ExprKind::Match:
      f(cast<Match>(e).value);
      for (const Arm& arm : cast<Match>(e).arms) f(arm.body);
      return;
    case ExprKind::RefCreate:
      return f(cast<RefCreate>(e).value);
    case ExprKind::RefRead:
      return f(cast<RefRead>(e).reference);
    case ExprKind::RefWrite:
      f(cast<RefWrite>(e).reference);
      return f(cast<RefWrite>(e).value);
  }
}

// Whether text always writes the node where it is used, and never under a name of its own.
inline bool is_leaf(const Expr* e) {
  return e->kind == ExprKind::Var || e->kind == ExprKind::GlobalVar || e->kind == ExprKind::Constant ||
         e->kind == ExprKind::Op || e->kind == ExprKind::Constructor;
}

}  // namespace rldb::relay
