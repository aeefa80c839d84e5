// Solvers of operators that choose or replace elements by indices and slices. Indices are within bounds; where the
// result depends on the order of writes, none occurs twice.
#include "repro/fuzz/attributes.h"
#include "repro/fuzz/solve.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/scalar.h"

namespace rldb::repro::solver {

using ir::DType;

namespace {

DType index_dtype(Maker& m) { return m.flip() ? DType::Int(32) : DType::Int(64); }

Image of_two(const Known& x, const Known& y) {
  return {x.range | y.range, x.exact && y.exact, std::max(x.error, y.error)};
}
Image sum_of_two(const Known& x, const Known& y, double times) {
  return {x.range + repro::times(y.range.hull(), times), false, x.error + times * y.error};
}

// Each number below n, in some order, the first `count` of them.
Known distinct(Maker& m, std::int64_t n, std::int64_t count, DType dtype) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < n; ++i) order.push_back(i);
  for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[m.random.below(i + 1)]);
  return m.constant({m.ctx.i64(count)}, dtype, [&](std::size_t i) { return double(order[i]); }, {0, double(n - 1)});
}

bool all_static(const Known& v) { return is_static(v.type); }
bool is_number(const Known& v) { return !v.dtype().is_bool() && is_static(v.type); }

std::int64_t number(const ir::Expr* e) { return *ir::const_int(e); }

}  // namespace

bool take(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 1, 3});
  const bool flat = x.ndim() == 1 && m.random.one_in(3);
  const int axis = int(m.random.below(std::size_t(x.ndim())));
  const std::int64_t most = least_of(x.dim(axis));
  if (most < 1) return false;
  const char* mode = m.one_of(std::vector<const char*>{"fast", "wrap", "clip"});
  const bool free = mode[0] != 'f';
  const Known indices = m.of(m.shape(0, 2), index_dtype(m), free ? Range{-20, 20} : Range{0, double(most - 1)});
  Attributes attrs(m, op);
  if (flat)
    attrs.none(op_attr::Axis);
  else
    attrs.add(op_attr::Axis, m.either(axis, x.ndim()));
  return m.emit(op, {x.var, indices.var}, attrs.add(op_attr::Mode, mode), same(x)).has_value();
}

bool gather_elements(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 1, 3});
  const int axis = int(m.random.below(std::size_t(x.ndim())));
  const std::int64_t most = least_of(x.dim(axis));
  if (most < 1) return false;
  Dims dims = dims_of(x.type);
  dims[std::size_t(axis)] = m.ctx.i64(m.size());
  const Known indices = m.of(dims, index_dtype(m), {0, double(most - 1)});
  return m.emit(op, {x.var, indices.var}, Attributes(m, op).add(op_attr::Axis, m.either(axis, x.ndim())), same(x))
      .has_value();
}

bool gather_nd(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 1, 3});
  const int batch = x.ndim() > 1 && m.random.one_in(3) ? 1 : 0;
  const int depth = 1 + int(m.random.below(std::size_t(x.ndim() - batch)));
  std::int64_t most = 1000;
  for (int i = batch; i < batch + depth; ++i) most = std::min(most, least_of(x.dim(i)));
  if (most < 1) return false;
  Dims dims;
  if (batch) dims.push_back(x.dim(0));
  dims.insert(dims.end(), {m.ctx.i64(m.size()), m.ctx.i64(depth)});
  const Known indices = m.of(dims, DType::Int(64), {0, double(most - 1)});
  return m.emit(op, {x.var, indices.var}, Attributes(m, op).add(op_attr::BatchDims, std::int64_t(batch)), same(x))
      .has_value();
}

bool index_tensor(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 1, 3});
  const Dims dims = m.shape(1, 2);
  const DType dtype = index_dtype(m);
  std::vector<const ir::Expr*> all;
  for (int i = 0, n = 1 + int(m.random.below(std::size_t(x.ndim()))); i < n; ++i) {
    if (least_of(x.dim(i)) < 1) return false;
    all.push_back(m.of(dims, dtype, {0, double(least_of(x.dim(i)) - 1)}).var);
  }
  return m.emit(op, {x.var, m.ctx.tuple(all)}, {}, same(x)).has_value();
}

bool index_put(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 1, 2, Range{-50, 50}, false, all_static});
  const std::int64_t n = number(x.dim(0));
  const std::int64_t count = 1 + std::int64_t(m.random.below(std::size_t(std::min<std::int64_t>(n, 5))));
  const DType dtype = index_dtype(m);
  std::vector<const ir::Expr*> all{distinct(m, n, count, dtype).var};
  if (x.ndim() == 2) all.push_back(m.integers({m.ctx.i64(count)}, dtype, 0, number(x.dim(1)) - 1).var);
  const Known values = m.of({m.ctx.i64(count)}, x.dtype(), {-50, 50});
  const bool adds = m.flip();
  return m
      .emit(op, {x.var, m.ctx.tuple(all), values.var}, Attributes(m, op).add(op_attr::Accumulate, adds),
            adds ? sum_of_two(x, values, 1) : of_two(x, values))
      .has_value();
}

namespace {

struct Update {
  const char* reduction;
  Image image;
};
// Several writes to one element may be in any order: of them only sums and extremes are defined.
Update some_update(Maker& m, const Known& x, const Known& updates, double times) {
  switch (m.random.below(4)) {
    case 0:
      return {"add", sum_of_two(x, updates, times)};
    case 1:
      return {"max", of_two(x, updates)};
    case 2:
      return {"min", of_two(x, updates)};
    default:
      return {"update", of_two(x, updates)};
  }
}

}  // namespace

bool scatter_elements(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 1, 2, Range{-50, 50}, false, is_number});
  const int axis = int(m.random.below(std::size_t(x.ndim())));
  const std::int64_t n = number(x.dim(axis));
  const std::int64_t count = 1 + std::int64_t(m.random.below(std::size_t(std::min<std::int64_t>(n, 5))));
  Dims dims = dims_of(x.type);
  dims[std::size_t(axis)] = m.ctx.i64(count);
  const std::int64_t inner = axis + 1 < x.ndim() ? number(x.dim(axis + 1)) : 1;
  const std::int64_t shift = std::int64_t(m.random.below(std::size_t(n)));
  const auto at = [&](std::size_t i) { return double((std::int64_t(i) / inner % count + shift) % n); };
  const Known indices = m.constant(dims, index_dtype(m), at, {0, double(n - 1)});
  const Known updates = m.of(dims, x.dtype(), {-50, 50});
  const Update u = some_update(m, x, updates, 1);
  Attributes attrs(m, op);
  attrs.add(op_attr::Axis, m.either(axis, x.ndim())).add(op_attr::Reduction, u.reduction);
  return m.emit(op, {x.var, indices.var, updates.var}, attrs, u.image).has_value();
}

bool scatter_nd(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 1, 3, Range{-50, 50}, false, is_number});
  const std::int64_t n = number(x.dim(0));
  const std::int64_t count = 1 + std::int64_t(m.random.below(std::size_t(std::min<std::int64_t>(n, 5))));
  const std::int64_t shift = std::int64_t(m.random.below(std::size_t(n)));
  const auto at = [&](std::size_t i) { return double((std::int64_t(i) + shift) % n); };
  const Known indices = m.constant({m.ctx.i64(count), m.ctx.i64(1)}, DType::Int(64), at, {0, double(n - 1)});
  Dims dims = dims_of(x.type);
  dims[0] = m.ctx.i64(count);
  const Known updates = m.of(dims, x.dtype(), {-50, 50});
  const Update u = some_update(m, x, updates, 1);
  return m.emit(op, {x.var, indices.var, updates.var}, Attributes(m, op).add(op_attr::Reduction, u.reduction), u.image)
      .has_value();
}

bool slice_scatter(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 1, 3});
  const int axis = int(m.random.below(std::size_t(x.ndim())));
  const auto n = ir::const_int(x.dim(axis));
  if (!n || *n < 2) return false;
  const std::int64_t step = 1 + std::int64_t(m.random.below(2));
  const std::int64_t begin = std::int64_t(m.random.below(std::size_t(*n - 1)));
  const std::int64_t count = 1 + std::int64_t(m.random.below(std::size_t((*n - 1 - begin) / step + 1)));
  Dims dims = dims_of(x.type);
  dims[std::size_t(axis)] = m.ctx.i64(count);
  const Known source = m.of(dims, x.dtype(), kEverything);
  const std::int64_t end = std::min(*n, begin + (count - 1) * step + 1);
  return m
      .emit(op, {x.var, source.var, m.ctx.i64(begin), m.ctx.i64(end), m.ctx.i64(step)},
            Attributes(m, op).add(op_attr::Axis, m.either(axis, x.ndim())), of_two(x, source))
      .has_value();
}

bool strided_slice(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 1, 4});
  std::vector<const ir::Expr*> axes, begin, end, strides;
  const auto add = [&](std::vector<const ir::Expr*>& to, std::int64_t v) { to.push_back(m.ctx.i64(v)); };
  for (const std::int64_t axis : m.axes_of(x.ndim())) {
    const auto n = ir::const_int(x.dim(int(axis < 0 ? axis + x.ndim() : axis)));
    if (n && *n < 1) continue;
    add(axes, axis);
    if (!n) {  // all of it, or backwards
      const bool back = m.flip();
      add(begin, back ? -1 : 0);
      add(end, back ? INT32_MIN : INT32_MAX);
      add(strides, back ? -1 : 1);
      continue;
    }
    const std::int64_t from = std::int64_t(m.random.below(std::size_t(*n)));
    const std::int64_t to = from + 1 + std::int64_t(m.random.below(std::size_t(*n - from)));
    if (m.random.one_in(4)) {  // to - 1, ..., from
      add(begin, m.flip() ? to - 1 : to - 1 - *n);
      add(end, from == 0 ? -*n - 1 : from - 1);
      add(strides, -1);
    } else {
      add(begin, m.flip() ? from : from - *n);
      add(end, to == *n && m.flip() ? INT32_MAX : m.flip() || to == *n ? to : to - *n);
      add(strides, 1 + std::int64_t(m.random.below(3)));
    }
  }
  if (axes.empty()) return false;
  return m.emit(op, {x.var, m.ctx.tuple(axes), m.ctx.tuple(begin), m.ctx.tuple(end), m.ctx.tuple(strides)}, {}, same(x))
      .has_value();
}

bool one_hot(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Int, 0, 3, Range{0, 9}});
  const bool floats = m.flip();
  const auto value = [&](double v) -> const ir::Expr* {
    const DType t = floats ? DType::Float(32) : DType::Int(32);
    return m.ctx.literal(t, v);
  };
  Attributes attrs(m, op);
  attrs.add(op_attr::Depth, std::int64_t(1 + m.random.below(10))).add(op_attr::Axis, m.axis_of(x.ndim() + 1));
  return m.emit(op, {x.var, value(m.flip() ? 1 : 3), value(m.flip() ? 0 : -1)}, attrs, {{-1, 3}, true, 0}).has_value();
}

bool take_backward(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 1, 3, Range{-50, 50}, false, is_number});
  const int axis = int(m.random.below(std::size_t(x.ndim())));
  const Known indices = m.integers({m.ctx.i64(3)}, index_dtype(m), 0, number(x.dim(axis)) - 1);
  Dims dims = dims_of(x.type);
  dims[std::size_t(axis)] = m.ctx.i64(3);
  const Known gradient = m.of(dims, x.dtype(), {-50, 50});
  Attributes attrs(m, op);
  attrs.add(op_attr::Axis, m.either(axis, x.ndim())).add(op_attr::Mode, "clip");
  return m
      .emit(op, {gradient.var, x.var, indices.var}, attrs, {times(gradient.range.hull(), 3), false, 3 * gradient.error})
      .has_value();
}

}  // namespace rldb::repro::solver
