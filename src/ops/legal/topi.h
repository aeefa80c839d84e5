// Tensor-expression building blocks of legalisation: one function per tensor operation. The structure of the
// results (stages, names, order of loops) follows TVM's operator inventory, so that lowered programs compare equal.
#pragma once

#include "ops/infer/util.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ops/legalize.h"

namespace rldb::ops::topi {

using te::Indices;
using te::Tensor;
using ExprList = std::vector<const Expr*>;

struct Topi;
// One element of the result of two operands, from one element of each.
using Element = const Expr* (*)(Topi& t, const Expr* a, const Expr* b);
// Sum and product; for bools `or` and `and`.
const Expr* add_element(Topi& t, const Expr* a, const Expr* b);
const Expr* multiply_element(Topi& t, const Expr* a, const Expr* b);
template <ir::BinaryKind kind>
const Expr* plain_element(Topi& t, const Expr* a, const Expr* b);

// Which sides of a padded axis the elements are compared with: both where one is padded, or those that are. TVM has two
// functions that pad.
enum class PadTest { BothSides, PaddedSides };

struct Topi {
  te::Graph& g;
  ir::Context& ctx;
  explicit Topi(Legalizer::Te& te) : g(te.graph), ctx(te.ctx) {}

  const Expr* i64(std::int64_t v) { return ctx.i64(v); }
  const Expr* lit(DType t, double v) { return ctx.literal(t, v); }
  const Expr* intrin(ir::Intrinsic id, const Expr* x) { return ctx.intrin(x->dtype(), id, {x}); }
  const Expr* if_else(const Expr* cond, const Expr* a, const Expr* b);
  const Expr* lt(const Expr* a, const Expr* b) { return ir::compare(ctx, ir::BinaryKind::LT, a, b); }
  const Expr* le(const Expr* a, const Expr* b) { return ir::compare(ctx, ir::BinaryKind::LE, a, b); }
  const Expr* eq(const Expr* a, const Expr* b) { return ir::compare(ctx, ir::BinaryKind::EQ, a, b); }
  const Expr* ne(const Expr* a, const Expr* b) { return ir::compare(ctx, ir::BinaryKind::NE, a, b); }
  // As TVM compares a condition of any dtype with zero.
  const Expr* where(const Expr* condition, const Expr* a, const Expr* b) {
    return ctx.select(lt(i64(0), ctx.cast(DType::Int(64), condition)), a, b);
  }
  const Expr* all(const ExprList& conditions);  // null when there is none

  // ---- elementwise ----
  Tensor unary(ir::Intrinsic id, Tensor x);
  Tensor erf(Tensor x);  // of float16 by way of float32
  Tensor map(Tensor x, const std::function<const Expr*(const Expr*)>& f, std::string_view name = "compute");
  Tensor cast(Tensor x, DType t, std::string_view name = "T_cast");
  // Either side may be a scalar expression instead of a tensor.
  struct Operand {
    Tensor tensor = nullptr;
    const Expr* scalar = nullptr;
    Operand(Tensor t) : tensor(t) {}
    Operand(const Expr* e) : scalar(e) {}
  };
  // The elements are converted to one dtype before `element` sees them. `op` names the stage.
  Tensor binary(std::string_view op, Element element, Operand a, Operand b);
  Tensor add(Operand a, Operand b);
  Tensor subtract(Operand a, Operand b);
  Tensor multiply(Operand a, Operand b);
  Tensor divide(Operand a, Operand b);
  std::vector<const Expr*> broadcast_shape(const std::vector<Tensor>& ts);
  // Element of t for the output indices, with NumPy broadcasting.
  const Expr* at(Tensor t, std::span<const Expr* const> out_indices, std::span<const Expr* const> out_shape);

  // ---- reductions ----
  Tensor reduce(Tensor x, const std::vector<int>& axes, bool keepdims, const ir::CommReducer* r);
  Tensor sum(Tensor x, const std::vector<int>& axes, bool keepdims) {
    return reduce(x, axes, keepdims, g.sum_reducer(x->dtype));
  }
  // Of (index, value) pairs: the first of the extreme values.
  const ir::CommReducer* arg_reducer(DType t, bool want_max);
  Tensor argreduce(Tensor x, const std::vector<int>& axes, bool keepdims, bool want_max);
  const Expr* count(Tensor x, const std::vector<int>& axes);

  // ---- shape ----
  Tensor reshape(Tensor x, const ExprList& shape);
  Tensor transpose(Tensor x, const std::vector<int>& order);
  Tensor expand_dims(Tensor x, std::vector<int> axes);
  Tensor squeeze(Tensor x, const std::vector<int>& axes);
  Tensor concat(const std::vector<Tensor>& xs, int axis);
  Tensor full(const ExprList& shape, const Expr* value);
  // before and after: one per axis; `value` outside.
  Tensor pad(Tensor x, const ExprList& before, const ExprList& after, const Expr* value, std::string_view name,
             PadTest test = PadTest::BothSides);
  Tensor trilu(Tensor x, const Expr* k, bool upper);

  // ---- products ----
  Tensor matmul(Tensor a, Tensor b, DType out);
  Tensor batch_matmul(Tensor a, Tensor b, bool transpose_b);
};

template <ir::BinaryKind kind>
const Expr* plain_element(Topi& t, const Expr* a, const Expr* b) {
  return t.ctx.binary(kind, a, b);
}

inline ExprList vars(Indices i) { return {i.begin(), i.end()}; }
inline ExprList shape_list(Tensor t) { return {t->shape.begin(), t->shape.end()}; }
std::vector<int> all_axes(int ndim);

}  // namespace rldb::ops::topi
