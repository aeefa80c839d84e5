// Solvers of products and layers of networks.
#include "repro/fuzz/attributes.h"
#include "repro/fuzz/solve.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/ir/scalar.h"

namespace rldb::repro::solver {

using ir::DType;

namespace {

// A sum of n products.
Image of_products(const Known& a, const Known& b, double n) {
  const Range r = times(times(a.range, b.range).hull(), n);
  const double error = n * (a.error * b.range.largest() + b.error * a.range.largest());
  return {r, false, error + n * rounding_of(a.dtype()) * a.range.largest() * b.range.largest()};
}

Range factor_of(DType t) { return t.is_uint() ? Range{0, 5} : Range{-5, 5}; }

// Multiplies up to what amplifies an error that the normalised values had.
constexpr double kNormSlope = 60;

const ir::Expr* length(const Known& x, std::int64_t axis) { return x.dim(int(axis < 0 ? axis + x.ndim() : axis)); }

}  // namespace

bool matmul(Maker& m, const ops::OpInfo& op) {
  const auto wide = [](const Known& v) { return !v.dtype().is_integral() || v.dtype().bits >= 32; };
  Known a = m.operand({Kind::Number, 1, 4, Range{-5, 5}, false, wide});
  const ir::Expr* inner = a.dim(a.ndim() - 1);
  Dims dims;
  if (a.ndim() > 2 && m.flip())
    for (int i = 0; i + 2 < a.ndim(); ++i) dims.push_back(m.random.one_in(3) ? m.ctx.i64(1) : a.dim(i));
  dims.push_back(inner);
  if (dims.size() > 1 || !m.random.one_in(5)) dims.push_back(m.dim());
  Known b = m.of(dims, a.dtype(), factor_of(a.dtype()));
  Attributes attrs(m, op);
  if (m.random.one_in(5)) attrs.add(op_attr::OutDtype, a.dtype());
  return m.emit(op, {a.var, b.var}, attrs, of_products(a, b, double(most_of(inner)))).has_value();
}

bool einsum(Maker& m, const ops::OpInfo& op) {
  const Known a = m.operand({Kind::Float, 2, 3, Range{-5, 5}});
  const ir::Expr* inner = a.dim(a.ndim() - 1);
  const bool batch = a.ndim() == 3;
  if (m.random.one_in(4)) {
    const ir::Expr* one[] = {a.var};
    return m
        .emit(op, {m.ctx.tuple(one)}, Attributes(m, op).add(op_attr::Subscripts, batch ? "bij->bji" : "ij->ji"),
              {a.range, a.exact, a.error})
        .has_value();
  }
  Dims dims{inner, m.dim()};
  if (batch) dims.insert(dims.begin(), a.dim(0));
  const Known b = m.of(dims, a.dtype(), factor_of(a.dtype()));
  const ir::Expr* two[] = {a.var, b.var};
  const char* subscripts =
      batch ? (m.flip() ? "bij,bjk->bik" : "bij,bjk->kbi") : (m.flip() ? "ij,jk->ik" : "ij,jk->ki");
  return m
      .emit(op, {m.ctx.tuple(two)}, Attributes(m, op).add(op_attr::Subscripts, subscripts),
            of_products(a, b, double(most_of(inner))))
      .has_value();
}

bool outer(Maker& m, const ops::OpInfo& op) {
  const Known a = m.operand({Kind::Float, 1, 1, Range{-5, 5}});
  const Known b = m.of({m.dim()}, a.dtype(), {-5, 5});
  return m.emit(op, {a.var, b.var}, {}, of_products(a, b, 1)).has_value();
}

bool prelu(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 1, 4});
  const std::int64_t axis = m.axis_of(x.ndim());
  const Known alpha = m.of({length(x, axis)}, x.dtype(), {-1, 1});
  return m
      .emit(op, {x.var, alpha.var}, Attributes(m, op).add(op_attr::Axis, axis),
            {x.range.hull(), false, x.error + alpha.error * x.range.largest()})
      .has_value();
}

bool quantise(Maker& m, const ops::OpInfo& op) {
  const auto narrow = [](const Known& v) { return v.dtype() == DType::Float(32); };
  const Known x = m.operand({Kind::Float, 1, 4, Range{-20, 20}, true, narrow});
  const std::int64_t axis = m.axis_of(x.ndim());
  // A quotient by a power of two has no rounding that could decide which integer is nearest.
  const Known scale = m.constant({}, DType::Float(32), [](std::size_t) { return 0.25; }, {0.25, 0.25});
  const Known zero = m.integers({}, DType::Int(8), -2, 3);
  const DType to = m.flip() ? DType::Int(8) : DType::UInt(8);
  Attributes attrs(m, op);
  attrs.add(op_attr::Axis, axis).add(op_attr::OutDtype, to);
  return m.emit(op, {x.var, scale.var, zero.var}, attrs, {to.is_int() ? Range{-128, 127} : Range{0, 255}, true, 0})
      .has_value();
}

bool dequantise(Maker& m, const ops::OpInfo& op) {
  const auto narrow = [](const Known& v) { return v.dtype().bits == 8 || v.dtype() == DType::Int(32); };
  const Known x = m.operand({Kind::Int, 1, 4, Range{-128, 255}, true, narrow});
  const std::int64_t axis = m.axis_of(x.ndim());
  const Known scale = m.of({length(x, axis)}, DType::Float(32), {0.1, 1});
  const Known zero = m.of({length(x, axis)}, DType::Int(8), {-3, 9});
  Attributes attrs(m, op);
  attrs.add(op_attr::Axis, axis).add(op_attr::OutDtype, DType::Float(32));
  return m.emit(op, {x.var, scale.var, zero.var}, attrs, {{-300, 300}, false, 260 * scale.error}).has_value();
}

// Parameters in the order in which the axes are given.
bool axes_norm(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 1, 4, Range{-50, 50}});
  const std::vector<std::int64_t> axes = m.axes_of(x.ndim());
  Dims dims;
  double n = 1;
  for (std::int64_t a : axes) {
    dims.push_back(length(x, a));
    n *= double(most_of(dims.back()));
  }
  const Known gamma = m.of(dims, x.dtype(), {-2, 2});
  Attributes attrs(m, op);
  attrs.add(op_attr::Axes, axes).add(op_attr::Epsilon, 0.01);
  const double most = 2 * std::sqrt(n);
  const double error = kNormSlope * (x.error + rounding_of(x.dtype()) * x.range.largest()) + most * gamma.error;
  if (op.name == op::NnRmsNorm) return m.emit(op, {x.var, gamma.var}, attrs, {{-most, most}, false, error}).has_value();
  const Known beta = m.of(dims, x.dtype(), {-2, 2});
  return m.emit(op, {x.var, gamma.var, beta.var}, attrs, {{-most - 2, most + 2}, false, error + beta.error})
      .has_value();
}

bool channel_norm(Maker& m, const ops::OpInfo& op) {
  const bool groups = op.name == op::NnGroupNorm;
  const Known x = m.operand({Kind::Float, 2, 4, Range{-50, 50}});
  const int channel = int(m.random.below(std::size_t(x.ndim())));
  const auto channels = ir::const_int(x.dim(channel));
  std::vector<std::int64_t> axes;
  for (std::int64_t a : m.axes_of(x.ndim()))
    if ((a + x.ndim()) % x.ndim() != channel) axes.push_back(a);
  if (axes.empty() || (groups && !channels)) return false;
  const Known gamma = m.of({x.dim(channel)}, x.dtype(), {-2, 2}), beta = m.of({x.dim(channel)}, x.dtype(), {-2, 2});
  Attributes attrs(m, op);
  attrs.add(op_attr::ChannelAxis, m.either(channel, x.ndim())).add(op_attr::Axes, axes).add(op_attr::Epsilon, 0.01);
  if (groups) attrs.add(op_attr::NumGroups, *channels % 2 == 0 && m.flip() ? std::int64_t(2) : std::int64_t(1));
  const double most = 2 + 2 * std::sqrt(double(std::max<std::int64_t>(1, most_elements(x.type))));
  const double error = kNormSlope * (x.error + rounding_of(x.dtype()) * x.range.largest()) + most * gamma.error;
  return m.emit(op, {x.var, gamma.var, beta.var}, attrs, {{-most, most}, false, error + beta.error}).has_value();
}

bool batch_norm(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 2, 4, Range{-20, 20}});
  const std::int64_t axis = m.axis_of(x.ndim());
  const Dims dims{length(x, axis)};
  const Known gamma = m.of(dims, x.dtype(), {-2, 2}), beta = m.of(dims, x.dtype(), {-2, 2});
  const Known mean = m.of(dims, x.dtype(), {-2, 2}), variance = m.of(dims, x.dtype(), {0.5, 2});
  Attributes attrs(m, op);
  attrs.add(op_attr::Axis, axis).add(op_attr::Training, m.random.one_in(3)).add(op_attr::Epsilon, 0.01);
  const double error = kNormSlope * (x.error + gamma.error + beta.error + mean.error + variance.error +
                                     rounding_of(x.dtype()) * x.range.largest());
  return m.emit(op, {x.var, gamma.var, beta.var, mean.var, variance.var}, attrs, {{-400, 400}, false, error})
      .has_value();
}

bool attention(Maker& m, const ops::OpInfo& op) {
  const DType t = DType::Float(32);
  const ir::Expr *batch = m.dim(), *heads = m.ctx.i64(1 + std::int64_t(m.random.below(2)));
  const ir::Expr *queries = m.ctx.i64(m.size()), *keys = m.flip() ? queries : m.ctx.i64(m.size());
  const ir::Expr *width = m.ctx.i64(4), *out = m.flip() ? width : m.ctx.i64(3);
  if (most_of(queries) * most_of(keys) > 600) return false;
  const Known q = m.of({batch, queries, heads, width}, t, {-3, 3}), k = m.of({batch, keys, heads, width}, t, {-3, 3});
  const Known v = m.of({batch, keys, heads, out}, t, {-5, 5});
  std::vector<const ir::Expr*> args{q.var, k.var, v.var};
  double error = v.error + 60 * (q.error + k.error);
  if (op.name == op::NnAttentionBias || m.random.one_in(3)) {
    const Known bias = m.of({batch, heads, queries, keys}, t, {-3, 3});
    args.push_back(bias.var);
    error += 10 * bias.error;
  }
  Attributes attrs(m, op);
  if (m.random.one_in(3)) attrs.add(op_attr::CausalMask, m.flip() ? "TopLeft" : "BottomRight");
  return m.emit(op, std::span<const ir::Expr* const>(args), attrs, {v.range.hull(), false, error + 1e-6}).has_value();
}

bool cross_entropy(Maker& m, const ops::OpInfo& op) {
  const Known a = m.operand({Kind::Float, 1, 2, Range{-5, 5}});
  const Known b = m.of(dims_of(a.type), a.dtype(), {-5, 5});
  return m.emit(op, {a.var, b.var}, {}, of_products(a, b, double(std::max<std::int64_t>(1, most_elements(a.type)))))
      .has_value();
}

bool nll_loss(Maker& m, const ops::OpInfo& op) {
  const auto has_classes = [](const Known& v) { return ir::const_int(v.dim(v.ndim() == 1 ? 0 : 1)).has_value(); };
  const Known x = m.operand({Kind::Float, 1, 3, Range{-20, 20}, false, has_classes});
  const int at = x.ndim() == 1 ? 0 : 1;
  const std::int64_t classes = *ir::const_int(x.dim(at));
  Dims dims = dims_of(x.type);
  dims.erase(dims.begin() + at);
  const Known targets = m.of(dims, m.flip() ? DType::Int(32) : DType::Int(64), {0, double(classes - 1)});
  std::vector<const ir::Expr*> args{x.var, targets.var};
  if (m.flip()) args.push_back(m.of({m.ctx.i64(classes)}, x.dtype(), {0.25, 2}).var);
  Attributes attrs(m, op);
  attrs.add(op_attr::Reduction, m.one_of(std::vector<const char*>{"mean", "sum", "none"}));
  const double n = double(std::max<std::int64_t>(1, most_elements(x.type)));
  return m
      .emit(op, std::span<const ir::Expr* const>(args), attrs,
            {times(x.range.hull(), 2 * n), false, 8 * n * (x.error + rounding_of(x.dtype()) * 20)})
      .has_value();
}

}  // namespace rldb::repro::solver
