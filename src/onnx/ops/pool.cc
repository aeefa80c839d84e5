// Pooling.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "onnx/ops/window.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/window_attr.h"

namespace rldb::onnx::bodies {

namespace {

constexpr std::string_view kMaxPool[] = {op::NnMaxPool1d, op::NnMaxPool2d, op::NnMaxPool3d};
constexpr std::string_view kAvgPool[] = {op::NnAvgPool1d, op::NnAvgPool2d, op::NnAvgPool3d};

struct Pooling {
  Dims dims, spatial;
  Window window;
  bool ceil = false;
};

ir::Result<Pooling> pooling(NodeContext& c) {
  Pooling p;
  RLDB_TRY(p.dims, c.dims(0));
  if (p.dims.size() < 3 || p.dims.size() > 5)
    return refuse(fmt::format("its data has {} axes, and 1 to 3 spatial ones are translated", p.dims.size()));
  p.spatial = Dims(p.dims.begin() + 2, p.dims.end());
  RLDB_TRY(p.window, window_of(c, p.spatial, {}));
  if (!p.window.open_pads.empty() && c.wants(1)) return refuse("its padding depends on a dim that is not known");
  p.ceil = c.integer(key::CeilMode, 0) != 0;
  return p;
}

Made pooled(NodeContext& c, std::string_view op, const Expr* x, const Window& w, bool ceil, bool count_pads) {
  std::vector<ir::NamedAttr> attrs = strides_and_padding(c, w);
  attrs.push_back({op_attr::PoolSize, c.ints_attr(w.kernel)});
  attrs.push_back({op_attr::CeilMode, c.ctx.attr(ceil)});
  attrs.push_back({op_attr::CountIncludePad, c.ctx.attr(count_pads)});
  return c.emit(op, {x}, attrs);
}

// As many windows as the data's size over the stride: none of them is cut off.
Made pooled_with_open_pads(NodeContext& c, std::string_view op, const Expr* x, const Window& w, double value) {
  Chain m(c);
  x = with_open_pads(m, x, w, value);
  RLDB_TRY_VOID(m.done(nullptr));
  return pooled(c, op, x, w, false, true);
}

double least_number(DType t) {
  if (t.is_float()) return -std::numeric_limits<double>::infinity();
  return t.is_uint() ? 0 : -std::ldexp(1.0, t.bits - 1);
}

// Where the dims are known, a last window that is cut off becomes a whole one over more padding. Relax's `ceil_mode`
// also makes windows that begin behind the data.
void make_last_window_whole(Pooling& p) {
  if (!p.ceil) return;
  const auto exact = with_last_window(p.window, p.spatial);
  if (!exact.ok()) return;
  p.window = *exact;
  p.ceil = false;
}

// The windows of `ceil_mode` that begin behind the data are left out, where the dims are not known.
Made without_windows_behind(NodeContext& c, const Expr* x, const Pooling& p) {
  if (!p.ceil || !p.window.open_pads.empty()) return x;
  RLDB_TRY(const Dims made, c.dims_of(x));
  for (std::size_t k = 0; k < p.spatial.size(); ++k) {
    const std::int64_t stride = p.window.strides[k];
    if (p.window.pads[p.window.axes() + k] + stride <= p.window.span(k)) continue;  // none begins there
    const Expr* last = ir::add(c.ctx, p.spatial[k], c.i64(p.window.pads[k] - 1));
    const Expr* most = ir::add(c.ctx, ir::floor_div(c.ctx, last, c.i64(stride)), c.i64(1));
    RLDB_TRY(x, c.sliced(x, 2 + k, c.i64(0), ir::min(c.ctx, made[2 + k], most)));
  }
  return x;
}

// Averages whose divisor is the size of a window: padding counts. Windows of unknown dims are whole over padding that
// reaches as far as one can begin.
Made whole_averages(NodeContext& c, const Expr* x, const Pooling& p) {
  if (!p.window.open_pads.empty()) return pooled_with_open_pads(c, kAvgPool[p.spatial.size() - 1], x, p.window, 0);
  Window whole = p.window;
  for (std::size_t k = 0; p.ceil && k < whole.axes(); ++k) whole.pads[whole.axes() + k] += whole.strides[k] - 1;
  return pooled(c, kAvgPool[p.spatial.size() - 1], x, whole, false, true);
}

// The position of each largest element in the whole data: the first one of equal ones.
std::vector<te::Tensor> largest_places(Te& te, const Window& w, const Dims& to, bool column_major) {
  ir::Context& ctx = te.ctx;
  const te::Tensor x = te.in[0], largest = te.in[1];
  const std::size_t n = w.axes();
  std::vector<ir::IterVar> parts;
  for (std::size_t k = 0; k < n; ++k)
    parts.push_back(te.graph.reduce_axis(ctx.i64(w.kernel[k]), fmt::format("r{}", k)));
  return {te.graph.reduce(
      to,
      [&](te::Indices i) {
        Dims at{i[0], i[1]};
        const Expr* hit = ctx.bool_imm(true);
        for (std::size_t k = 0; k < n; ++k) {
          const Expr* begin = ir::sub(ctx, ir::mul(ctx, i[2 + k], ctx.i64(w.strides[k])), ctx.i64(w.pads[k]));
          at.push_back(ir::add(ctx, begin, ir::mul(ctx, parts[k].var, ctx.i64(w.dilations[k]))));
          hit = ir::logical_and(ctx, hit, ir::compare(ctx, ir::BinaryKind::GE, at.back(), ctx.i64(0)));
          hit = ir::logical_and(ctx, hit, ir::compare(ctx, ir::BinaryKind::LT, at.back(), x->shape[2 + k]));
        }
        const Expr* flat = ir::add(ctx, ir::mul(ctx, i[0], x->shape[1]), i[1]);
        for (std::size_t k = 0; k < n; ++k) {
          const std::size_t axis = column_major ? n - 1 - k : k;
          flat = ir::add(ctx, ir::mul(ctx, flat, x->shape[2 + axis]), at[2 + axis]);
        }
        const Expr* none = ctx.i64(INT64_MAX);
        const Expr* same = ir::compare(ctx, ir::BinaryKind::EQ, te.graph.load(x, at), te.graph.load(largest, i));
        const Expr* found = ctx.select(same, flat, none);
        return static_cast<const Expr*>(ctx.intrin(DType::Int(64), ir::intrin::IfThenElse, {hit, found, none}));
      },
      parts, te.graph.min_reducer(DType::Int(64)), "T_max_pool_places")};
}

}  // namespace

Made max_pool(NodeContext& c) {
  RLDB_TRY(Pooling p, pooling(c));
  RLDB_TRY(const Expr* x, c.in(0));
  if (!p.window.open_pads.empty()) {
    RLDB_TRY(const ir::TensorType* t, c.tensor_of(x));
    return pooled_with_open_pads(c, kMaxPool[p.spatial.size() - 1], x, p.window, least_number(t->dtype));
  }
  make_last_window_whole(p);
  RLDB_TRY(const Expr* made, pooled(c, kMaxPool[p.spatial.size() - 1], x, p.window, p.ceil, false));
  RLDB_TRY(made, without_windows_behind(c, made, p));
  RLDB_TRY(const std::int64_t order, c.choice(key::StorageOrder, 0, {0, 1}));
  if (!c.wants(1)) return made;
  RLDB_TRY(const Dims dims, c.dims_of(made));
  RLDB_TRY(const Expr* places, c.kernel("onnx_max_pool_places", {x, made}, [&](Te& te) {
    Dims to;
    for (const Expr* d : te.in[1]->shape) to.push_back(d);
    return largest_places(te, p.window, to, order != 0);
  }));
  return static_cast<const Expr*>(c.ctx.tuple(Exprs{made, places}));
}

namespace {

// The average of a window without its padding: over the part of it that is data.
Made average_of_data(NodeContext& c, const Expr* x, const Pooling& p) {
  Chain m(c);
  const std::string_view op = kAvgPool[p.spatial.size() - 1];
  Dims dims{c.i64(1), c.i64(1)};
  dims.insert(dims.end(), p.spatial.begin(), p.spatial.end());
  const Expr* ones = m.full(dims, m.dtype(x), 1);
  RLDB_TRY_VOID(m.done(nullptr));
  RLDB_TRY(const Expr* sum, pooled_with_open_pads(c, op, x, p.window, 0));
  RLDB_TRY(const Expr* part, pooled_with_open_pads(c, op, ones, p.window, 0));
  double count = 1;
  for (const std::int64_t k : p.window.kernel) count *= double(k);
  // A window without data gives 0: its divisor is less than the part of one element, not 0.
  return m.done(m.div(sum, m.max(part, m.lit(part, 0.5 / count))));
}

}  // namespace

Made average_pool(NodeContext& c) {
  RLDB_TRY(Pooling p, pooling(c));
  RLDB_TRY(const Expr* x, c.in(0));
  if (!p.window.open_pads.empty() && c.integer(key::CountIncludePad, 0) == 0) return average_of_data(c, x, p);
  if (p.window.open_pads.empty()) make_last_window_whole(p);
  const bool count_pads = c.integer(key::CountIncludePad, 0) != 0;
  // Padding that counts counts as far as `ceil_mode` reaches (test_averagepool_3d_dilations_large of the ONNX tests).
  RLDB_TRY(const Expr* made, count_pads ? whole_averages(c, x, p)
                                        : pooled(c, kAvgPool[p.spatial.size() - 1], x, p.window, p.ceil, false));
  return without_windows_behind(c, made, p);
}

namespace {

const Expr* norm_power(Chain& m, const Expr* x, double p) {
  if (p == 1) return x;
  if (p == 2) return m.mul(x, x);
  return m.each(op::Power, x, m.lit(x, p));
}
const Expr* norm_root(Chain& m, const Expr* x, double p) {
  if (p == 1) return x;
  if (p == 2) return m.sqrt(x);
  return m.each(op::Power, x, m.lit(x, 1 / p));
}

}  // namespace

// The p-norm of each window: a mean of powers, times the number of its elements.
Made lp_pool(NodeContext& c) {
  RLDB_TRY(Pooling p, pooling(c));
  if (p.window.open_pads.empty()) make_last_window_whole(p);
  Chain m(c);
  const double order = c.attr(key::P) && c.attr(key::P)->has_f() ? c.real(key::P, 2) : double(c.integer(key::P, 2));
  const Expr* powers = norm_power(m, m.unary(op::Abs, m.in(0)), order);
  if (!m.good()) return m.done(nullptr);
  RLDB_TRY(const Expr* mean, whole_averages(c, powers, p));
  RLDB_TRY(mean, without_windows_behind(c, mean, p));
  double count = 1;
  for (const std::int64_t k : p.window.kernel) count *= double(k);
  return m.done(norm_root(m, m.mul(mean, count), order));
}

Made global_pool(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  return m.done(m.reduce(c.target, x, iota(2, std::int64_t(m.rank(x))), true));
}

Made global_lp_pool(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const double order = c.attr(key::P) && c.attr(key::P)->has_f() ? c.real(key::P, 2) : double(c.integer(key::P, 2));
  const Expr* powers = norm_power(m, m.unary(op::Abs, x), order);
  return m.done(norm_root(m, m.reduce(op::Sum, powers, iota(2, std::int64_t(m.rank(x))), true), order));
}

// Values go to the places that a pooling reported; everything else is 0.
Made max_unpool(NodeContext& c) {
  Chain m(c);
  const Expr *x = m.in(0), *places = m.in(1);
  const Dims dims = m.dims(x);
  const auto kernel = c.ints(key::KernelShape);
  if (!m.good() || !kernel || dims.size() != kernel->size() + 2) return m.done(m.fail("its window is not known"));
  const std::size_t n = kernel->size();
  const Ints strides = c.ints(key::Strides, n, 1), pads = c.ints(key::Pads, 2 * n, 0);
  if (strides.size() != n || pads.size() != 2 * n) return refuse("its window is not known");
  Dims inner{dims[0], dims[1]};
  for (std::size_t k = 0; k < n; ++k)
    inner.push_back(ir::add(c.ctx, ir::mul(c.ctx, ir::sub(c.ctx, dims[2 + k], c.i64(1)), c.i64(strides[k])),
                            c.i64((*kernel)[k] - pads[k] - pads[n + k])));
  Dims to = inner;
  if (c.has(2)) {
    RLDB_TRY(to, c.dims_in(2));
  }
  if (to.size() != dims.size()) return refuse("the shape of its result is not of its data's rank");
  const Expr* flat = m.full({ir::product(c.ctx, to)}, m.dtype(x), 0);
  const Dims count{ir::product(c.ctx, dims)};
  const Expr* made = m.op(op::ScatterElements, {flat, m.reshape(places, count), m.reshape(x, count)},
                          {{op_attr::Axis, c.ctx.attr(0)}, {op_attr::Reduction, c.ctx.attr("update")}});
  return m.done(m.reshape(made, to));
}

}  // namespace rldb::onnx::bodies
