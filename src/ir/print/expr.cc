// Scalar expressions: operators with Python's precedence and as few parentheses as it allows, literals, accesses.
#include "ir/print/printer_impl.h"
#include "rldb/ir/op_name.h"

namespace rldb::ir::print_detail {
bool Printer::too_deep() {
  if (depth_ < kMaxDepth) return false;
  cut_ = true;
  out_ += "<nested too deep to print>";
  return true;
}

void Printer::define_undefined(const Var* v) {
  bool scalar = as<PrimType>(v->type) != nullptr || as<PointerType>(v->type) != nullptr;
  if (fragment_ || function_ == nullptr || !scalar) {
    define(v);
    return;
  }
  std::string text(names_.define_at(function_->depth, v, wanted(v)));
  if (!in_tir_) symbols_.insert(v);
  if (declares_by_use_) return;
  text += " = " + captured([&] { var_creation(v); });
  prelude(std::move(text));
}

void Printer::var_use(const Var* v) {
  if (!names_.has(v)) {
    // A void value has no name in text: its binding is a bare expression.
    const auto* tuple = as<TupleType>(v->type);
    if (!fragment_ && !in_tir_ && tuple != nullptr && tuple->fields.empty()) {
      r("tuple()");
      return;
    }
    define_undefined(v);
  }
  out_ += names_.find(v);
}

void Printer::exprs(Span<const Expr*> items) {
  bool first = true;
  for (const Expr* e : items) {
    comma(first);
    expr(e);
  }
}

void Printer::tuple(Span<const Expr*> items) {
  out_ += '(';
  if (in_tir_)
    exprs(items);
  else
    values(items);
  out_ += items.size() == 1 ? ",)" : ")";
}

// Whether a text of before 2026 would have a scalar expression here, which was no Relax expression by itself.
bool Printer::is_bare_scalar(const Expr* e) const {
  if (const auto* v = as<Var>(e)) return as<PrimType>(v->type) != nullptr && (symbols_.count(v) != 0 || !names_.has(v));
  if (const auto* c = as<Call>(e)) {
    const auto* op = as<Op>(c->callee);
    return op != nullptr && !op::is_relax(op->name);
  }
  return isa<IntImm>(e) || isa<FloatImm>(e) || isa<BinaryExpr>(e) || isa<NotExpr>(e) || isa<CastExpr>(e) ||
         isa<SelectExpr>(e);
}

void Printer::value(const Expr* e) {
  bool wrap = opt_.syntax == Syntax::Sinfo && !in_tir_ && !fragment_ && is_bare_scalar(e);
  if (wrap) r("prim_value(");
  expr(e);
  if (wrap) out_ += ')';
}

void Printer::values(Span<const Expr*> items) {
  bool first = true;
  for (const Expr* e : items) {
    comma(first);
    value(e);
  }
}

void Printer::lambda(Span<const Var*> a, Span<const Var*> b, Span<const Expr*> results, bool always_tuple) {
  names_.push();
  out_ += "lambda";
  bool first = true;
  for (Span<const Var*> params : {a, b}) {
    for (const Var* v : params) {
      out_ += first ? " " : ", ";
      first = false;
      out_ += define(v);
    }
  }
  out_ += ": ";
  if (results.size() == 1 && !always_tuple)
    expr(results[0]);
  else
    tuple(results);
  names_.pop();
}

void Printer::expr(const Expr* e, int min_precedence) {
  if (e == nullptr) {
    out_ += "None";
    return;
  }
  if (too_deep()) return;
  if (precedence(e) < min_precedence) {
    out_ += '(';
    ++depth_;
    expr(e);
    --depth_;
    out_ += ')';
    return;
  }
  ++depth_;
  switch (e->expr_kind()) {
    case ExprKind::Var:
    case ExprKind::DataflowVar:
      var_use(as<ir::Var>(e));
      break;
    case ExprKind::GlobalVar:
      require_alias();
      if (!rfc()) {
        out_ +=
            opt_.module_alias.empty() ? std::string(module_ != nullptr ? module_->name : "Module") : opt_.module_alias;
        out_ += '.';
      }
      out_ += as<ir::GlobalVar>(e)->name;
      break;
    case ExprKind::Constant:
      constant(as<ir::Constant>(e));
      break;
    case ExprKind::MetaConstant:
      metadata_reference(as<ir::MetaConstant>(e)->key, as<ir::MetaConstant>(e)->index);
      break;
    case ExprKind::ShapeExpr:
      r("shape([");
      exprs(as<ir::ShapeExpr>(e)->values);
      out_ += "])";
      break;
    case ExprKind::ExternFunc:
      extern_func(as<ir::ExternFunc>(e));
      break;
    case ExprKind::Op: {
      i("Op(");
      string_literal(as<ir::Op>(e)->name);
      out_ += ')';
      break;
    }
    case ExprKind::Call:
      call(as<ir::Call>(e));
      break;
    case ExprKind::Tuple:
      if (as<ir::Tuple>(e)->items.empty())
        r("tuple()");
      else
        tuple(as<ir::Tuple>(e)->items);
      break;
    case ExprKind::TupleGetItem: {
      const auto* g = as<ir::TupleGetItem>(e);
      if (isa<ir::Tuple>(g->tuple)) {  // written as an index, the parser would return the field itself
        r("TupleGetItem(");
        expr(g->tuple);
        out_ += ", " + std::to_string(g->index) + ')';
        break;
      }
      expr(g->tuple, kAtom);
      out_ += '[' + std::to_string(g->index) + ']';
      break;
    }
    // These are not values in text; only an ill-formed tree contains them here.
    case ExprKind::If:
      out_ += "<if>";
      break;
    case ExprKind::SeqExpr:
      out_ += "<sequence>";
      break;
    case ExprKind::Function:
      out_ += "<function>";
      break;
    case ExprKind::PrimFunc:
      out_ += "<prim_func>";
      break;
    case ExprKind::OpaqueFunc:
      out_ += as<ir::OpaqueFunc>(e)->name;
      break;
    case ExprKind::StringImm:
      if (!in_tir_) {
        r("str(");
        string_literal(as<ir::StringImm>(e)->value);
        out_ += ')';
      } else {
        string_literal(as<ir::StringImm>(e)->value);
      }
      break;
    case ExprKind::DTypeImm:
      if (!in_tir_) {
        r("dtype(");
        dtype_literal(as<ir::DTypeImm>(e)->value);
        out_ += ')';
      } else {
        dtype_literal(as<ir::DTypeImm>(e)->value);
      }
      break;
    case ExprKind::IntImm:
      int_literal(e->dtype(), as<ir::IntImm>(e)->value);
      break;
    case ExprKind::FloatImm:
      scalar_literal(e->dtype(), as<ir::FloatImm>(e)->value);
      break;
    case ExprKind::Binary:
      binary(as<BinaryExpr>(e));
      break;
    case ExprKind::Not: {
      const auto* n = as<NotExpr>(e);
      if (is_number(n->a)) {
        node_form("Not", n->a, nullptr);
      } else {
        out_ += "not ";
        expr(n->a, kNot);
      }
      break;
    }
    case ExprKind::Cast:
      t("Cast(");
      dtype_literal(e->dtype());
      out_ += ", ";
      expr(as<CastExpr>(e)->value);
      out_ += ')';
      break;
    case ExprKind::Select: {
      const auto* s = as<SelectExpr>(e);
      t("Select(");
      expr(s->cond);
      out_ += ", ";
      expr(s->true_value);
      out_ += ", ";
      expr(s->false_value);
      out_ += ')';
      break;
    }
    case ExprKind::BufferLoad: {
      const auto* l = as<ir::BufferLoad>(e);
      buffer_use(l->buffer);
      if (l->predicate == nullptr) {
        indices(l->indices);
        break;
      }
      out_ += ".vload([";
      exprs(l->indices);
      out_ += "], predicate=";
      expr(l->predicate);
      out_ += ')';
      break;
    }
    case ExprKind::ProducerLoad:
      out_ += "tensor";
      indices(as<ir::ProducerLoad>(e)->indices);
      break;
    case ExprKind::Ramp: {
      const auto* x = as<ir::Ramp>(e);
      t("Ramp(");
      expr(x->base);
      out_ += ", ";
      expr(x->stride);
      out_ += ", ";
      expr(x->lanes);
      out_ += ')';
      break;
    }
    case ExprKind::Broadcast:
      node_form("Broadcast", as<ir::Broadcast>(e)->value, as<ir::Broadcast>(e)->lanes);
      break;
    case ExprKind::Shuffle: {
      const auto* x = as<ir::Shuffle>(e);
      t("Shuffle([");
      exprs(x->vectors);
      out_ += "], [";
      exprs(x->indices);
      out_ += "])";
      break;
    }
    case ExprKind::Let: {
      const auto* x = as<LetExpr>(e);
      if (!names_.has(x->var)) define_undefined(x->var);
      t("Let(");
      expr(x->body);
      out_ += ", where={";
      var_use(x->var);
      out_ += ": ";
      expr(x->value);
      out_ += "})";
      break;
    }
    case ExprKind::CommReducer: {
      const auto* x = as<ir::CommReducer>(e);
      t("comm_reducer(");
      lambda(x->lhs, x->rhs, x->results, false);
      out_ += ", [";
      exprs(x->identities);
      out_ += "])";
      break;
    }
    case ExprKind::Lambda:
      lambda(as<ir::Lambda>(e)->params, {}, as<ir::Lambda>(e)->results, false);
      break;
  }
  --depth_;
}

}  // namespace rldb::ir::print_detail
