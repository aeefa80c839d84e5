// Elementwise operators of PyTorch.
#include <fmt/format.h>

#include "onnx/aten/aten.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/unary.h"

namespace rldb::onnx::aten {

Made unary(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(c.target, {m.self_value()}));
}

// Integers become float32 first.
Made float_unary(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  if (!m.dtype(x).is_float()) x = m.cast(x, DType::Float(32));
  return m.done(m.onnx(c.target, {Aten::of(x)}));
}

Made square_root_inverse(NodeContext& c) {
  Aten m(c);
  return m.done(m.unary(op::Rsqrt, m.self()));
}

Made square(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  return m.done(m.mul(x, x));
}

Made truncated(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  return m.done(m.dtype(x).is_float() ? m.unary(op::Trunc, x) : x);
}

namespace {

Made scaled_logarithm(Aten& m, double scale) {
  const Expr* x = m.self();
  if (!m.dtype(x).is_float()) x = m.cast(x, DType::Float(32));
  return m.done(m.mul(m.onnx(op_name::Log, {Aten::of(x)}), scale));
}

}  // namespace

Made log2(NodeContext& c) {
  Aten m(c);
  return scaled_logarithm(m, 1.4426950408889634);
}

Made log10(NodeContext& c) {
  Aten m(c);
  return scaled_logarithm(m, 0.4342944819032518);
}

// Above its threshold PyTorch gives x itself: the same number in float32.
Made softplus(NodeContext& c) {
  Aten m(c);
  if (m.real("beta", 1) != 1 || m.real("threshold", 20) != 20) return refuse("its `beta` or `threshold` is given");
  return m.done(m.onnx(op_name::Softplus, {m.self_value()}));
}

Made finite(NodeContext& c) {
  Aten m(c);
  return m.done(m.unary(op::Isfinite, m.self()));
}

Made logical_not(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::Not, {Aten::of(m.cast(m.self(), DType::Bool()))}));
}

Made silu(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  return m.done(m.mul(x, m.onnx(op_name::Sigmoid, {Aten::of(x)})));
}

Made gelu(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::Gelu, {m.self_value()}, {{key::Approximate, m.text("approximate", "none")}}));
}

Made leaky_relu(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::LeakyRelu, {m.self_value()}, {{key::Alpha, m.real("negative_slope", 0.01)}}));
}

Made elu(NodeContext& c) {
  Aten m(c);
  if (m.real("scale", 1) != 1 || m.real("input_scale", 1) != 1) return refuse("its scales are not 1");
  return m.done(m.onnx(op_name::Elu, {m.self_value()}, {{key::Alpha, m.real("alpha", 1)}}));
}

Made celu(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::Celu, {m.self_value()}, {{key::Alpha, m.real("alpha", 1)}}));
}

// One slope, or one for each channel, which is axis 1.
Made prelu(NodeContext& c) {
  Aten m(c);
  const Expr *x = m.self(), *slope = m.tensor("weight");
  const std::size_t rank = m.rank(x);
  if (m.good() && m.rank(slope) == 1 && rank > 1) {
    Dims dims(rank, c.i64(1));
    dims[1] = m.dims(slope)[0];
    slope = m.reshape(slope, dims);
  }
  return m.done(m.onnx(op_name::PRelu, {Aten::of(x), Aten::of(slope)}));
}

Made softshrink(NodeContext& c) {
  Aten m(c);
  const double lambda = m.real("lambd", 0.5);
  return m.done(m.onnx(op_name::Shrink, {m.self_value()}, {{key::Lambd, lambda}, {key::Bias, lambda}}));
}

namespace {

const Expr* real_self(Aten& m) {
  const Expr* x = m.self();
  return m.dtype(x).is_float() ? x : m.cast(x, DType::Float(32));
}

}  // namespace

// As TVM's importer has them: Relax has no operator that keeps the digits near 0.
Made power_less_one(NodeContext& c) {
  Aten m(c);
  return m.done(m.add(m.exp(real_self(m)), -1));
}

Made logarithm_of_one_more(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::Log, {Aten::of(m.add(real_self(m), 1))}));
}

Made hard_sigmoid(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const Expr* line = m.add(m.mul(x, 1.0 / 6), 0.5);
  return m.done(m.clamp(line, m.lit(x, 0), m.lit(x, 1)));
}

namespace {

// Null: no bound.
Made clamped(Aten& m, const Expr* x, const Expr* least, const Expr* most) {
  if (least) x = m.at_least(x, least);
  if (most) x = m.at_most(x, most);
  return m.done(x);
}

}  // namespace

Made hard_tanh(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  return clamped(m, x, m.lit(x, m.real("min_val", -1)), m.lit(x, m.real("max_val", 1)));
}

Made relu6(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  return clamped(m, x, m.lit(x, 0), m.lit(x, 6));
}

Made clamp(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const DType t = m.result_type(m.dtype(x));
  const auto bound = [&](std::string_view name) { return m.given(name) ? m.tensor_as(name, t) : nullptr; };
  return clamped(m, m.cast(x, t), bound("min"), bound("max"));
}

// A bound that is NaN makes its elements NaN.
Made clamp_by_tensors(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const DType t = m.result_type(m.dtype(x));
  x = m.cast(x, t);
  const auto or_nan = [&](const Expr* limit, const Expr* inside) {
    return t.is_float() ? m.where(m.unary(op::Isnan, limit), limit, inside) : inside;
  };
  if (m.given("min")) {
    const Expr* least = m.tensor_as("min", t);
    x = or_nan(least, m.at_least(x, least));
  }
  if (m.given("max")) {
    const Expr* most = m.tensor_as("max", t);
    x = or_nan(most, m.at_most(x, most));
  }
  return m.done(x);
}

// ---- two operands ----

namespace {

Values both(Aten& m, DType t) { return {Aten::of(m.cast(m.self(), t)), Aten::of(m.tensor_as("other", t))}; }

}  // namespace

// With `alpha`, a factor of the second operand.
Made binary(NodeContext& c) {
  Aten m(c);
  const DType t = m.promoted({"self", "other"});
  Values operands = both(m, t);
  if (m.given("alpha") && m.real("alpha", 1) != 1) operands[1].expr = m.mul(operands[1].expr, m.real("alpha", 1));
  return m.done(m.onnx(c.target, operands));
}

Made logical(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(c.target, both(m, DType::Bool())));
}

// Of truth values it is the logical operator, which the row names.
Made bitwise(NodeContext& c) {
  constexpr std::pair<std::string_view, std::string_view> kOfInts[] = {
      {op_name::And, op_name::BitwiseAnd}, {op_name::Or, op_name::BitwiseOr}, {op_name::Xor, op_name::BitwiseXor}};
  Aten m(c);
  const DType t = m.promoted({"self", "other"});
  std::string_view op = c.target;
  for (const auto& [logical, of_ints] : kOfInts)
    if (op == logical && !t.is_bool()) op = of_ints;
  return m.done(m.onnx(op, both(m, t)));
}

Made not_equal(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::Not, {Aten::of(m.onnx(op_name::Equal, both(m, m.promoted({"self", "other"}))))}));
}

Made divide(NodeContext& c) {
  Aten m(c);
  DType t = m.promoted({"self", "other"});
  const std::string rounding = m.text("rounding_mode", "");
  if (rounding.empty() && !t.is_float()) t = DType::Float(32);
  const Values operands = both(m, t);
  if (!m.good()) return m.done(nullptr);
  if (rounding == "floor") return m.done(m.each(op::FloorDivide, operands[0].expr, operands[1].expr));
  if (rounding == "trunc" && t.is_float()) return m.done(m.unary(op::Trunc, m.div(operands[0].expr, operands[1].expr)));
  return m.done(m.onnx(op_name::Div, operands));
}

Made floor_divide(NodeContext& c) {
  Aten m(c);
  const Values operands = both(m, m.promoted({"self", "other"}));
  return m.done(m.good() ? m.each(op::FloorDivide, operands[0].expr, operands[1].expr) : nullptr);
}

// Of the sign of the first operand.
Made remainder_of_truncation(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::Mod, both(m, m.promoted({"self", "other"})), {{key::Fmod, std::int64_t(1)}}));
}

Made reverse_subtract(NodeContext& c) {
  Aten m(c);
  const Values operands = both(m, m.promoted({"self", "other"}));
  if (m.real("alpha", 1) != 1) return refuse("its factor `alpha` is not 1");
  return m.done(m.good() ? m.sub(operands[1].expr, operands[0].expr) : nullptr);
}

Made power(NodeContext& c) {
  Aten m(c);
  const DType t = m.promoted({"self", "exponent"});
  return m.done(m.onnx(op_name::Pow, {Aten::of(m.cast(m.self(), t)), Aten::of(m.tensor_as("exponent", t))}));
}

Made outer_product(NodeContext& c) {
  Aten m(c);
  const DType t = m.promoted({"self", "vec2"});
  return m.done(m.mul(m.expand(m.cast(m.self(), t), {1}), m.expand(m.cast(m.tensor("vec2"), t), {0})));
}

// The larger one + log(1 + exp(-|their difference|)). Relax's operator gives NaN where an operand is infinite: equal
// operands have no difference here.
Made log_of_sum(NodeContext& c) {
  Aten m(c);
  const DType t = m.promoted({"self", "other"});
  const Expr *a = m.cast(m.self(), t), *b = m.tensor_as("other", t);
  const Expr* difference = m.where(m.each(op::Equal, a, b), m.lit(t, 0), m.sub(a, b));
  const Expr* smaller_part = m.exp(m.mul(m.unary(op::Abs, difference), -1));
  return m.done(m.add(m.max(a, b), m.onnx(op_name::Log, {Aten::of(m.add(smaller_part, 1))})));
}

Made where(NodeContext& c) {
  Aten m(c);
  const DType t = m.promoted({"self", "other"});
  return m.done(m.where(m.tensor("condition"), m.tensor_as("self", t), m.tensor_as("other", t)));
}

Made masked_fill(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  return m.done(m.where(m.tensor("mask"), m.tensor_as("value", m.dtype(x)), x));
}

// ---- copies ----

Made same(NodeContext& c) {
  Aten m(c);
  return m.give({m.self_value()});
}

Made converted(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  return m.done(m.cast(x, m.result_type(m.dtype(x))));
}

Made dropout(NodeContext& c) {
  Aten m(c);
  if (m.truth("train", false)) return refuse("it is in training mode: the elements that it drops are random");
  return m.give({m.self_value()});
}

// ---- sizes ----

Made size_of_axis(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const std::size_t axis = m.axis(m.integer("dim", 0), x);
  const Dims dims = m.dims(x);
  if (!m.good()) return m.done(nullptr);
  return c.know({DType::Int(64), 0, {dims[axis]}});
}

namespace {

// As in Python: rounded down. Null: the sizes are not known, or the divisor is no positive number.
std::shared_ptr<const Known> floor_quotient(NodeContext& c, const Values& operands) {
  if (c.target != op_name::Div || operands.size() != 2) return nullptr;
  const auto a = NodeContext::known_of(c.ctx, operands[0]), b = NodeContext::known_of(c.ctx, operands[1]);
  if (!a || !b || a->items.size() != 1 || b->items.size() != 1) return nullptr;
  if (int_of(b->items[0]).value_or(1) <= 0) return nullptr;
  const Expr* quotient = ir::floor_div(c.ctx, a->items[0], b->items[0]);
  return std::make_shared<const Known>(Known{DType::Int(64), 0, {quotient}});
}

}  // namespace

// Python's arithmetic of sizes.
Made size_arithmetic(NodeContext& c) {
  Aten m(c);
  Values operands;
  if (c.arguments)
    for (const Argument& a : c.arguments->all)
      for (const Value& v : m.values(&a)) operands.push_back(v);
  if (auto quotient = floor_quotient(c, operands)) return m.give({Value{nullptr, std::move(quotient)}});
  return m.give(m.onnx_all(c.target, operands, {}, 1));
}

// The assertions of a program on its symbols were checked when it was exported. The result of a comparison is a value
// that nothing else can use.
Made assertion(NodeContext& c) { return Aten(c).give({Value()}); }

}  // namespace rldb::onnx::aten
