// Losses of classes.
#include <fmt/format.h>

#include "onnx/ops/chain.h"
#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_attr.h"

namespace rldb::onnx::bodies {

namespace {

// -weight[target] * score[target], summed or averaged by weight. `scores`: classes along axis 1; the weight is
// operand 2.
const Expr* weighted_loss(Chain& m, const Expr* scores, const Expr* target) {
  NodeContext& c = m.c;
  const DType t = m.dtype(scores);
  const bool ignores = c.attr(key::IgnoreIndex) != nullptr;
  target = m.cast(target, DType::Int(64));
  const Expr* ignored =
      ignores ? m.each(op::Equal, target, m.lit(target, double(c.integer(key::IgnoreIndex, 0)))) : nullptr;
  // Ignored targets need not be classes.
  if (ignored) target = m.where(ignored, m.lit(target, 0), target);
  const Dims dims = m.dims(target);
  const Expr* picked = m.op(op::GatherElements, {scores, m.expand(target, {1})}, {{op_attr::Axis, m.ctx.attr(1)}});
  const Expr* loss = m.unary(op::Negative, m.reshape(picked, dims));
  const Expr* weight = c.has(2) ? m.take_at(m.in(2), target, 0) : nullptr;
  if (ignored) {
    const Expr* kept = m.cast(m.unary(op::LogicalNot, ignored), t);
    weight = weight ? m.mul(weight, kept) : kept;
  }
  if (weight) loss = m.mul(loss, weight);
  const std::string how = m.take(c.word(key::Reduction, "mean", {"none", "sum", "mean"}));
  if (!m.good() || how == "none") return loss;
  const Ints all = iota(0, std::int64_t(dims.size()));
  const Expr* sum = m.reduce(op::Sum, loss, all, false);
  if (how == "sum") return sum;
  return weight ? m.div(sum, m.reduce(op::Sum, weight, all, false)) : m.reduce(op::Mean, loss, all, false);
}

}  // namespace

Made nll_loss(NodeContext& c) {
  Chain m(c);
  return m.done(weighted_loss(m, m.in(0), m.in(1)));
}

// (loss, log of the softmax)
Made softmax_cross_entropy(NodeContext& c) {
  Chain m(c);
  const Expr* log = m.op(op::NnLogSoftmax, {m.in(0)}, {{op_attr::Axis, c.ctx.attr(1)}});
  const Expr* loss = weighted_loss(m, log, m.in(1));
  if (!m.good() || !c.wants(1)) return m.done(loss);
  return static_cast<const Expr*>(c.ctx.tuple(Exprs{loss, log}));
}

}  // namespace rldb::onnx::bodies
