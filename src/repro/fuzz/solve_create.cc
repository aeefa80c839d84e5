// Solvers of operators that make tensors from shapes and numbers.
#include "repro/fuzz/attributes.h"
#include "repro/fuzz/solve.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/scalar.h"

namespace rldb::repro::solver {

using ir::DType;

bool full(Maker& m, const ops::OpInfo& op) {
  const DType t = m.dtype(Kind::Number);
  const Known value = m.of({}, t, t.is_uint() ? Range{0, 9} : Range{-5, 9});
  return m.emit(op, {m.ctx.shape(m.shape(0, 3)), value.var}, {}, {value.range, value.exact, value.error}).has_value();
}

bool ones(Maker& m, const ops::OpInfo& op) {
  const DType t = m.dtype(Kind::Any);
  return m.emit(op, {m.ctx.shape(m.shape(0, 3))}, Attributes(m, op).add(op_attr::Dtype, t), {{0, 1}, true, 0})
      .has_value();
}

bool like(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Number, 0, 3});
  Attributes attrs(m, op);
  if (op.args.size() == 1) {
    if (m.random.one_in(3)) attrs.add(op_attr::Dtype, m.dtype(Kind::Any));
    return m.emit(op, {x.var}, attrs, {{0, 1}, true, 0}).has_value();
  }
  const Known value = m.of({}, x.dtype(), kEverything);
  return m.emit(op, {x.var, value.var}, attrs, {value.range, value.exact, value.error}).has_value();
}

bool eye(Maker& m, const ops::OpInfo& op) {
  const ir::Expr* k = m.ctx.i64(std::int64_t(m.random.below(5)) - 2);
  Attributes attrs(m, op);
  attrs.add(op_attr::Dtype, m.dtype(Kind::Number));
  const Image image{{0, 1}, true, 0};
  if (op.args.size() == 3) return m.emit(op, {m.dim(), m.dim(), k}, attrs, image).has_value();
  const Known x = m.operand({Kind::Number, 2, 2});
  return m.emit(op, {x.var, k}, attrs, image).has_value();
}

bool arange(Maker& m, const ops::OpInfo& op) {
  const ir::Var* symbol = m.flip() ? m.some_symbol() : nullptr;
  const bool down = !symbol && m.random.one_in(3);
  const std::int64_t start = std::int64_t(m.random.below(4));
  const std::int64_t count = m.size(), step = down ? -1 - std::int64_t(m.flip()) : 1 + std::int64_t(m.flip());
  const ir::Expr* end = symbol ? static_cast<const ir::Expr*>(symbol) : m.ctx.i64(start + count * step);
  const DType dtype = m.flip() ? DType::Int(64) : DType::Float(32);
  const Range r{-150, 150};
  return m
      .emit(op, {m.ctx.i64(symbol ? 0 : start), end, m.ctx.i64(symbol ? 1 : step)},
            Attributes(m, op).add(op_attr::Dtype, dtype), {r, true, 0})
      .has_value();
}

bool hamming(Maker& m, const ops::OpInfo& op) {
  const auto real = [&](double v) { return m.ctx.float_imm(DType::Float(32), v); };
  return m
      .emit(op, {m.ctx.i64(1 + m.size()), m.ctx.bool_imm(m.flip()), real(0.54), real(0.46)},
            Attributes(m, op).add(op_attr::Dtype, DType::Float(32)), {{0, 1.1}, false, 0})
      .has_value();
}

bool size(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 0, 4});
  return m.emit(op, {x.var}, {}, {{0, double(most_elements(x.type))}, true, 0}).has_value();
}

bool shape_value(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 1, 4});
  const auto shape = m.ctx.call(op::ShapeOf, {x.var});
  if (!shape.ok()) return false;
  return m.emit(op, {m.bind(*shape)}, {}, {{0, 6000}, true, 0}).has_value();
}

}  // namespace rldb::repro::solver
