// Legalisation: the operators of op/unary.def and op/function.def. A body computes one element of the result.

#include "rldb/ir/unary.h"

#include "ops/legal/elements.h"
#include "ops/legal/util.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op_attr/dtype_attr.h"

namespace rldb::ops::legal {

using ir::BinaryKind;

namespace {

// The prefix keeps the kernel's name apart from the C library's function (TVM: legalize_ops/unary.py).
std::string unary_kernel(std::string_view op) {
  return op == short_op::Erf ? std::string(op) : fmt::format("tir_{}", op);
}

using Element = const Expr* (*)(Topi& t, const Expr* x);

Result<const Expr*> of_elements(Legalizer& l, const ir::Call* c, Element element) {
  return l.call_te(unary_kernel(op_name(c)), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {as_typed(t, c, t.map(te.in[0], [&](const Expr* x) { return element(t, x); }))};
  });
}

// Rows whose body is `intrinsic` have the name of an intrinsic.
constexpr bool names_intrinsic(std::string_view op) {
#define RLDB_INTRINSIC(id, name, arity, result, effect, body) \
  if (op == name) return true;
#include "rldb/ir/intrinsic/intrinsic.def"
  return false;
}
#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc) \
  static_assert(std::string_view(#legal_fn) != "intrinsic" || names_intrinsic(name));
#include "rldb/ir/op/op.def"

const Expr* intrinsic_of(Topi& t, const Expr* x, std::string_view op) {
  return t.intrin(ir::find_intrinsic(op)->id, x);
}

template <ir::Intrinsic Id>
const Expr* function(Topi& t, const Expr* x) {
  return ir::make_unary(t.ctx, Id, x);
}

}  // namespace

Result<const Expr*> intrinsic(Legalizer& l, const ir::Call* c) {
  return l.call_te(unary_kernel(op_name(c)), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {as_typed(t, c, t.map(te.in[0], [&](const Expr* x) { return intrinsic_of(t, x, op_name(c)); }))};
  });
}

Result<const Expr*> erf(Legalizer& l, const ir::Call* c) {
  return l.call_te(unary_kernel(op_name(c)), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {as_typed(t, c, t.erf(te.in[0]))};
  });
}

// floor, ceil, round, trunc: integers are whole already.
Result<const Expr*> rounding(Legalizer& l, const ir::Call* c) {
  return l.call_te(unary_kernel(op_name(c)), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    const bool whole = !te.in[0]->dtype.is_float();
    return {as_typed(t, c, t.map(te.in[0], [&](const Expr* x) { return whole ? x : intrinsic_of(t, x, op_name(c)); }))};
  });
}

// Python's minus of an expression multiplies: zero changes its sign.
Result<const Expr*> negative(Legalizer& l, const ir::Call* c) {
  return of_elements(l, c, [](Topi& t, const Expr* x) -> const Expr* {
    return t.ctx.binary(BinaryKind::Mul, x, t.lit(x->dtype(), -1));
  });
}

Result<const Expr*> abs(Legalizer& l, const ir::Call* c) { return of_elements(l, c, function<ir::intrin::Fabs>); }

Result<const Expr*> square(Legalizer& l, const ir::Call* c) {
  return of_elements(l, c, [](Topi& t, const Expr* x) -> const Expr* { return t.ctx.binary(BinaryKind::Mul, x, x); });
}

Result<const Expr*> sign(Legalizer& l, const ir::Call* c) {
  return of_elements(l, c, [](Topi& t, const Expr* x) -> const Expr* {
    const DType d = x->dtype();
    const Expr* below = d.is_uint() ? t.lit(d, 0) : t.ctx.select(t.lt(x, t.lit(d, 0)), t.lit(d, -1), t.lit(d, 0));
    return t.ctx.select(t.lt(t.lit(d, 0), x), t.lit(d, 1), below);
  });
}

Result<const Expr*> logical_not(Legalizer& l, const ir::Call* c) {
  return of_elements(l, c, [](Topi& t, const Expr* x) -> const Expr* {
    return t.ctx.not_(x->dtype().is_bool() ? x : t.ne(x, t.lit(x->dtype(), 0)));
  });
}

Result<const Expr*> bitwise_not(Legalizer& l, const ir::Call* c) {
  if (const TensorType* x = tensor_type(c->args[0]); x && x->dtype.is_float())
    return refuse(c, "its operand is " + to_string(x->dtype) + ", not integers");
  return of_elements(l, c, [](Topi& t, const Expr* x) -> const Expr* {
    if (x->dtype().is_bool()) return t.ctx.not_(x);
    return t.intrin(ir::intrin::BitwiseNot, x);
  });
}

Result<const Expr*> isnan(Legalizer& l, const ir::Call* c) { return of_elements(l, c, function<ir::intrin::Isnan>); }

Result<const Expr*> isinf(Legalizer& l, const ir::Call* c) { return of_elements(l, c, function<ir::intrin::Isinf>); }

Result<const Expr*> isfinite(Legalizer& l, const ir::Call* c) {
  return of_elements(l, c, function<ir::intrin::Isfinite>);
}

Result<const Expr*> clip(Legalizer& l, const ir::Call* c) {
  return l.call_te(unary_kernel(op_name(c)), c->args.first(1), c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor x = te.in[0];
    const Expr* low = ir::cast_to(te.ctx, x->dtype, te.map(c->args[1]));
    const Expr* high = ir::cast_to(te.ctx, x->dtype, te.map(c->args[2]));
    return {t.map(x, [&](const Expr* e) -> const Expr* {
      return te.ctx.binary(BinaryKind::Max, te.ctx.binary(BinaryKind::Min, e, high), low);
    })};
  });
}

Result<const Expr*> astype(Legalizer& l, const ir::Call* c) {
  DType to = attr_dtype(spec(c), op_attr::Dtype);
  return l.call_te("cast", c->args, c->type,
                   [&](Te& te) -> Tensors { return {Topi(te).cast(te.in[0], to, "compute")}; });
}

}  // namespace rldb::ops::legal
