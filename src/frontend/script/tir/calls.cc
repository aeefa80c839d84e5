// T. names that are expressions: literals and casts, node forms, lambdas.
#include <fmt/format.h>

#include "frontend/script/limits.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/symbols.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/types.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_tir.h"
#include "rldb/source/diagnostic_syntax.h"

namespace rldb::frontend::script {

namespace {

// For messages.
std::string no_such_literal(ir::DType t) {
  return "the dtype " + runtime::to_string(t) + ", of which there is no such literal";
}
// Literals are numeric scalars.
bool is_literal_dtype(ir::DType t) { return t.is_scalar() && (t.is_integral() || t.is_float()); }

// ---- dtypes as functions: T.int64(4), T.float32("inf"), T.bool(True), T.int64() ----

Val dtype_call(Reader& r, const CallNode& call, ir::DType dtype) {
  Arguments args(r, call);
  std::optional<Val> v;
  if (Argument* a = args.find(0, "expr")) v = args.value(a);
  args.find("is_size_var");
  args.find("scope");
  args.finish();
  const Node at = args.node(0, "expr");
  if (!v || v->is(ValKind::None)) {
    // A new variable; `n = T.int64()` names it.
    const std::string_view name = r.in_tir() ? r.fn->tir->target(0, "v") : std::string_view("v");
    Val out = Val::of(r.at(r.ctx.var(name, r.ctx.prim(dtype)), call.node));
    out.fresh = true;
    return out;
  }
  if (v->poison()) return {};
  if (v->is(ValKind::Str)) {
    const auto number = named_float(v->text);
    if (!number) return r.error(at, diag::BadNumber, v->text);
    if (!is_literal_dtype(dtype) || !dtype.is_float())
      return r.error(call.node, diag::ExpectedDType, no_such_literal(dtype));
    return Val::of(static_cast<const ir::Expr*>(r.ctx.float_imm(dtype, *number)));
  }
  if (v->is_number()) {
    const bool is_float = v->is(ValKind::Float);
    const ir::DType element = dtype.element();
    const ir::Expr* e = nullptr;
    if (element.is_float())
      e = r.ctx.float_imm(element, is_float ? v->floating : double(v->integer));
    else if (is_float)
      e = r.ctx.literal(element, v->floating);
    else if (element.is_bool())
      e = r.ctx.bool_imm(v->integer != 0);
    else
      e = r.ctx.int_imm(element, v->integer);
    if (!dtype.is_scalar()) e = cast_value(r, dtype, e, at);
    return Val::of(r.at(e, call.node));
  }
  const ir::Expr* e = to_scalar(r, *v, at);
  if (!e) return {};
  e = cast_value(r, dtype, e, at);
  return Val::of(e && e->id ? r.at(e, call.node) : e);
}

Val handle_call(Reader& r, const CallNode& call) {
  const ir::Type* t = pointer_type(r, call);
  if (!t) return {};
  Val v = Val::of(r.at(r.ctx.var(r.in_tir() ? r.fn->tir->target(0, "p") : std::string_view("p"), t), call.node));
  v.fresh = true;
  return v;
}

Val void_call(Reader& r, const CallNode& call) { return r.error(call.function, diag::NoValue, call.shown()); }

// ---- node forms ----

// Two scalar operands; a Python number takes the dtype of the other.
bool two_operands(Reader& r, const CallNode& call, const ir::Expr*& a, const ir::Expr*& b) {
  Arguments args(r, call);
  const auto x = args.require(0, "a");
  const auto y = args.require(1, "b");
  args.find("span");
  args.finish();
  if (!x || !y || x->poison() || y->poison()) return false;
  const auto hint = [&](const Val& v, const Val& other) {
    if (!v.is_number() || !other.expr()) return ir::DType::Void();
    const ir::DType t = other.expr()->dtype().element();
    return v.is(ValKind::Float) && !t.is_float() ? ir::DType::Void() : t;
  };
  a = to_scalar(r, *x, args.node(0, "a"), hint(*x, *y));
  b = to_scalar(r, *y, args.node(1, "b"), hint(*y, *x));
  return a && b;
}

// T.Add(3, 4): the node itself, not folded.
Val node_binary(Reader& r, const CallNode& call, ir::BinaryKind kind) {
  const ir::Expr *a = nullptr, *b = nullptr;
  if (!two_operands(r, call, a, b)) return {};
  auto both = ir::match_dtypes(r.ctx, a, b);
  if (!both.ok()) {
    r.report(call.node.span(), std::move(both).error());
    return {};
  }
  return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.binary(kind, both->first, both->second), call.node)));
}

// T.min, T.floordiv: functions that fold.
Val folded_binary(Reader& r, const CallNode& call, ir::BinaryKind kind) {
  const ir::Expr *a = nullptr, *b = nullptr;
  if (!two_operands(r, call, a, b)) return {};
  auto made = ir::make_binary(r.ctx, kind, a, b);
  if (made.ok()) return Val::of(r.at(*made, call.node));
  r.report(call.node.span(), std::move(made).error());
  return {};
}

template <ir::BinaryKind K>
Val node_form(Reader& r, const CallNode& call) {
  return node_binary(r, call, K);
}
template <ir::BinaryKind K>
Val folded(Reader& r, const CallNode& call) {
  return folded_binary(r, call, K);
}

Val ceildiv(Reader& r, const CallNode& call) {
  const ir::Expr *a = nullptr, *b = nullptr;
  if (!two_operands(r, call, a, b)) return {};
  auto both = ir::match_dtypes(r.ctx, a, b);
  if (!both.ok()) {
    r.report(call.node.span(), std::move(both).error());
    return {};
  }
  const ir::Expr* one = r.ctx.literal(both->second->dtype().element(), 1);
  const ir::Expr* top = ir::add(r.ctx, both->first, ir::sub(r.ctx, both->second, one));
  return Val::of(r.at(ir::floor_div(r.ctx, top, both->second), call.node));
}

Val not_form(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "a");
  args.finish();
  if (!v) return {};
  const ir::Expr* e = to_number(r, *v, args.node(0, "a"));
  return e ? Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.not_(e), call.node))) : Val();
}

// T.Cast("float16", e); T.cast(e, "float16"): either order.
Val cast_form(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  auto first = args.require(0, call.path == "Cast" ? "dtype" : "expr");
  auto second = args.require(1, call.path == "Cast" ? "value" : "dtype");
  args.finish();
  if (!first || !second || first->poison() || second->poison()) return {};
  const bool dtype_first = first->is(ValKind::Str) || first->is(ValKind::DType) || first->is(ValKind::Path);
  const Val& dtype_value = dtype_first ? *first : *second;
  const Val& value = dtype_first ? *second : *first;
  const auto t = to_dtype(r, dtype_value, args.node(dtype_first ? 0 : 1, "dtype"));
  const ir::Expr* e = to_scalar(r, value, args.node(dtype_first ? 1 : 0, "value"));
  if (!t || !e) return {};
  // Cast is the node itself, cast folds.
  if (call.path == "Cast" && e->dtype().lanes == t->lanes && (t->is_handle() || !is_address(e)))
    return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.cast(*t, e), call.node)));
  const ir::DType full = t->lanes == 1 ? t->with_lanes(e->dtype().lanes) : *t;
  return Val::of(cast_value(r, full, e, call.node));
}

Val select_form(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto c = args.require(0, "condition");
  const auto x = args.require(1, "true_value");
  const auto y = args.require(2, "false_value");
  args.finish();
  if (!c || !x || !y) return {};
  const ir::Expr* cond = to_scalar(r, *c, args.node(0, "condition"));
  const auto beside = [](const Val& v, const Val& o) {
    return v.is_number() && o.expr() ? o.expr()->dtype().element() : ir::DType::Void();
  };
  const ir::Expr* a = to_scalar(r, *x, args.node(1, "true_value"), beside(*x, *y));
  const ir::Expr* b = to_scalar(r, *y, args.node(2, "false_value"), beside(*y, *x));
  if (!cond || !a || !b) return {};
  auto both = ir::match_dtypes(r.ctx, a, b);
  if (!both.ok()) {
    r.report(call.node.span(), std::move(both).error());
    return {};
  }
  return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.select(cond, both->first, both->second), call.node)));
}

Val if_then_else_form(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto c = args.require(0, "cond");
  const auto x = args.require(1, "t");
  const auto y = args.require(2, "f");
  args.find("dtype");
  args.find("span");
  args.finish();
  if (!c || !x || !y || c->poison() || x->poison() || y->poison()) return {};
  return if_then_else(r, *c, *x, *y, call.node);
}

// The lanes of a vector: a literal, or T.vscale() times one. Null after a report.
const ir::Expr* to_lanes(Reader& r, const Val& v, Node at) {
  const ir::Expr* lanes = to_scalar(r, v, at, ir::DType::Int(32));
  if (!lanes) return nullptr;
  const auto k = ir::const_int(lanes);
  if (k && *k >= 1 && *k <= 32767) return ir::isa<ir::IntImm>(lanes) ? lanes : r.ctx.i32(*k);
  const auto scale = k ? std::nullopt : ir::vscale_factor(lanes);
  if (scale && *scale >= 1 && *scale <= 32767) return lanes;
  if (k || scale) {
    r.error(at, diag::BadLanes, k ? *k : *scale);
  } else {
    r.error(at, diag::ExpectedInteger, describe(r, Val::of(lanes)));
  }
  return nullptr;
}

Val ramp_form(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto b = args.require(0, "base");
  const auto s = args.require(1, "stride");
  const auto n = args.require(2, "lanes");
  args.finish();
  if (!b || !s || !n) return {};
  const ir::DType hint = b->is_number() && s->expr() ? s->expr()->dtype() : ir::DType::Void();
  const ir::Expr* base = to_scalar(r, *b, args.node(0, "base"), hint);
  const ir::Expr* stride = base ? to_scalar(r, *s, args.node(1, "stride"), base->dtype().element()) : nullptr;
  const ir::Expr* lanes = to_lanes(r, *n, args.node(2, "lanes"));
  if (!base || !stride || !lanes) return {};
  auto both = ir::match_dtypes(r.ctx, base, stride);
  if (!both.ok()) {
    r.report(call.node.span(), std::move(both).error());
    return {};
  }
  return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.ramp(both->first, both->second, lanes), call.node)));
}

Val broadcast_form(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "value");
  const auto n = args.require(1, "lanes");
  args.finish();
  if (!v || !n) return {};
  const ir::Expr* value = to_number(r, *v, args.node(0, "value"));
  const ir::Expr* lanes = to_lanes(r, *n, args.node(1, "lanes"));
  if (!value || !lanes) return {};
  return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.broadcast(value, lanes), call.node)));
}

bool scalar_list(Reader& r, const Val& v, Node at, std::vector<const ir::Expr*>& out) {
  if (!v.is_sequence()) {
    out.push_back(to_scalar(r, v, at));
    return out.back() != nullptr;
  }
  for (const Val& item : v.items) {
    out.push_back(to_scalar(r, item, item.cst ? item.cst : at));
    if (!out.back()) return false;
  }
  return true;
}

Val shuffle_form(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "vectors");
  const auto i = args.require(1, "indices");
  args.finish();
  std::vector<const ir::Expr*> vectors, indices;
  if (!v || !i || !scalar_list(r, *v, call.node, vectors) || !scalar_list(r, *i, call.node, indices)) return {};
  if (vectors.empty() || indices.empty()) return r.error(call.node, diag::MissingArgument, "vectors", call.shown());
  return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.shuffle(vectors, indices), call.node)));
}

// T.Let(body, where={x: value})
Val let_form(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto body = args.require(0, "expr");
  const auto where = args.require(1, "where");
  args.finish();
  if (!body || !where) return {};
  const ir::Expr* e = to_scalar(r, *body, args.node(0, "expr"));
  if (!e || !where->is(ValKind::Dict)) return {};
  for (std::size_t i = where->items.size(); i >= 2; i -= 2) {
    const auto* var = ir::as<ir::Var>(where->items[i - 2].expr());
    const ir::Expr* value =
        to_scalar(r, where->items[i - 1], args.node(1, "where"), var ? var->dtype() : ir::DType::Void());
    if (!var || !value) return var ? Val() : r.error(args.node(1, "where"), diag::ExpectedVariable);
    e = r.at(r.ctx.let(var, value, e), call.node);
  }
  return Val::of(e);
}

bool is_named(const CallNode& call, ir::Intrinsic id) { return call.path == ir::info(id).name; }

Val limit_form(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "dtype");
  args.finish();
  const auto t = v ? to_dtype(r, *v, args.node(0, "dtype")) : std::nullopt;
  if (!t) return {};
  const bool infinite = is_named(call, ir::intrin::Infinity);
  if (!is_literal_dtype(*t) || (infinite && !t->is_float()))
    return r.error(args.node(0, "dtype"), diag::ExpectedDType, no_such_literal(*t));
  if (infinite)
    return Val::of(static_cast<const ir::Expr*>(r.ctx.float_imm(*t, std::numeric_limits<double>::infinity())));
  return Val::of(is_named(call, ir::intrin::MinValue) ? ir::min_value(r.ctx, *t) : ir::max_value(r.ctx, *t));
}

Val imm_form(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto t_value = args.require(0, "dtype");
  const auto v = args.require(1, "value");
  args.finish();
  const auto t = t_value ? to_dtype(r, *t_value, args.node(0, "dtype")) : std::nullopt;
  if (!t || !v || v->poison()) return {};
  if (!v->is_number()) return r.error(args.node(1, "value"), diag::ExpectedScalar, describe(r, *v));
  if (!is_literal_dtype(*t) || t->is_float() != (call.path == "FloatImm"))
    return r.error(args.node(0, "dtype"), diag::ExpectedDType, no_such_literal(*t));
  if (call.path == "FloatImm")
    return Val::of(
        static_cast<const ir::Expr*>(r.ctx.float_imm(*t, v->is(ValKind::Float) ? v->floating : double(v->integer))));
  return Val::of(
      static_cast<const ir::Expr*>(t->is_bool() ? r.ctx.bool_imm(v->integer != 0) : r.ctx.int_imm(*t, v->integer)));
}

Val string_imm(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "value");
  args.finish();
  const auto s = v ? to_str(r, *v, args.node(0, "value")) : std::nullopt;
  return s ? Val::of(static_cast<const ir::Expr*>(r.ctx.string(*s))) : Val();
}

Val buffer_var(Reader& r, const CallNode& call) {
  const ir::Type* t = pointer_type(r, call);
  if (!t) return {};
  Val v = Val::of(r.at(r.ctx.var(r.in_tir() ? r.fn->tir->target(0, "p") : std::string_view("p"), t), call.node));
  v.fresh = true;
  return v;
}

Val comm_reducer(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto f = args.require(0, "combiner");
  const auto identity_value = args.require(1, "identity");
  args.finish();
  if (!f || !identity_value || !f->is(ValKind::Lambda))
    return f && !f->poison() && !f->is(ValKind::Lambda) ? r.error(call.node, diag::ExpectedLambda, describe(r, *f))
                                                        : Val();
  std::vector<const ir::Expr*> identities;
  if (!scalar_list(r, *identity_value, call.node, identities)) return {};
  std::vector<Node> names;
  for (Node p : f->cst.child(Field::Parameters).children())
    if (const Node n = p.child(Field::Name)) names.push_back(n);
  const std::size_t n = identities.size();
  if (names.size() != 2 * n) return r.error(f->cst, diag::CombinerCount, names.size(), n);
  Scope& scope = r.scope();
  scope.enter(ScopeKind::Block);
  std::vector<const ir::Var*> lhs, rhs;
  for (std::size_t i = 0; i < 2 * n; ++i) {
    const ir::Var* v = r.at(r.ctx.var(names[i].text(), r.ctx.prim(identities[i % n]->dtype())), names[i]);
    scope.define(v->name, Val::of(v), names[i].span());
    (i < n ? lhs : rhs).push_back(v);
  }
  const Val body = eval(r, f->cst.child(Field::Body));
  std::vector<const ir::Expr*> results;
  const bool good = !body.poison() && scalar_list(r, body, f->cst, results);
  scope.leave();
  if (!good) return {};
  if (results.size() != n) return r.error(f->cst, diag::CombinerCount, results.size(), n);
  return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.comm_reducer(lhs, rhs, results, identities), call.node)));
}

// T.iter_var(v, dom, "ThreadIndex", "threadIdx.x") and other objects kept by name.
Val opaque(Reader& r, const CallNode& call) { return opaque_constructor(r, call); }

}  // namespace

Val if_then_else(Reader& r, const Val& cond, const Val& yes, const Val& no, Node at) {
  const ir::Expr* c = to_scalar(r, cond, at);
  const auto beside = [](const Val& v, const Val& o) {
    if (!v.is_number() || !o.expr()) return ir::DType::Void();
    const ir::DType t = o.expr()->dtype().element();
    return v.is(ValKind::Float) && !t.is_float() ? ir::DType::Void() : t;
  };
  const ir::Expr* a = to_scalar(r, yes, at, beside(yes, no));
  const ir::Expr* b = to_scalar(r, no, at, beside(no, yes));
  if (!c || !a || !b) return {};
  if (a->type->kind == ir::TypeKind::Prim && b->type->kind == ir::TypeKind::Prim && a->dtype() != b->dtype()) {
    auto both = ir::match_dtypes(r.ctx, a, b);
    if (!both.ok()) {
      r.report(at.span(), std::move(both).error());
      return {};
    }
    a = both->first;
    b = both->second;
  }
  // TVM decides a constant condition here.
  if (const auto known = ir::const_int(c)) return Val::of(*known ? a : b);
  const ir::Expr* list[] = {c, a, b};
  return Val::of(static_cast<const ir::Expr*>(
      r.at(r.ctx.call_typed(r.ctx.op(ir::info(ir::intrin::IfThenElse).op), list, a->type), at)));
}

const ir::Expr* lambda_expr(Reader& r, const Val& lambda, Node at) {
  const Node node = lambda.cst;
  if (!node.is(Kind::Lambda)) {
    r.error(at, diag::NeedsPython, at.text());
    return nullptr;
  }
  std::vector<const ir::Var*> params;
  Scope& scope = r.scope();
  scope.enter(ScopeKind::Block);
  // Index maps count in int64 in Relax, in int32 in TensorIR.
  const ir::Type* type = r.ctx.prim(r.default_int());
  for (Node p : node.child(Field::Parameters).children())
    if (const Node n = p.child(Field::Name)) {
      const ir::Var* v = r.at(r.ctx.var(n.text(), type), n);
      params.push_back(v);
      scope.define(v->name, Val::of(v), n.span());
    }
  const Val body = eval(r, node.child(Field::Body));
  std::vector<const ir::Expr*> results;
  bool good = !body.poison();
  const auto add = [&](const Val& v) {
    if (v.is_sequence()) return;  // IndexMap.AXIS_SEPARATOR and the like are not kept
    results.push_back(to_scalar(r, v, node.child(Field::Body), r.default_int()));
    good = good && results.back();
  };
  if (good && body.is_sequence()) {
    for (const Val& v : body.items) add(v);
  } else if (good) {
    add(body);
  }
  scope.leave();
  return good ? r.at(r.ctx.lambda(params, results), node) : nullptr;
}

Val tir_intrinsic(Reader& r, const CallNode& call) {
  if (const auto t = runtime::parse_dtype(call.path)) {
    if (t->is_handle()) return handle_call(r, call);
    if (t->is_void()) return void_call(r, call);
    return dtype_call(r, call, *t);
  }
  if (call.path == "boolean") return dtype_call(r, call, ir::DType::Bool());
  return named_intrinsic(r, call);
}

Val call_method(Reader& r, const Val& method, const CallNode& call) {
  const Val& object = method.items[0];
  if (object.buffer()) return buffer_method(r, method, call);
  const ir::Expr* e = object.expr();
  if (e && is_scalar_expr(e) && method.text == "astype") {
    Arguments args(r, call);
    const auto v = args.require(0, "dtype");
    args.finish();
    const auto t = v ? to_dtype(r, *v, args.node(0, "dtype")) : std::nullopt;
    return t ? Val::of(cast_value(r, *t, e, call.node)) : Val();
  }
  if (e && !is_scalar_expr(e)) {
    // x.astype("float16") is R.astype(x, "float16"); likewise for every operator.
    return relax_method(r, object, method.text, call);
  }
  return r.error(call.function, diag::NoAttribute, describe(r, object), method.text);
}

Val call_lambda(Reader& r, const Val& lambda, const CallNode& call) {
  const Node f = lambda.cst;
  if (!f.is(Kind::Lambda)) return call_macro(r, lambda, call);
  if (!may_expand(r, f, call.shown(), call.node)) return {};
  Arguments args(r, call);
  std::vector<Val> values;
  for (Argument& a : args.all()) {
    a.used = true;
    values.push_back(args.value(&a));
  }
  Scope& scope = r.scope();
  scope.enter(ScopeKind::Block);
  std::size_t i = 0;
  for (Node p : f.child(Field::Parameters).children())
    if (const Node n = p.child(Field::Name); n && i < values.size()) {
      const Val& value = values[i++];
      scope.define(n.text(), within_limits(r, value, n.text(), call.node) ? value : Val(), n.span());
    }
  if (r.nesting.is_full()) {
    scope.leave();
    return r.error(call.node, diag::NestedTooDeep, kMaxInnerDepth);
  }
  const Nesting::Level level(r.nesting);
  const Val v = eval(r, f.child(Field::Body));
  scope.leave();
  return v;
}

std::span<const HandlerRow> tir_handlers() {
  using enum ir::BinaryKind;
  static const HandlerRow kRows[] = {
      {"Add", node_form<Add>},
      {"Sub", node_form<Sub>},
      {"Mul", node_form<Mul>},
      {"Div", node_form<Div>},
      {"Mod", node_form<Mod>},
      {"FloorDiv", node_form<FloorDiv>},
      {"FloorMod", node_form<FloorMod>},
      {"Min", node_form<Min>},
      {"Max", node_form<Max>},
      {"EQ", node_form<EQ>},
      {"NE", node_form<NE>},
      {"LT", node_form<LT>},
      {"LE", node_form<LE>},
      {"GT", node_form<GT>},
      {"GE", node_form<GE>},
      {"And", node_form<And>},
      {"Or", node_form<Or>},
      {"Not", not_form},
      {"min", folded<Min>},
      {"max", folded<Max>},
      {"floordiv", folded<FloorDiv>},
      {"floormod", folded<FloorMod>},
      {"truncdiv", folded<Div>},
      {"truncmod", folded<Mod>},
      {"indexdiv", folded<FloorDiv>},
      {"indexmod", folded<FloorMod>},
      {"div", folded<Div>},
      {"ceildiv", ceildiv},
      {"Cast", cast_form},
      {"cast", cast_form},
      {"Select", select_form},
      {ir::info(ir::intrin::IfThenElse).name, if_then_else_form},
      {"Ramp", ramp_form},
      {"ramp", ramp_form},
      {"Broadcast", broadcast_form},
      {"broadcast", broadcast_form},
      {"Shuffle", shuffle_form},
      {"Let", let_form},
      {ir::info(ir::intrin::MinValue).name, limit_form},
      {ir::info(ir::intrin::MaxValue).name, limit_form},
      {ir::info(ir::intrin::Infinity).name, limit_form},
      {"FloatImm", imm_form},
      {"IntImm", imm_form},
      {"StringImm", string_imm},
      {"meta_var", meta_var},
      {"buffer_var", buffer_var},
      {"Ptr", buffer_var},
      {"comm_reducer", comm_reducer},
      {"call_intrin", call_intrin},
      {ir::info(ir::intrin::AddressOf).name, address_of},
      {"target", opaque},
      {"Target", opaque},
      {"iter_var", opaque},
      {"index_map", opaque},
      {"Range", range_call},
      {"Layout", opaque},
      {"TileLayout", opaque},
      {"SwizzleLayout", opaque},
      {"handle", handle_call},
      {"ptr", handle_call},
  };
  return kRows;
}

}  // namespace rldb::frontend::script
