// Tensor operations that bodies are built from: elementwise, reductions, shapes, products.
#include "ops/legal/topi.h"

#include <algorithm>

#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/walk.h"

namespace rldb::ops::topi {

using ir::BinaryKind;

std::vector<int> all_axes(int ndim) {
  std::vector<int> out;
  for (int i = 0; i < ndim; ++i) out.push_back(i);
  return out;
}

const Expr* Topi::if_else(const Expr* cond, const Expr* a, const Expr* b) {
  return ctx.intrin(a->dtype(), ir::intrin::IfThenElse, {cond, a, b});
}

const Expr* Topi::all(const ExprList& conditions) {
  const Expr* out = nullptr;
  for (const Expr* c : conditions) out = out ? ir::logical_and(ctx, out, c) : c;
  return out;
}

namespace {
// The dtype in which two operands of different dtypes are compared, as TVM matches them.
DType matched(DType a, DType b) {
  if (a == b) return a;
  if (a.is_float() && b.is_float()) {
    if (a.bits != b.bits) return a.bits > b.bits ? a : b;
    return DType::Float(32);  // float16 and bfloat16: neither contains the other
  }
  if (a.is_float() || b.is_float()) return a.is_float() ? a : b;
  if (a.is_bool() || b.is_bool()) return a.is_bool() ? b : a;
  if (a.bits != b.bits) return a.bits > b.bits ? a : b;
  return a.is_int() ? a : b;
}
}  // namespace

const Expr* add_element(Topi& t, const Expr* a, const Expr* b) {
  return t.ctx.binary(a->dtype().is_bool() ? BinaryKind::Or : BinaryKind::Add, a, b);
}
const Expr* multiply_element(Topi& t, const Expr* a, const Expr* b) {
  return t.ctx.binary(a->dtype().is_bool() ? BinaryKind::And : BinaryKind::Mul, a, b);
}

Tensor Topi::map(Tensor x, const std::function<const Expr*(const Expr*)>& f, std::string_view name) {
  return g.compute(
      x->shape, [&](Indices i) { return f(g.load(x, i)); }, name);
}
Tensor Topi::unary(ir::Intrinsic id, Tensor x) {
  return map(x, [&](const Expr* e) { return intrin(id, e); });
}
Tensor Topi::erf(Tensor x) {
  if (x->dtype != DType::Float(16)) return unary(ir::intrin::Erf, x);
  return cast(unary(ir::intrin::Erf, cast(x, DType::Float(32), "compute")), x->dtype, "compute");
}
Tensor Topi::cast(Tensor x, DType t, std::string_view name) {
  return map(
      x, [&](const Expr* e) { return ir::cast_to(ctx, t, e); }, name);
}

ExprList Topi::broadcast_shape(const std::vector<Tensor>& ts) {
  ExprList out;
  for (Tensor t : ts) {
    ExprList s = shape_list(t);
    while (s.size() < out.size()) s.insert(s.begin(), nullptr);
    while (out.size() < s.size()) out.insert(out.begin(), nullptr);
    for (std::size_t i = 0; i < s.size(); ++i)
      if (!out[i] || (s[i] && is_one(out[i]))) out[i] = s[i];
  }
  return out;
}

const Expr* Topi::at(Tensor t, std::span<const Expr* const> out_indices, std::span<const Expr* const> out_shape) {
  std::size_t extra = out_indices.size() - t->shape.size();
  ExprList indices;
  for (std::size_t i = 0; i < t->shape.size(); ++i) {
    bool repeated = is_one(t->shape[i]) && !is_one(out_shape[extra + i]);
    indices.push_back(repeated ? i64(0) : out_indices[extra + i]);
  }
  return g.load(t, std::span<const Expr* const>(indices));
}

Tensor Topi::binary(std::string_view op, Element element, Operand a, Operand b) {
  std::vector<Tensor> ts;
  for (Tensor t : {a.tensor, b.tensor})
    if (t) ts.push_back(t);
  ExprList shape = broadcast_shape(ts);
  return g.compute(
      shape,
      [&](Indices i) {
        ExprList idx = vars(i);
        const Expr* x = a.tensor ? at(a.tensor, idx, shape) : a.scalar;
        const Expr* y = b.tensor ? at(b.tensor, idx, shape) : b.scalar;
        const DType t = matched(x->dtype(), y->dtype());
        return element(*this, ir::cast_to(ctx, t, x), ir::cast_to(ctx, t, y));
      },
      "T_" + std::string(op));
}

Tensor Topi::add(Operand a, Operand b) { return binary(short_op::Add, add_element, a, b); }
Tensor Topi::multiply(Operand a, Operand b) { return binary(short_op::Multiply, multiply_element, a, b); }
Tensor Topi::subtract(Operand a, Operand b) {
  return binary(
      short_op::Subtract,
      [](Topi& t, const Expr* x, const Expr* y) -> const Expr* { return t.ctx.binary(BinaryKind::Sub, x, y); }, a, b);
}
Tensor Topi::divide(Operand a, Operand b) {
  return binary(
      short_op::Divide,
      [](Topi& t, const Expr* x, const Expr* y) -> const Expr* { return t.ctx.binary(BinaryKind::Div, x, y); }, a, b);
}

// ---- reductions ----

namespace {
struct ReducePlan {
  ExprList shape;
  std::vector<ir::IterVar> axes;
  std::vector<int> axis_of_dim;  // index into axes, or -1
};

ReducePlan plan(Topi& t, Tensor x, const std::vector<int>& axes, bool keepdims) {
  ReducePlan p;
  p.axis_of_dim.assign(x->shape.size(), -1);
  std::vector<int> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (int a : sorted) {
    p.axis_of_dim[std::size_t(a)] = int(p.axes.size());
    p.axes.push_back(t.g.reduce_axis(x->shape[std::size_t(a)], "k" + std::to_string(a)));
  }
  for (std::size_t i = 0; i < x->shape.size(); ++i) {
    if (p.axis_of_dim[i] < 0)
      p.shape.push_back(x->shape[i]);
    else if (keepdims)
      p.shape.push_back(t.i64(1));
  }
  return p;
}

ExprList source_indices(const ReducePlan& p, bool keepdims, Indices out) {
  ExprList idx;
  std::size_t next = 0;
  for (int axis : p.axis_of_dim) {
    if (axis >= 0) {
      idx.push_back(p.axes[std::size_t(axis)].var);
      if (keepdims) ++next;
    } else {
      idx.push_back(out[next++]);
    }
  }
  return idx;
}
}  // namespace

Tensor Topi::reduce(Tensor x, const std::vector<int>& axes, bool keepdims, const ir::CommReducer* r) {
  if (x->shape.empty() || axes.empty()) return x;
  ReducePlan p = plan(*this, x, axes, keepdims);
  return g.reduce(
      p.shape,
      [&](Indices i) {
        ExprList idx = source_indices(p, keepdims, i);
        return g.load(x, std::span<const Expr* const>(idx));
      },
      p.axes, r, std::string(x->name) + "_red");
}

const ir::CommReducer* Topi::arg_reducer(DType t, bool want_max) {
  const ir::Var* li = ctx.var("lhs_idx", ctx.int64());
  const ir::Var* lv = ctx.var("lhs_val", ctx.prim(t));
  const ir::Var* ri = ctx.var("rhs_idx", ctx.int64());
  const ir::Var* rv = ctx.var("rhs_val", ctx.prim(t));
  auto better = [&]() { return want_max ? ctx.binary(BinaryKind::GT, lv, rv) : ctx.binary(BinaryKind::LT, lv, rv); };
  const Expr* tie = ctx.binary(BinaryKind::And, ctx.binary(BinaryKind::EQ, lv, rv), ctx.binary(BinaryKind::LT, li, ri));
  const ir::Var* lhs[] = {li, lv};
  const ir::Var* rhs[] = {ri, rv};
  const Expr* results[] = {ctx.select(ctx.binary(BinaryKind::Or, better(), tie), li, ri), ctx.select(better(), lv, rv)};
  const Expr* identities[] = {i64(-1), want_max ? ir::min_value(ctx, t) : ir::max_value(ctx, t)};
  return ctx.comm_reducer(lhs, rhs, results, identities);
}

Tensor Topi::argreduce(Tensor x, const std::vector<int>& axes, bool keepdims, bool want_max) {
  if (x->shape.empty()) return full({}, i64(0));
  ReducePlan p = plan(*this, x, axes, keepdims);
  const ir::CommReducer* r = arg_reducer(x->dtype, want_max);
  std::string name = std::string(x->name) + "_red";
  std::string temp0 = name + "_temp_v0";
  std::string temp1 = name + "_temp_v1";
  std::string_view names[] = {temp0, temp1};
  auto both = g.reduce_multi(
      p.shape,
      [&](Indices i) {
        ExprList idx = source_indices(p, keepdims, i);
        // The position among the reduced elements, row-major.
        const Expr* place = nullptr;
        for (std::size_t k = 0; k < p.axes.size(); ++k) {
          const Expr* v = p.axes[k].var;
          place = place ? ir::add(ctx, ir::mul(ctx, place, p.axes[k].dom.extent), v) : v;
        }
        return ExprList{place, g.load(x, std::span<const Expr* const>(idx))};
      },
      p.axes, r, names);
  return g.compute(
      p.shape, [&](Indices i) { return g.load(both[0], i); }, name);
}

const Expr* Topi::count(Tensor x, const std::vector<int>& axes) {
  ExprList dims;
  std::vector<int> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (int a : sorted) dims.push_back(x->shape[std::size_t(a)]);
  return ir::product(ctx, dims);
}

// ---- shape ----

namespace {
// The row-major position of an element as a sum of scale * (index % upper // lower), the largest scale first. Divisions
// by literals act on the terms, so that positions end in the same form as with TVM's canonical simplifier:
// reshape's indices compare equal.
struct PlaceTerm {
  const Expr* index;
  std::int64_t scale = 1;
  std::int64_t lower = 1;
};

class Place {
 public:
  explicit Place(ir::Context& ctx) : ctx_(ctx) {}

  static Place ravel(ir::Context& ctx, std::span<const Expr* const> idx, std::span<const Expr* const> shape) {
    Place p(ctx);
    for (std::size_t i = 0; i < idx.size(); ++i) {
      if (i > 0) p.multiply(shape[i]);
      p.terms_.push_back({idx[i]});
    }
    return p;
  }

  const Expr* mod(const Expr* dim) const {
    const auto n = ir::const_int(dim);
    if (!n || *n <= 0) return ir::floor_mod(ctx_, expr(terms_), dim);
    if (*n == 1) return ctx_.i64(0);
    const Terms rest = not_divisible(*n);
    if (rest.empty()) return ctx_.i64(0);
    if (rest.size() == 1 && rest[0].scale == 1) {
      const Expr* low = ir::floor_mod(ctx_, rest[0].index, ctx_.i64(rest[0].lower * *n));
      return divided(low, rest[0].lower);
    }
    return ir::floor_mod(ctx_, expr(rest), dim);
  }

  void divide(const Expr* dim) {
    const auto n = ir::const_int(dim);
    if (!n || *n <= 0) {
      terms_ = {{ir::floor_div(ctx_, expr(terms_), dim)}};
      return;
    }
    if (*n == 1) return;
    Terms rest = not_divisible(*n);
    std::erase_if(terms_, [&](const PlaceTerm& t) { return t.scale % *n != 0; });
    for (PlaceTerm& t : terms_) t.scale /= *n;
    if (rest.empty()) return;
    PlaceTerm left;
    if (rest.size() == 1 && rest[0].scale == 1) {
      left = rest[0];
      left.lower *= *n;
    } else {
      left = {expr(rest), 1, *n};
    }
    const auto at = std::find_if(terms_.begin(), terms_.end(), [](const PlaceTerm& t) { return t.scale <= 1; });
    terms_.insert(at, left);
  }

 private:
  using Terms = std::vector<PlaceTerm>;

  void multiply(const Expr* dim) {
    const auto n = ir::const_int(dim);
    if (!n) {
      terms_ = {{ir::mul(ctx_, expr(terms_), dim)}};
      return;
    }
    for (PlaceTerm& t : terms_) t.scale *= *n;
  }
  Terms not_divisible(std::int64_t n) const {
    Terms out;
    for (const PlaceTerm& t : terms_)
      if (t.scale % n != 0) out.push_back(t);
    return out;
  }
  const Expr* divided(const Expr* e, std::int64_t by) const {
    return by == 1 ? e : ir::floor_div(ctx_, e, ctx_.i64(by));
  }
  const Expr* expr(const Terms& terms) const {
    const Expr* out = nullptr;
    for (const PlaceTerm& t : terms) {
      const Expr* e = divided(t.index, t.lower);
      if (t.scale != 1) e = ir::mul(ctx_, e, ctx_.i64(t.scale));
      out = out ? ir::add(ctx_, out, e) : e;
    }
    return out ? out : ctx_.i64(0);
  }

  ir::Context& ctx_;
  Terms terms_;
};

ExprList unravel(Place place, std::span<const Expr* const> shape) {
  ExprList out(shape.size(), nullptr);
  for (std::size_t i = shape.size(); i-- > 0;) {
    out[i] = place.mod(shape[i]);
    place.divide(shape[i]);
  }
  return out;
}
}  // namespace

Tensor Topi::reshape(Tensor x, const ExprList& shape) {
  return g.compute(
      shape,
      [&](Indices i) {
        ExprList idx = vars(i);
        ExprList from = unravel(Place::ravel(ctx, idx, shape), x->shape);
        return g.load(x, std::span<const Expr* const>(from));
      },
      "T_reshape");
}

Tensor Topi::transpose(Tensor x, const std::vector<int>& order) {
  ExprList shape;
  for (int a : order) shape.push_back(x->shape[std::size_t(a)]);
  return g.compute(
      shape,
      [&](Indices i) {
        ExprList idx(order.size(), nullptr);
        for (std::size_t k = 0; k < order.size(); ++k) idx[std::size_t(order[k])] = i[k];
        return g.load(x, std::span<const Expr* const>(idx));
      },
      "T_transpose");
}

Tensor Topi::expand_dims(Tensor x, std::vector<int> axes) {
  std::vector<bool> fresh(x->shape.size() + axes.size(), false);
  for (int a : axes) fresh[std::size_t(a)] = true;
  ExprList shape;
  std::size_t next = 0;
  for (bool f : fresh) shape.push_back(f ? i64(1) : x->shape[next++]);
  return g.compute(
      shape,
      [&](Indices i) {
        ExprList idx;
        for (std::size_t k = 0; k < fresh.size(); ++k)
          if (!fresh[k]) idx.push_back(i[k]);
        return g.load(x, std::span<const Expr* const>(idx));
      },
      "expand_dims");
}

Tensor Topi::squeeze(Tensor x, const std::vector<int>& axes) {
  std::vector<bool> gone(x->shape.size(), false);
  for (int a : axes) gone[std::size_t(a)] = true;
  ExprList shape;
  for (std::size_t k = 0; k < gone.size(); ++k)
    if (!gone[k]) shape.push_back(x->shape[k]);
  return g.compute(
      shape,
      [&](Indices i) {
        ExprList idx;
        std::size_t next = 0;
        for (bool out : gone) idx.push_back(out ? i64(0) : i[next++]);
        return g.load(x, std::span<const Expr* const>(idx));
      },
      "T_squeeze");
}

Tensor Topi::concat(const std::vector<Tensor>& xs, int axis) {
  std::size_t a = std::size_t(axis);
  ExprList shape = shape_list(xs[0]);
  ExprList starts{i64(0)};
  for (std::size_t k = 1; k < xs.size(); ++k) {
    starts.push_back(simplify(ctx, shape[a]));
    shape[a] = simplify(ctx, ir::add(ctx, shape[a], xs[k]->shape[a]));
  }
  return g.compute(
      shape,
      [&](Indices i) {
        const Expr* out = g.load(xs[0], i);
        for (std::size_t k = 1; k < xs.size(); ++k) {
          ExprList idx = vars(i);
          idx[a] = ir::sub(ctx, idx[a], starts[k]);
          out = if_else(le(i64(0), idx[a]), g.load(xs[k], std::span<const Expr* const>(idx)), out);
        }
        return out;
      },
      "T_concat");
}

Tensor Topi::full(const ExprList& shape, const Expr* value) {
  return g.compute(
      shape, [&](Indices) { return value; }, "T_full");
}

Tensor Topi::pad(Tensor x, const ExprList& before, const ExprList& after, const Expr* value, std::string_view name,
                 PadTest test) {
  ExprList shape;
  for (std::size_t i = 0; i < before.size(); ++i)
    shape.push_back(simplify(ctx, ir::add(ctx, ir::add(ctx, x->shape[i], before[i]), after[i])));
  return g.compute(
      shape,
      [&](Indices i) -> const Expr* {
        ExprList conditions;
        ExprList idx;
        for (std::size_t k = 0; k < before.size(); ++k) {
          bool front = !ir::is_const(before[k], 0);
          bool back = !ir::is_const(after[k], 0);
          idx.push_back(front ? ir::sub(ctx, i[k], before[k]) : i[k]);
          if (test == PadTest::BothSides) front = back = front || back;
          if (front) conditions.push_back(le(before[k], i[k]));
          if (back) conditions.push_back(lt(i[k], simplify(ctx, ir::add(ctx, x->shape[k], before[k]))));
        }
        const Expr* inside = g.load(x, std::span<const Expr* const>(idx));
        const Expr* in = all(conditions);
        return in ? if_else(in, inside, value) : inside;
      },
      name);
}

Tensor Topi::trilu(Tensor x, const Expr* k, bool upper) {
  return g.compute(
      x->shape,
      [&](Indices i) {
        const Expr* row = ir::add(ctx, i[i.size() - 2], k);
        const Expr* col = i.back();
        const Expr* keep = upper ? le(row, col) : le(col, row);
        return ctx.select(keep, g.load(x, i), lit(x->dtype, 0));
      },
      "trilu");
}

// ---- products ----

Tensor Topi::matmul(Tensor a, Tensor b, DType out) {
  bool a_vector = a->ndim() == 1;
  bool b_vector = b->ndim() == 1;
  ExprList batch_a(a->shape.begin(), a->shape.end() - std::min(a->ndim(), 2));
  ExprList batch_b(b->shape.begin(), b->shape.end() - std::min(b->ndim(), 2));
  std::size_t n = std::max(batch_a.size(), batch_b.size());
  ExprList shape;
  for (std::size_t i = 0; i < n; ++i) {
    const Expr* x = i + batch_a.size() >= n ? batch_a[i + batch_a.size() - n] : nullptr;
    const Expr* y = i + batch_b.size() >= n ? batch_b[i + batch_b.size() - n] : nullptr;
    shape.push_back(!x || (y && is_one(x)) ? y : x);
  }
  if (!a_vector) shape.push_back(a->shape[a->shape.size() - 2]);
  if (!b_vector) shape.push_back(b->shape.back());
  ir::IterVar k = g.reduce_axis(a->shape.back(), "k");
  ir::IterVar axes[] = {k};
  return g.reduce(
      shape,
      [&](Indices i) -> const Expr* {
        auto batch = [&](const ExprList& dims) {
          ExprList idx;
          for (std::size_t d = 0; d < dims.size(); ++d) {
            std::size_t o = d + n - dims.size();
            idx.push_back(is_one(dims[d]) && !is_one(shape[o]) ? i64(0) : i[o]);
          }
          return idx;
        };
        ExprList ia = batch(batch_a);
        ExprList ib = batch(batch_b);
        if (!a_vector) ia.push_back(i[n]);
        ia.push_back(k.var);
        ib.push_back(k.var);
        if (!b_vector) ib.push_back(i.back());
        const Expr* x = ir::cast_to(ctx, out, g.load(a, std::span<const Expr* const>(ia)));
        const Expr* y = ir::cast_to(ctx, out, g.load(b, std::span<const Expr* const>(ib)));
        return ctx.binary(BinaryKind::Mul, x, y);
      },
      axes, g.sum_reducer(out), "matmul");
}

Tensor Topi::batch_matmul(Tensor a, Tensor b, bool transpose_b) {
  ExprList shape{a->shape[0], a->shape[1], transpose_b ? b->shape[1] : b->shape[2]};
  ir::IterVar k = g.reduce_axis(a->shape[2], "k");
  ir::IterVar axes[] = {k};
  Tensor product = g.reduce(
      shape,
      [&](Indices i) -> const Expr* {
        const Expr* y = transpose_b ? g.load(b, {i[0], i[2], k.var}) : g.load(b, {i[0], k.var, i[2]});
        return ctx.binary(BinaryKind::Mul, g.load(a, {i[0], i[1], k.var}), y);
      },
      axes, g.sum_reducer(a->dtype), transpose_b ? "T_batch_matmul_NT" : "T_batch_matmul_NN");
  g.mark_layout_free(product, b);
  return product;
}

}  // namespace rldb::ops::topi
