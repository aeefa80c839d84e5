// BlockBuilder: bindings in scopes and dataflow blocks, values put into normal form as they are emitted.
#include "rldb/ir/block_builder.h"

#include "rldb/ir/intrinsic.h"

namespace rldb::ir {

bool is_leaf(const Expr* e) {
  switch (e->expr_kind()) {
    case ExprKind::Var:
    case ExprKind::DataflowVar:
    case ExprKind::ShapeExpr:
    case ExprKind::StringImm:
    case ExprKind::DTypeImm:
#define RLDB_ATOM(Kind, ...) case ExprKind::Kind:
#include "rldb/ir/node.def"
      return true;
    case ExprKind::Call:
      // An intrinsic is part of scalar arithmetic.
      return is_tir_op(static_cast<const Call*>(e)->callee);
#define RLDB_STEP(Kind, ...) case ExprKind::Kind:
#include "rldb/ir/node.def"
      return false;
    case ExprKind::Tuple:
    case ExprKind::IntImm:
    case ExprKind::FloatImm:
    case ExprKind::Binary:
    case ExprKind::ProducerLoad:
    case ExprKind::CommReducer:
    case ExprKind::Lambda:
#define RLDB_SCALAR(Kind, ...) case ExprKind::Kind:
#include "rldb/ir/node.def"
      break;  // scalar expressions are values in place
  }
  return e->type->kind == TypeKind::Prim;
}

void BlockBuilder::begin_scope() { scopes_.emplace_back(); }

const SeqExpr* BlockBuilder::end_scope(const Expr* result) {
  RLDB_CHECK(!scopes_.empty(), "end_scope without begin_scope");
  RLDB_CHECK(!scopes_.back().dataflow, "end_scope inside a dataflow block");
  flush();
  const SeqExpr* seq = ctx_.seq(scopes_.back().blocks, result);
  scopes_.pop_back();
  return seq;
}

void BlockBuilder::begin_dataflow() {
  RLDB_CHECK(!scopes_.empty() && !scopes_.back().dataflow,
             "a dataflow block is begun in a scope, not in another block");
  flush();
  scopes_.back().dataflow = true;
}
void BlockBuilder::end_dataflow() {
  RLDB_CHECK(in_dataflow(), "end_dataflow outside of a dataflow block");
  flush();
  scopes_.back().dataflow = false;
}
bool BlockBuilder::in_dataflow() const { return !scopes_.empty() && scopes_.back().dataflow; }

void BlockBuilder::flush() {
  Scope& s = scopes_.back();
  if (!s.current.empty()) s.blocks.push_back(ctx_.block(s.current, s.dataflow));
  s.current.clear();
}

void BlockBuilder::append(const Binding* b) {
  RLDB_CHECK(!scopes_.empty(), "a binding needs a scope");
  scopes_.back().current.push_back(b);
}

const Var* BlockBuilder::emit(const Expr* value, std::string_view hint) {
  const std::string_view name = unique_name(hint);
  const Var* v = in_dataflow() ? ctx_.dataflow_var(name, value->type) : ctx_.var(name, value->type);
  append(ctx_.binding(v, value));
  return v;
}
const Var* BlockBuilder::emit_output(const Expr* value, std::string_view hint) {
  const Var* v = ctx_.var(unique_name(hint), value->type);
  append(ctx_.binding(v, value));
  return v;
}
const Var* BlockBuilder::emit_match_cast(const Expr* value, const Type* type, std::string_view hint) {
  const std::string_view name = unique_name(hint);
  const Var* v = in_dataflow() ? ctx_.dataflow_var(name, type) : ctx_.var(name, type);
  append(ctx_.match_cast(v, value, type));
  return v;
}

const Expr* BlockBuilder::normalize_leaf(const Expr* e) { return is_leaf(e) ? e : emit(e); }

void BlockBuilder::reserve_name(std::string_view name) { names_.try_emplace(ctx_.str(name), 1); }

// lv, lv1, lv2, ... as TVM numbers them.
std::string_view BlockBuilder::unique_name(std::string_view hint) {
  const auto [it, fresh] = names_.try_emplace(ctx_.str(hint), 1);
  if (fresh) return it->first;
  for (;;) {
    const std::string candidate = std::string(hint) + std::to_string(it->second++);
    if (names_.count(candidate)) continue;
    const std::string_view name = ctx_.str(candidate);
    names_.try_emplace(name, 1);
    return name;
  }
}

}  // namespace rldb::ir
