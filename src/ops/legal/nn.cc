// Legalisation: activations, normalisation, losses, attention, quantisation.
#include <cmath>

#include "ops/legal/util.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/intrinsic/trigonometry.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"

namespace rldb::ops::legal {

using ir::BinaryKind;

namespace {

Tensor gelu_of(Topi& t, Tensor x) {
  DType d = x->dtype;
  Tensor scaled = t.multiply(x, t.lit(d, std::sqrt(0.5)));
  Tensor half = t.multiply(t.erf(scaled), t.lit(d, 0.5));
  return t.multiply(x, t.add(t.lit(d, 0.5), half));
}

Tensor gelu_tanh_of(Topi& t, Tensor x) {
  DType d = x->dtype;
  Tensor half = t.multiply(t.lit(d, 0.5), x);
  Tensor scaled = t.multiply(t.lit(d, std::sqrt(2.0 / 3.14159265358979323846)), x);
  Tensor cubic = t.multiply(t.multiply(t.lit(d, 0.044715), x), x);
  Tensor inner = t.multiply(scaled, t.add(t.lit(d, 1), cubic));
  return t.multiply(half, t.add(t.lit(d, 1), t.unary(ir::intrin::Tanh, inner)));
}

// scale * (max(0, x) + min(0, alpha * (exp(x) - 1))), a stage for each operator.
Tensor selu_of(Topi& t, Tensor x) {
  DType d = x->dtype;
  Tensor above = t.binary(short_op::Maximum, topi::plain_element<BinaryKind::Max>, x, t.lit(d, 0));
  Tensor grown = t.multiply(t.lit(d, 1.6732632423543772), t.subtract(t.unary(ir::intrin::Exp, x), t.lit(d, 1)));
  Tensor below = t.binary(short_op::Minimum, topi::plain_element<BinaryKind::Min>, t.lit(d, 0), grown);
  return t.multiply(t.lit(d, 1.0507009873554805), t.add(above, below));
}

}  // namespace

Tensor softmax_of(Topi& t, Tensor x, int axis, bool log) {
  te::Graph& g = t.g;
  std::size_t a = std::size_t(axis);
  ExprList outer = topi::shape_list(x);
  outer.erase(outer.begin() + axis);
  auto with = [a](Indices i, const Expr* k) {
    ExprList idx = topi::vars(i);
    idx.insert(idx.begin() + std::ptrdiff_t(a), k);
    return idx;
  };
  auto without = [a](Indices i) {
    ExprList idx = topi::vars(i);
    idx.erase(idx.begin() + std::ptrdiff_t(a));
    return idx;
  };
  auto load = [&](Tensor v, const ExprList& idx) { return g.load(v, std::span<const Expr* const>(idx)); };
  ir::IterVar k1[] = {g.reduce_axis(x->shape[a], "k")};
  Tensor top = g.reduce(
      outer, [&](Indices i) { return load(x, with(i, k1[0].var)); }, k1, g.max_reducer(x->dtype), "T_softmax_maxelem");
  ir::IterVar k2[] = {g.reduce_axis(x->shape[a], "k")};
  ir::NamedAttr attrs[] = {t.ctx.named(op_attr::Axis, t.ctx.attr(axis))};
  auto shifted = [&](const ExprList& at, const ExprList& row) -> const Expr* {
    return t.ctx.binary(BinaryKind::Sub, load(x, at), load(top, row));
  };
  if (log) {
    Tensor total = g.reduce(
        outer, [&](Indices i) { return t.intrin(ir::intrin::Exp, shifted(with(i, k2[0].var), topi::vars(i))); }, k2,
        g.sum_reducer(x->dtype), "compute");
    return g.compute(
        x->shape,
        [&](Indices i) -> const Expr* {
          return t.ctx.binary(BinaryKind::Sub, shifted(topi::vars(i), without(i)),
                              t.intrin(ir::intrin::Log, load(total, without(i))));
        },
        "compute", attrs);
  }
  Tensor e = g.compute(
      x->shape, [&](Indices i) { return t.intrin(ir::intrin::Exp, shifted(topi::vars(i), without(i))); },
      "T_softmax_exp");
  Tensor total = g.reduce(
      outer, [&](Indices i) { return load(e, with(i, k2[0].var)); }, k2, g.sum_reducer(x->dtype), "T_softmax_expsum");
  return g.compute(
      x->shape,
      [&](Indices i) -> const Expr* { return t.ctx.binary(BinaryKind::Div, g.load(e, i), load(total, without(i))); },
      "T_softmax_norm", attrs);
}

namespace {

using Activation = Tensor (*)(Topi& t, Tensor x);

Result<const Expr*> activation(Legalizer& l, const ir::Call* c, Activation body) {
  return l.call_te(op_name(c), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {body(t, te.in[0])};
  });
}

}  // namespace

Result<const Expr*> relu(Legalizer& l, const ir::Call* c) {
  return activation(l, c, [](Topi& t, Tensor x) {
    return t.map(x, [&](const Expr* e) -> const Expr* { return t.ctx.binary(BinaryKind::Max, e, t.lit(x->dtype, 0)); });
  });
}

Result<const Expr*> relu6(Legalizer& l, const ir::Call* c) {
  return activation(l, c, [](Topi& t, Tensor x) {
    return t.map(x, [&](const Expr* e) -> const Expr* {
      return t.ctx.binary(BinaryKind::Max, t.ctx.binary(BinaryKind::Min, e, t.lit(x->dtype, 6)), t.lit(x->dtype, 0));
    });
  });
}

Result<const Expr*> gelu(Legalizer& l, const ir::Call* c) { return activation(l, c, gelu_of); }
Result<const Expr*> gelu_tanh(Legalizer& l, const ir::Call* c) { return activation(l, c, gelu_tanh_of); }
Result<const Expr*> selu(Legalizer& l, const ir::Call* c) { return activation(l, c, selu_of); }
Result<const Expr*> silu(Legalizer& l, const ir::Call* c) {
  return activation(l, c, [](Topi& t, Tensor x) { return t.multiply(x, t.unary(ir::intrin::Sigmoid, x)); });
}

Result<const Expr*> leakyrelu(Legalizer& l, const ir::Call* c) {
  double alpha = attr_float(spec(c), op_attr::Alpha);
  return l.call_te("leaky_relu", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    DType d = te.in[0]->dtype;
    return {t.map(te.in[0], [&](const Expr* e) -> const Expr* {
      return te.ctx.select(t.lt(t.lit(d, 0), e), e, te.ctx.binary(BinaryKind::Mul, e, t.lit(d, alpha)));
    })};
  });
}

Result<const Expr*> prelu(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY(const TensorType* alpha, known_arg(c, 1));
  std::size_t axis = std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  if (alpha->ndim != 1) return refuse(c, "the slopes must be 1-dimensional");
  return l.call_te("prelu", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor in = te.in[0];
    Tensor slope = te.in[1];
    if (is_one(slope->shape[0]) && !is_one(in->shape[axis]))
      slope = te.graph.compute(
          std::vector<const Expr*>{in->shape[axis]}, [&](Indices) { return te.graph.load(te.in[1], {t.i64(0)}); },
          "slope_broadcasted");
    return {te.graph.compute(in->shape, [&](Indices i) -> const Expr* {
      const Expr* e = te.graph.load(in, i);
      return te.ctx.select(t.lt(t.lit(in->dtype, 0), e), e,
                           te.ctx.binary(BinaryKind::Mul, e, te.graph.load(slope, {i[axis]})));
    })};
  });
}

Result<const Expr*> softplus(Legalizer& l, const ir::Call* c) {
  double beta = attr_float(spec(c), op_attr::Beta);
  double threshold = attr_float(spec(c), op_attr::Threshold);
  return l.call_te("softplus", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    DType d = te.in[0]->dtype;
    return {t.map(te.in[0], [&](const Expr* e) -> const Expr* {
      const Expr* be = ir::mul(te.ctx, t.lit(d, beta), e);
      const Expr* log =
          t.intrin(ir::intrin::Log, te.ctx.binary(BinaryKind::Add, t.lit(d, 1), t.intrin(ir::intrin::Exp, be)));
      const Expr* soft = ir::mul(te.ctx, t.lit(d, 1 / beta), log);
      return te.ctx.select(t.lt(t.lit(d, threshold), be), e, soft);
    })};
  });
}

static Result<const Expr*> softmax_with(Legalizer& l, const ir::Call* c, bool log) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  int axis = axis_of(attr_int(spec(c), op_attr::Axis), x->ndim);
  return l.call_te(op_name(c), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {softmax_of(t, te.in[0], axis, log)};
  });
}

Result<const Expr*> softmax(Legalizer& l, const ir::Call* c) { return softmax_with(l, c, false); }
Result<const Expr*> log_softmax(Legalizer& l, const ir::Call* c) { return softmax_with(l, c, true); }

// ---- normalisation ----

namespace {

const Expr* extent_product(Topi& t, Tensor x, const std::vector<int>& axes, DType d) {
  const Expr* n = t.lit(d, 1);
  for (int a : axes) n = ir::mul(t.ctx, n, ir::cast_to(t.ctx, d, x->shape[std::size_t(a)]));
  return n;
}

// e * gamma + beta. As in TVM, `e` is first rounded to the dtype of the result.
const Expr* rounded_and_scaled(Topi& t, const Expr* e, DType out, Tensor gamma, Tensor beta, const ExprList& at) {
  e = ir::cast_to(t.ctx, out, e);
  const auto param = [&](Tensor p) { return ir::cast_to(t.ctx, out, t.g.load(p, std::span<const Expr* const>(at))); };
  if (gamma) e = t.ctx.binary(BinaryKind::Mul, e, param(gamma));
  if (beta) e = t.ctx.binary(BinaryKind::Add, e, param(beta));
  return e;
}

// Sums of half precision numbers are in float32.
DType sum_dtype(Tensor x) {
  return x->dtype == DType::Float(16) || x->dtype.is_bfloat16() ? DType::Float(32) : x->dtype;
}

// (x - mean) * rsqrt(var + epsilon) over `axes`, scaled by gamma and beta, indexed through `param_index`.
Tensor normalised(Topi& t, Tensor x, Tensor gamma, Tensor beta, const std::vector<int>& axes, double epsilon,
                  std::string_view name, const std::function<ExprList(Indices)>& param_index) {
  te::Graph& g = t.g;
  DType d = sum_dtype(x);
  std::vector<bool> reduced(x->shape.size(), false);
  for (int a : axes) reduced[std::size_t(a)] = true;
  ExprList outer;
  for (std::size_t i = 0; i < reduced.size(); ++i)
    if (!reduced[i]) outer.push_back(x->shape[i]);
  auto in = [&](const ExprList& idx) { return ir::cast_to(t.ctx, d, g.load(x, std::span<const Expr* const>(idx))); };
  auto fresh_axes = [&]() {
    std::vector<ir::IterVar> ks;
    for (std::size_t i = 0; i < reduced.size(); ++i)
      if (reduced[i]) ks.push_back(g.reduce_axis(x->shape[i], "k" + std::to_string(i)));
    return ks;
  };
  auto full_index = [&](Indices i, const std::vector<ir::IterVar>& ks) {
    ExprList idx;
    std::size_t o = 0;
    std::size_t k = 0;
    for (bool r : reduced) idx.push_back(r ? static_cast<const Expr*>(ks[k++].var) : i[o++]);
    return idx;
  };
  auto row = [&](Indices i) {
    ExprList idx;
    for (std::size_t k = 0; k < reduced.size(); ++k)
      if (!reduced[k]) idx.push_back(i[k]);
    return idx;
  };
  auto ks = fresh_axes();
  std::string base(x->name);
  Tensor sum = g.reduce(
      outer, [&](Indices i) { return in(full_index(i, ks)); }, ks, g.sum_reducer(d), base + "_sum");
  Tensor mean = g.compute(
      outer, [&](Indices i) { return ir::div(t.ctx, g.load(sum, i), extent_product(t, x, axes, d)); }, base + "_mean");
  auto ks2 = fresh_axes();
  Tensor var = g.reduce(
      outer,
      [&](Indices i) -> const Expr* {
        const Expr* diff = t.ctx.binary(BinaryKind::Sub, in(full_index(i, ks2)), g.load(mean, i));
        return t.ctx.binary(BinaryKind::Mul, diff, diff);
      },
      ks2, g.sum_reducer(d), base + "_var_sum");
  return g.compute(
      x->shape,
      [&](Indices i) -> const Expr* {
        ExprList at_row = row(i);
        const Expr* diff =
            t.ctx.binary(BinaryKind::Sub, in(topi::vars(i)), g.load(mean, std::span<const Expr* const>(at_row)));
        const Expr* v =
            ir::div(t.ctx, g.load(var, std::span<const Expr* const>(at_row)), extent_product(t, x, axes, d));
        const Expr* e = t.ctx.binary(BinaryKind::Mul, diff,
                                     t.intrin(ir::intrin::Rsqrt, t.ctx.binary(BinaryKind::Add, v, t.lit(d, epsilon))));
        return rounded_and_scaled(t, e, x->dtype, gamma, beta, param_index(i));
      },
      name);
}

// As `normalised`, in one pass: the variance is the mean of the squares minus the square of the mean.
// The result has dtype `out`.
Tensor normalised_at_once(Topi& t, Tensor x, DType out, std::string_view base, Tensor gamma, Tensor beta,
                          const std::vector<int>& axes, double epsilon, std::string_view stage,
                          const std::function<ExprList(Indices)>& param_index) {
  te::Graph& g = t.g;
  DType d = sum_dtype(x);
  std::vector<int> axis_at(x->shape.size(), -1);
  ExprList outer;
  std::vector<ir::IterVar> ks;
  for (std::size_t i = 0; i < axis_at.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), int(i)) == axes.end()) {
      outer.push_back(x->shape[i]);
    } else {
      axis_at[i] = int(ks.size());
      ks.push_back(g.reduce_axis(x->shape[i], "k" + std::to_string(i)));
    }
  }
  auto load_as = [&](Tensor v, const ExprList& idx) {
    return ir::cast_to(t.ctx, d, g.load(v, std::span<const Expr* const>(idx)));
  };
  const std::string name = std::string(base) + "_red_temp";
  const std::string names[] = {name, name + "_v0", name + "_v1"};
  const std::string_view views[] = {names[1], names[2]};
  const ir::Var* vars[4];
  for (int i = 0; i < 4; ++i) vars[i] = t.ctx.var(i < 2 ? "x" : "y", t.ctx.prim(d));
  const Expr* sums[] = {t.ctx.binary(BinaryKind::Add, vars[0], vars[2]),
                        t.ctx.binary(BinaryKind::Add, vars[1], vars[3])};
  const Expr* zeros[] = {t.lit(d, 0), t.lit(d, 0)};
  const ir::CommReducer* both = t.ctx.comm_reducer(std::span(vars, 2), std::span(vars + 2, 2), sums, zeros);
  std::vector<Tensor> totals = g.reduce_multi(
      outer,
      [&](Indices i) -> std::vector<const Expr*> {
        ExprList idx;
        std::size_t next = 0;
        for (int a : axis_at) idx.push_back(a >= 0 ? ks[std::size_t(a)].var : i[next++]);
        const Expr* e = load_as(x, idx);
        return {e, t.ctx.binary(BinaryKind::Mul, e, load_as(x, idx))};
      },
      ks, both, views);
  return g.compute(
      x->shape,
      [&](Indices i) -> const Expr* {
        ExprList row;
        for (std::size_t k = 0; k < axis_at.size(); ++k)
          if (axis_at[k] < 0) row.push_back(i[k]);
        const Expr* n = extent_product(t, x, axes, d);
        auto mean_of = [&](Tensor total) {
          return t.ctx.binary(BinaryKind::Div, g.load(total, std::span<const Expr* const>(row)), n);
        };
        const Expr* mean = mean_of(totals[0]);
        const Expr* variance =
            t.ctx.binary(BinaryKind::Sub, mean_of(totals[1]), t.ctx.binary(BinaryKind::Mul, mean, mean));
        const Expr* e =
            t.ctx.binary(BinaryKind::Mul, t.ctx.binary(BinaryKind::Sub, load_as(x, topi::vars(i)), mean),
                         t.intrin(ir::intrin::Rsqrt, t.ctx.binary(BinaryKind::Add, variance, t.lit(d, epsilon))));
        return rounded_and_scaled(t, e, out, gamma, beta, param_index(i));
      },
      stage);
}

}  // namespace

Result<const Expr*> layer_norm(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  auto axes = axes_of(*attr_ints(spec(c), op_attr::Axes), x->ndim);
  double epsilon = attr_float(spec(c), op_attr::Epsilon);
  bool center = attr_bool(spec(c), op_attr::Center);
  bool scale = attr_bool(spec(c), op_attr::Scale);
  return l.call_te("layer_norm", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {normalised(t, te.in[0], scale ? te.in[1] : nullptr, center ? te.in[2] : nullptr, axes, epsilon,
                       "T_layer_norm", [&](Indices i) {
                         ExprList p;
                         for (int a : axes) p.push_back(i[std::size_t(a)]);
                         return p;
                       })};
  });
}

Result<const Expr*> instance_norm(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  auto axes = axes_of(*attr_ints(spec(c), op_attr::Axes), x->ndim);
  std::size_t channel = std::size_t(axis_of(attr_int(spec(c), op_attr::ChannelAxis), x->ndim));
  double epsilon = attr_float(spec(c), op_attr::Epsilon);
  bool center = attr_bool(spec(c), op_attr::Center);
  bool scale = attr_bool(spec(c), op_attr::Scale);
  return l.call_te("instance_norm", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    const Tensor in = te.in[0];
    return {normalised_at_once(t, in, in->dtype, in->name, scale ? te.in[1] : nullptr, center ? te.in[2] : nullptr,
                               axes, epsilon, "T_instance_norm", [&](Indices i) { return ExprList{i[channel]}; })};
  });
}

// The channel axis is split into (groups, channels per group); the second part is normalised with the other axes.
Result<const Expr*> group_norm(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  auto axes = axes_of(*attr_ints(spec(c), op_attr::Axes), x->ndim);
  int channel = axis_of(attr_int(spec(c), op_attr::ChannelAxis), x->ndim);
  std::int64_t groups = attr_int(spec(c), op_attr::NumGroups);
  double epsilon = attr_float(spec(c), op_attr::Epsilon);
  bool center = attr_bool(spec(c), op_attr::Center);
  bool scale = attr_bool(spec(c), op_attr::Scale);
  return l.call_te("group_norm", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor in = te.in[0];
    const Expr* per_group = ir::floor_div(te.ctx, in->shape[std::size_t(channel)], t.i64(groups));
    ExprList split = topi::shape_list(in);
    split[std::size_t(channel)] = t.i64(groups);
    split.insert(split.begin() + channel + 1, per_group);
    Tensor wide = t.reshape(in, split);
    if (sum_dtype(in) != in->dtype) wide = t.cast(wide, sum_dtype(in));
    std::vector<int> wide_axes{channel + 1};
    for (int a : axes) wide_axes.push_back(a > channel ? a + 1 : a);
    auto params = [&](Tensor p) { return t.reshape(p, {t.i64(groups), per_group}); };
    const auto group_of = [&](Indices i) { return ExprList{i[std::size_t(channel)], i[std::size_t(channel) + 1]}; };
    Tensor out = normalised_at_once(t, wide, in->dtype, in->name, scale ? params(te.in[1]) : nullptr,
                                    center ? params(te.in[2]) : nullptr, wide_axes, epsilon, "T_group_norm", group_of);
    return {t.reshape(out, topi::shape_list(in))};
  });
}

Result<const Expr*> rms_norm(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  auto axes = axes_of(*attr_ints(spec(c), op_attr::Axes), x->ndim);
  double epsilon = attr_float(spec(c), op_attr::Epsilon);
  return l.call_te("rms_norm", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    te::Graph& g = te.graph;
    DType d = DType::Float(32);
    auto plain_cast = [&](Tensor v) {
      return g.compute(
          v->shape, [&](Indices i) { return ir::cast_to(te.ctx, d, g.load(v, i)); }, "T_cast");
    };
    Tensor in = plain_cast(te.in[0]);
    Tensor total = t.sum(t.multiply(in, in), axes, false);
    Tensor r = g.compute(
        total->shape,
        [&](Indices i) -> const Expr* {
          return t.intrin(
              ir::intrin::Rsqrt,
              ir::add(te.ctx, ir::div(te.ctx, g.load(total, i), extent_product(t, in, axes, d)), t.lit(d, epsilon)));
        },
        "rsqrt");
    Tensor weight = plain_cast(te.in[1]);
    Tensor out = g.compute(
        in->shape,
        [&](Indices i) -> const Expr* {
          ExprList row;
          ExprList p;
          for (std::size_t k = 0; k < i.size(); ++k)
            if (std::find(axes.begin(), axes.end(), int(k)) == axes.end()) row.push_back(i[k]);
          for (int a : axes) p.push_back(i[std::size_t(a)]);
          const Expr* e = te.ctx.binary(BinaryKind::Mul, g.load(r, std::span<const Expr* const>(row)), g.load(in, i));
          return te.ctx.binary(BinaryKind::Mul, e, g.load(weight, std::span<const Expr* const>(p)));
        },
        "T_rms_norm");
    return {t.cast(out, te.in[0]->dtype)};
  });
}

Result<const Expr*> batch_norm(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  int axis = axis_of(attr_int(spec(c), op_attr::Axis), x->ndim);
  double epsilon = attr_float(spec(c), op_attr::Epsilon);
  double momentum = attr_float(spec(c), op_attr::Momentum);
  bool training = attr_bool(spec(c), op_attr::Training);
  bool center = attr_bool(spec(c), op_attr::Center);
  bool scale = attr_bool(spec(c), op_attr::Scale);
  return l.call_te("batch_norm", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor in = te.in[0];
    DType d = in->dtype;
    ExprList wide(in->shape.size(), t.i64(1));
    wide[std::size_t(axis)] = in->shape[std::size_t(axis)];
    std::vector<int> axes;
    for (int i = 0; i < in->ndim(); ++i)
      if (i != axis) axes.push_back(i);
    Tensor mean = te.in[3];
    Tensor var = te.in[4];
    Tensor mean_wide = nullptr;
    auto centred = [&]() { return t.subtract(in, mean_wide); };
    if (training) {
      const Expr* n = ir::cast_to(te.ctx, d, t.count(in, axes));
      mean = t.divide(t.sum(in, axes, false), n);
      mean_wide = t.reshape(mean, wide);
      Tensor a = centred();
      Tensor b = centred();
      var = t.divide(t.sum(t.multiply(a, b), axes, false), n);
    } else {
      mean_wide = t.reshape(mean, wide);
    }
    Tensor deviation = t.unary(ir::intrin::Sqrt, t.add(t.reshape(var, wide), t.lit(d, epsilon)));
    Tensor out = t.divide(centred(), deviation);
    if (scale) out = t.multiply(out, t.reshape(te.in[1], wide));
    if (center) out = t.add(out, t.reshape(te.in[2], wide));
    if (!training) return {out, te.in[3], te.in[4]};
    auto blend = [&](Tensor old_value, Tensor now) {
      return t.add(t.multiply(t.lit(d, 1 - momentum), old_value), t.multiply(t.lit(d, momentum), now));
    };
    return {out, blend(te.in[3], mean), blend(te.in[4], var)};
  });
}

// ---- losses ----

Result<const Expr*> cross_entropy(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  return l.call_te("cross_entropy_with_logits", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor total = t.sum(t.multiply(te.in[0], te.in[1]), topi::all_axes(x->ndim), false);
    Tensor negative = t.multiply(total, t.lit(x->dtype, -1));
    if (x->ndim < 2) return {negative};
    return {t.divide(negative, ir::cast_to(te.ctx, x->dtype, te.in[0]->shape[0]))};
  });
}

namespace {
// Index of the class axis of predictions, for the indices of the targets.
ExprList at_class(Indices i, bool batched, const Expr* which) {
  ExprList idx;
  if (batched) idx.push_back(i[0]);
  idx.push_back(which);
  for (std::size_t k = batched ? 1 : 0; k < i.size(); ++k) idx.push_back(i[k]);
  return idx;
}
}  // namespace

Result<const Expr*> nll_loss(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* p, known_arg(c, 0));
  std::string_view reduction = attr_string(spec(c), op_attr::Reduction);
  std::int64_t ignore = attr_int(spec(c), op_attr::IgnoreIndex);
  bool weighted = c->args.size() > 2;
  return l.call_te(weighted ? "nll_loss" : "nll_loss_without_weight", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    te::Graph& g = te.graph;
    Tensor pred = te.in[0];
    Tensor target = te.in[1];
    DType d = pred->dtype;
    bool batched = p->ndim > 1;
    Tensor weight = weighted ? te.in[2] : t.full({pred->shape[batched ? 1 : 0]}, t.lit(d, 1));
    auto kept = [&](Indices i) { return t.ne(g.load(target, i), te.ctx.int_imm(target->dtype, ignore)); };
    Tensor loss = g.compute(
        target->shape,
        [&](Indices i) -> const Expr* {
          const Expr* which = g.load(target, i);
          ExprList at = at_class(i, batched, which);
          const Expr* negative =
              te.ctx.binary(BinaryKind::Sub, t.lit(d, 0), g.load(pred, std::span<const Expr* const>(at)));
          return te.ctx.select(kept(i), te.ctx.binary(BinaryKind::Mul, negative, g.load(weight, {which})), t.lit(d, 0));
        },
        "nll_loss");
    if (reduction == "none") return {loss};
    Tensor total = t.sum(loss, topi::all_axes(target->ndim()), false);
    if (reduction == "sum") return {total};
    Tensor weights = g.compute(
        target->shape,
        [&](Indices i) -> const Expr* {
          return te.ctx.select(kept(i), g.load(weight, {g.load(target, i)}), t.lit(d, 0));
        },
        "nll_loss");
    return {t.divide(total, t.sum(weights, topi::all_axes(target->ndim()), false))};
  });
}

Result<const Expr*> nll_loss_backward(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* p, known_arg(c, 1));
  RLDB_TRY(const TensorType* target_type, known_arg(c, 2));
  std::string_view reduction = attr_string(spec(c), op_attr::Reduction);
  std::int64_t ignore = attr_int(spec(c), op_attr::IgnoreIndex);
  bool weighted = c->args.size() > 3;
  return l.call_te(
      weighted ? "nll_loss_backward" : "te_nll_loss_backward_no_weight", c->args, c->type, [&](Te& te) -> Tensors {
        Topi t(te);
        te::Graph& g = te.graph;
        Tensor grad = te.in[0];
        Tensor pred = te.in[1];
        Tensor target = te.in[2];
        DType d = pred->dtype;
        bool batched = p->ndim > 1;
        Tensor weight = weighted ? te.in[3] : t.full({pred->shape[batched ? 1 : 0]}, t.lit(d, 1));
        // The weight of the ignored class is zero. A negative index ignores nothing, as in TVM.
        const auto classes = ir::const_int(weight->shape[0]);
        const bool is_class = ignore >= 0 && classes && ignore < *classes;
        if (is_class)
          weight = g.compute(
              weight->shape,
              [&, given = weight](Indices i) {
                return te.ctx.select(t.eq(i[0], t.i64(ignore)), t.lit(d, 0), g.load(given, i));
              },
              "weights_new");
        // Targets that are no class may still be ignored.
        Tensor weights = g.compute(
            target->shape,
            [&](Indices i) -> const Expr* {
              const Expr* which = g.load(target, i);
              const Expr* w = g.load(weight, {which});
              if (ignore < 0 || is_class) return w;
              return te.ctx.select(t.ne(which, te.ctx.int_imm(target->dtype, ignore)), w, t.lit(d, 0));
            },
            "all_weights");
        Tensor out_grad = grad;
        if (reduction != "none") {
          out_grad = g.compute(
              target->shape, [&](Indices i) { return t.at(grad, topi::vars(i), target->shape); }, "T_broadcast_to");
          if (reduction == "mean")
            out_grad = t.divide(out_grad, t.sum(weights, topi::all_axes(target_type->ndim), false));
        }
        return {g.compute(
            pred->shape,
            [&](Indices i) -> const Expr* {
              std::size_t class_axis = batched ? 1 : 0;
              ExprList at = topi::vars(i);
              at.erase(at.begin() + std::ptrdiff_t(class_axis));
              auto load = [&](Tensor v) { return g.load(v, std::span<const Expr* const>(at)); };
              const Expr* which = load(target);
              const Expr* on = t.eq(ir::cast_to(te.ctx, which->dtype(), i[class_axis]), which);
              const Expr* value = te.ctx.binary(
                  BinaryKind::Mul, te.ctx.binary(BinaryKind::Mul, load(weights), t.lit(d, -1)), load(out_grad));
              return te.ctx.select(on, value, t.lit(d, 0));
            },
            "pred_grad")};
      });
}

// ---- attention ----

namespace {

// Heads of keys or values that are shared by several heads of queries, repeated for each of them.
Tensor every_head(Topi& t, Tensor x, const Expr* heads) {
  if (!different_dim(t.ctx, x->shape[2], heads)) return x;
  const Expr* sharing = simplify(t.ctx, ir::floor_div(t.ctx, heads, x->shape[2]));
  return t.g.compute(
      ExprList{x->shape[0], x->shape[1], heads, x->shape[3]},
      [&](Indices i) {
        return t.g.load(x, {i[0], i[1], ir::floor_div(t.ctx, i[2], sharing), i[3]});
      },
      "T_repeat");
}

}  // namespace

Result<const Expr*> attention(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* q, known_arg(c, 0));
  RLDB_TRY_VOID(known_result(c));
  for (std::size_t i = 0; i < c->args.size(); ++i) {
    RLDB_TRY(const TensorType* t, known_arg(c, i));
    if (t->dtype != q->dtype || !t->dtype.is_float()) return refuse(c, "its operands are not floats of one dtype");
    if ((i != 1 && i != 2) || !different_dim(l.context(), t->shape[2], q->shape[2])) continue;
    const auto own = ir::const_int(t->shape[2]), all = ir::const_int(q->shape[2]);
    if (!own || !all || *own == 0 || *all % *own != 0)
      return refuse(c, "the number of query heads is not a multiple of the number of key and value heads");
  }
  const bool windowed = !attr_is_none(spec(c), op_attr::WindowSize);
  const std::int64_t window = windowed ? attr_int(spec(c), op_attr::WindowSize) : 0;
  if (windowed && attr_is_none(spec(c), op_attr::CausalMask))
    return refuse(c, "a window without a causal mask is not lowered");
  if (windowed && window < 1) return refuse(c, "a window has at least one key");
  const ir::Attr* scale = ir::find_attr(c->attrs, op_attr::Scale);
  std::string_view causal =
      attr_is_none(spec(c), op_attr::CausalMask) ? std::string_view() : attr_string(spec(c), op_attr::CausalMask);
  if (!causal.empty() && causal != "TopLeft" && causal != "BottomRight")
    return refuse(
        c, "the causal mask \"" + std::string(causal) + "\" is not lowered; it is \"TopLeft\" or \"BottomRight\"");
  bool biased = c->args.size() > 3;
  return l.call_te(biased ? "attention_bias" : "attention", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor query = te.in[0];
    DType d = query->dtype;
    const Expr* batch = query->shape[0];
    const Expr* seq_q = query->shape[1];
    const Expr* heads = query->shape[2];
    const Expr* dim = query->shape[3];
    const Expr* seq_kv = te.in[1]->shape[1];
    const Expr* rows = simplify(te.ctx, ir::mul(te.ctx, batch, heads));
    // (batch, sequence, heads, size) to (batch * heads, sequence, size).
    auto by_head = [&](Tensor x) {
      return t.reshape(t.transpose(every_head(t, x, heads), {0, 2, 1, 3}), {rows, x->shape[1], x->shape[3]});
    };
    Tensor p = t.batch_matmul(by_head(query), by_head(te.in[1]), true);
    if (auto s = float_of(scale); s && !scale->is(ir::AttrKind::None)) {
      p = t.multiply(p, t.lit(d, *s));
    } else {
      const Expr* root = te.ctx.intrin(d, ir::intrin::Sqrt, {ir::cast_to(te.ctx, d, dim)});
      p = t.divide(p, root);
    }
    if (biased) {
      p = t.reshape(p, {batch, heads, seq_q, seq_kv});
      p = t.add(p, te.in[3]);
      p = t.reshape(p, {rows, seq_q, seq_kv});
    }
    if (causal.empty()) {
      p = softmax_of(t, p, 2, false);
    } else {
      // The distance, whichever sequence is longer, as TVM shifts the diagonal.
      const Expr* offset = t.i64(0);
      if (causal == "BottomRight") {
        offset = simplify(te.ctx, ir::sub(te.ctx, seq_kv, seq_q));
        if (const auto n = ir::const_int(offset))
          offset = t.i64(std::abs(*n));
        else
          offset = te.ctx.binary(BinaryKind::Max, offset, simplify(te.ctx, ir::sub(te.ctx, seq_q, seq_kv)));
      }
      Tensor masked = t.trilu(p, offset, false);
      Tensor top = t.reduce(masked, {2}, true, te.graph.max_reducer(d));
      Tensor e = t.trilu(t.unary(ir::intrin::Exp, t.subtract(masked, top)), offset, false);
      // The last ones of the keys left by the mask.
      if (windowed) e = t.trilu(e, simplify(te.ctx, ir::sub(te.ctx, offset, t.i64(window - 1))), true);
      p = t.divide(e, t.sum(e, {2}, true));
    }
    Tensor r = t.batch_matmul(p, by_head(te.in[2]), false);
    r = t.reshape(r, {batch, heads, seq_q, te.in[2]->shape[3]});
    return {t.transpose(r, {0, 2, 1, 3})};
  });
}

// ---- quantisation ----

namespace {

// scale and zero point: literals when constant scalars, else placeholders indexed by the axis.
struct QuantParam {
  const Expr* literal = nullptr;
  int input = -1;
};

struct QuantCall {
  std::vector<const Expr*> args;
  QuantParam params[2];
};

QuantCall quant_call(Legalizer& l, const ir::Call* c) {
  QuantCall q;
  q.args.push_back(c->args[0]);
  for (int i = 0; i < 2; ++i) {
    q.params[i].literal = scalar_constant(l.context(), c->args[std::size_t(i) + 1]);
    if (q.params[i].literal) continue;
    q.params[i].input = int(q.args.size());
    q.args.push_back(c->args[std::size_t(i) + 1]);
  }
  return q;
}

const Expr* quant_param(Te& te, const QuantParam& p, Indices i, std::size_t axis) {
  if (p.literal) return p.literal;
  Tensor v = te.in[std::size_t(p.input)];
  if (v->ndim() == 0) return te.graph.load(v, std::initializer_list<const Expr*>{});
  return te.graph.load(v, {is_one(v->shape[0]) ? static_cast<const Expr*>(te.ctx.i64(0)) : i[axis]});
}

const Expr* clamp(ir::Context& ctx, const Expr* e, const Expr* low, const Expr* high) {
  return ctx.binary(BinaryKind::Max, ctx.binary(BinaryKind::Min, e, high), low);
}

}  // namespace

Result<const Expr*> quantize(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  std::size_t axis = std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  DType out = attr_dtype(spec(c), op_attr::OutDtype);
  QuantCall q = quant_call(l, c);
  return l.call_te("quantize", q.args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    DType d = x->dtype;
    auto bound = [&](const Expr* e) -> const Expr* {
      if (const auto* f = ir::as<ir::FloatImm>(e)) return t.lit(d, f->value);
      return t.lit(d, double(ir::const_int(e).value_or(0)));
    };
    return {te.graph.compute(
        te.in[0]->shape,
        [&](Indices i) -> const Expr* {
          const Expr* e = te.ctx.binary(BinaryKind::Div, te.graph.load(te.in[0], i),
                                        ir::cast_to(te.ctx, d, quant_param(te, q.params[0], i, axis)));
          e = te.ctx.binary(BinaryKind::Add, t.intrin(ir::intrin::Round, e),
                            ir::cast_to(te.ctx, d, quant_param(te, q.params[1], i, axis)));
          return te.ctx.cast(out,
                             clamp(te.ctx, e, bound(ir::min_value(te.ctx, out)), bound(ir::max_value(te.ctx, out))));
        },
        "quantized")};
  });
}

Result<const Expr*> dequantize(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  std::size_t axis = std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  DType out = attr_dtype(spec(c), op_attr::OutDtype);
  QuantCall q = quant_call(l, c);
  return l.call_te("dequantize", q.args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    DType wide = x->dtype.is_float() ? DType::Float(32) : DType::Int(32);
    return {te.graph.compute(
        te.in[0]->shape,
        [&](Indices i) -> const Expr* {
          const Expr* zero = ir::cast_to(te.ctx, wide, quant_param(te, q.params[1], i, axis));
          const Expr* e = te.ctx.binary(BinaryKind::Sub, ir::cast_to(te.ctx, wide, te.graph.load(te.in[0], i)), zero);
          const Expr* scale = ir::cast_to(te.ctx, DType::Float(32), quant_param(te, q.params[0], i, axis));
          e = te.ctx.binary(BinaryKind::Mul, ir::cast_to(te.ctx, DType::Float(32), e), scale);
          if (out == DType::Float(32)) return e;
          if (out == DType::Float(16))
            e = clamp(te.ctx, e, t.lit(DType::Float(32), -65504), t.lit(DType::Float(32), 65504));
          return te.ctx.cast(out, e);
        },
        "dequantized")};
  });
}

}  // namespace rldb::ops::legal
