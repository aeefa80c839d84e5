// Legalisation: the operators of op/binary.def, one function per row. A body says what one element of the result is,
// from elements of one dtype.
#include "ops/legal/elements.h"
#include "ops/legal/util.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/intrinsic/trigonometry.h"

namespace rldb::ops::legal {

using ir::BinaryKind;

Tensor as_typed(Topi& t, const ir::Call* c, Tensor r) {
  const TensorType* out = tensor_type(c);
  if (!out || out->dtype.is_void()) return r;
  if (r->dtype != out->dtype) r = t.map(r, [&](const Expr* e) { return ir::cast_to(t.ctx, out->dtype, e); });
  if (out->has_shape && out->ndim == 1 && r->ndim() == 0) r = t.expand_dims(r, {0});
  return r;
}

namespace {

// Operands: constants become literals, scalars their own expression, the others placeholders.
struct Operands {
  std::vector<const Expr*> tensors;
  std::vector<const Expr*> scalars;  // null: a tensor
};
Operands sort_operands(Legalizer& l, std::span<const Expr* const> args) {
  Operands out;
  for (const Expr* a : args) {
    const Expr* s = tensor_type(a) ? scalar_constant(l.context(), a) : a;
    out.scalars.push_back(s);
    if (!s) out.tensors.push_back(a);
  }
  // Something must give the shape.
  if (out.tensors.empty())
    for (std::size_t i = 0; i < args.size(); ++i)
      if (tensor_type(args[i])) {
        out.tensors.push_back(args[i]);
        out.scalars[i] = nullptr;
        break;
      }
  return out;
}

Result<const Expr*> of_elements(Legalizer& l, const ir::Call* c, topi::Element element) {
  std::string_view op = op_name(c);
  if (!tensor_type(c)) return refuse(c, "it works on scalars: write the Python operator");
  Operands o = sort_operands(l, c->args);
  return l.call_te(op, o.tensors, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    std::size_t next = 0;
    auto side = [&](std::size_t i) -> Topi::Operand {
      if (!o.scalars[i]) return te.in[next++];
      return te.map(o.scalars[i]);
    };
    Topi::Operand a = side(0);
    Topi::Operand b = side(1);
    return {as_typed(t, c, t.binary(op, element, a, b))};
  });
}

template <BinaryKind kind>
const Expr* plain(Topi& t, const Expr* a, const Expr* b) {
  return t.ctx.binary(kind, a, b);
}

template <ir::Intrinsic id>
const Expr* call(Topi& t, const Expr* a, const Expr* b) {
  return t.ctx.intrin(a->dtype(), id, {a, b});
}

const Expr* truth(Topi& t, const Expr* e) { return e->dtype().is_bool() ? e : t.ne(e, t.lit(e->dtype(), 0)); }

// A connective of truth values, whatever the dtype of the operands.
template <BinaryKind kind>
const Expr* connective(Topi& t, const Expr* a, const Expr* b) {
  return t.ctx.binary(kind, truth(t, a), truth(t, b));
}

// Operands with bits: integers, and truth values where they count as one bit.
Result<support::Unit> has_bits(const ir::Call* c, bool truth_values) {
  for (const Expr* e : c->args) {
    const TensorType* x = tensor_type(e);
    const DType t = x ? x->dtype : e->dtype();
    if (t.is_void() || t.is_int() || t.is_uint() || (truth_values && t.is_bool())) continue;
    return refuse(c, "its operands are " + to_string(t) + ", not integers");
  }
  return support::Unit{};
}

// A logical connective for bools, a bitwise operation otherwise.
template <BinaryKind kind, ir::Intrinsic id>
const Expr* bits(Topi& t, const Expr* a, const Expr* b) {
  if (a->dtype().is_bool()) return t.ctx.binary(kind, a, b);
  return call<id>(t, a, b);
}

const Expr* floor_of_quotient(Topi& t, const Expr* a, const Expr* b) {
  return t.intrin(ir::intrin::Floor, t.ctx.binary(BinaryKind::Div, a, b));
}

}  // namespace

// ---- arithmetic ----

Result<const Expr*> add(Legalizer& l, const ir::Call* c) { return of_elements(l, c, topi::add_element); }
Result<const Expr*> multiply(Legalizer& l, const ir::Call* c) { return of_elements(l, c, topi::multiply_element); }
Result<const Expr*> subtract(Legalizer& l, const ir::Call* c) { return of_elements(l, c, plain<BinaryKind::Sub>); }
Result<const Expr*> divide(Legalizer& l, const ir::Call* c) { return of_elements(l, c, plain<BinaryKind::Div>); }
Result<const Expr*> maximum(Legalizer& l, const ir::Call* c) { return of_elements(l, c, plain<BinaryKind::Max>); }
Result<const Expr*> minimum(Legalizer& l, const ir::Call* c) { return of_elements(l, c, plain<BinaryKind::Min>); }
Result<const Expr*> power(Legalizer& l, const ir::Call* c) {
  // As in TVM: `pow` is a function of floats.
  const TensorType* out = tensor_type(c);
  if (out && !out->dtype.is_void() && !out->dtype.is_float())
    return refuse(c,
                  "its operands are " + to_string(out->dtype) + ", not floats: cast them with R.astype, or multiply");
  return of_elements(l, c, call<ir::intrin::Pow>);
}
Result<const Expr*> atan2(Legalizer& l, const ir::Call* c) { return of_elements(l, c, call<ir::intrin::Atan2>); }

Result<const Expr*> floor_divide(Legalizer& l, const ir::Call* c) {
  return of_elements(l, c, [](Topi& t, const Expr* a, const Expr* b) -> const Expr* {
    if (a->dtype().is_float()) return floor_of_quotient(t, a, b);
    return t.ctx.binary(BinaryKind::FloorDiv, a, b);
  });
}

Result<const Expr*> floor_mod(Legalizer& l, const ir::Call* c) {
  return of_elements(l, c, [](Topi& t, const Expr* a, const Expr* b) -> const Expr* {
    if (!a->dtype().is_float()) return t.ctx.binary(BinaryKind::FloorMod, a, b);
    return t.ctx.binary(BinaryKind::Sub, a, t.ctx.binary(BinaryKind::Mul, floor_of_quotient(t, a, b), b));
  });
}

Result<const Expr*> mod(Legalizer& l, const ir::Call* c) {
  return of_elements(l, c, [](Topi& t, const Expr* a, const Expr* b) -> const Expr* {
    if (a->dtype().is_float()) return call<ir::intrin::Fmod>(t, a, b);
    return t.ctx.binary(BinaryKind::Mod, a, b);
  });
}

Result<const Expr*> log_add_exp(Legalizer& l, const ir::Call* c) {
  return of_elements(l, c, [](Topi& t, const Expr* a, const Expr* b) -> const Expr* {
    const Expr* top = t.ctx.binary(BinaryKind::Max, a, b);
    const Expr* ea = t.intrin(ir::intrin::Exp, t.ctx.binary(BinaryKind::Sub, a, top));
    const Expr* eb = t.intrin(ir::intrin::Exp, t.ctx.binary(BinaryKind::Sub, b, top));
    return t.ctx.binary(BinaryKind::Add, top, t.intrin(ir::intrin::Log, t.ctx.binary(BinaryKind::Add, ea, eb)));
  });
}

// ---- comparisons ----

Result<const Expr*> equal(Legalizer& l, const ir::Call* c) { return of_elements(l, c, plain<BinaryKind::EQ>); }
Result<const Expr*> not_equal(Legalizer& l, const ir::Call* c) { return of_elements(l, c, plain<BinaryKind::NE>); }
Result<const Expr*> less(Legalizer& l, const ir::Call* c) { return of_elements(l, c, plain<BinaryKind::LT>); }
Result<const Expr*> less_equal(Legalizer& l, const ir::Call* c) { return of_elements(l, c, plain<BinaryKind::LE>); }

// As TVM prints them: the smaller on the left.
Result<const Expr*> greater(Legalizer& l, const ir::Call* c) {
  return of_elements(
      l, c, [](Topi& t, const Expr* a, const Expr* b) -> const Expr* { return t.ctx.binary(BinaryKind::LT, b, a); });
}

Result<const Expr*> greater_equal(Legalizer& l, const ir::Call* c) {
  return of_elements(
      l, c, [](Topi& t, const Expr* a, const Expr* b) -> const Expr* { return t.ctx.binary(BinaryKind::LE, b, a); });
}

// ---- logic and bits ----

Result<const Expr*> logical_and(Legalizer& l, const ir::Call* c) {
  return of_elements(l, c, connective<BinaryKind::And>);
}
Result<const Expr*> logical_or(Legalizer& l, const ir::Call* c) {
  return of_elements(l, c, connective<BinaryKind::Or>);
}
Result<const Expr*> logical_xor(Legalizer& l, const ir::Call* c) {
  return of_elements(l, c, connective<BinaryKind::NE>);
}
Result<const Expr*> bitwise_and(Legalizer& l, const ir::Call* c) {
  RLDB_TRY_VOID(has_bits(c, true));
  return of_elements(l, c, bits<BinaryKind::And, ir::intrin::BitwiseAnd>);
}
Result<const Expr*> bitwise_or(Legalizer& l, const ir::Call* c) {
  RLDB_TRY_VOID(has_bits(c, true));
  return of_elements(l, c, bits<BinaryKind::Or, ir::intrin::BitwiseOr>);
}
Result<const Expr*> bitwise_xor(Legalizer& l, const ir::Call* c) {
  RLDB_TRY_VOID(has_bits(c, true));
  return of_elements(l, c, bits<BinaryKind::NE, ir::intrin::BitwiseXor>);
}
Result<const Expr*> left_shift(Legalizer& l, const ir::Call* c) {
  RLDB_TRY_VOID(has_bits(c, false));
  return of_elements(l, c, call<ir::intrin::ShiftLeft>);
}
Result<const Expr*> right_shift(Legalizer& l, const ir::Call* c) {
  RLDB_TRY_VOID(has_bits(c, false));
  return of_elements(l, c, call<ir::intrin::ShiftRight>);
}

// ---- three operands ----

Result<const Expr*> ewise_fma(Legalizer& l, const ir::Call* c) {
  return l.call_te("ewise_fma", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {t.add(t.multiply(te.in[0], te.in[1]), te.in[2])};
  });
}

Result<const Expr*> where(Legalizer& l, const ir::Call* c) {
  Operands o = sort_operands(l, c->args);
  RLDB_TRY(const TensorType* out, known_result(c));
  return l.call_te("where", o.tensors, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    ExprList shape = mapped(te, out->shape);
    return {te.graph.compute(
        shape,
        [&](Indices i) -> const Expr* {
          ExprList idx = topi::vars(i);
          std::size_t next = 0;
          const Expr* v[3];
          for (std::size_t k = 0; k < 3; ++k)
            v[k] = o.scalars[k] ? te.map(o.scalars[k]) : t.at(te.in[next++], idx, shape);
          return t.where(v[0], v[1], v[2]);
        },
        "T_where")};
  });
}

}  // namespace rldb::ops::legal
