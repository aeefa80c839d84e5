// Operators of PyTorch that move elements: to other shapes, around an axis, into a part of another tensor.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/aten/aten.h"

namespace rldb::onnx::aten {

Made expand_like(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const Dims dims = m.dims(m.tensor("other"));
  return m.done(m.broadcast_to(x, dims));
}

Made view_like(NodeContext& c) {
  Aten m(c);
  const Dims dims = m.dims(m.tensor("other"));
  return m.done(m.onnx(op_name::Reshape, {m.self_value(), m.known(dims)}, {{key::Allowzero, std::int64_t(1)}}));
}

// Each axis is cut at a place, and its two parts change places. Without axes: all elements as one row.
Made roll(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const Dims shape = m.dims(x);
  const Ints shifts = m.ints("shifts", {}), axes = m.ints("dims", {});
  if (!m.good()) return m.done(nullptr);
  const bool flat = axes.empty();
  if (shifts.size() != (flat ? 1 : axes.size())) return refuse("its shifts are not one for each axis");
  if (std::count(shifts.begin(), shifts.end(), INT64_MIN) != 0) return refuse("a shift is too large");
  if (flat) x = m.reshape(x, {ir::product(c.ctx, shape)});
  for (std::size_t i = 0; m.good() && i < shifts.size(); ++i) {
    const std::size_t axis = m.axis(flat ? 0 : axes[i], x);
    const Dims dims = m.dims(x);
    if (!m.good()) break;
    const Expr* cut = ir::floor_mod(c.ctx, c.i64(-shifts[i]), ir::max(c.ctx, dims[axis], c.i64(1)));
    const Expr* last = m.take(c.sliced(x, axis, cut, dims[axis]));
    const Expr* first = m.good() ? m.take(c.sliced(x, axis, c.i64(0), cut)) : nullptr;
    x = m.join({last, first}, std::int64_t(axis));
  }
  return m.done(flat ? m.reshape(x, shape) : x);
}

// Elements by their numbers in the tensor.
Made take_elements(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const Dims dims = m.dims(x);
  if (!m.good()) return m.done(nullptr);
  return m.done(m.onnx(op_name::Gather, {Aten::of(m.reshape(x, {ir::product(c.ctx, dims)})), m.value("index")},
                       {{key::Axis, std::int64_t(0)}}));
}

// A copy in which a slice is another tensor.
Made slice_scatter(NodeContext& c) {
  Aten m(c);
  const Expr *x = m.self(), *part = m.tensor("src");
  const std::size_t axis = m.axis(m.integer("dim", 0), x), rank = m.rank(x);
  const Dims dims = m.dims(part);
  std::int64_t begin = m.integer("start", 0);
  if (!m.good() || dims.size() != rank) return m.done(m.fail("its slice has another rank"));
  if (begin < 0) begin = std::max<std::int64_t>(0, begin + m.size(x, axis));
  const Expr* row = m.mul(m.positions(dims[axis], axis, rank), double(m.integer("step", 1)));
  const Expr* places = m.broadcast_to(m.add(row, double(begin)), dims);
  return m.done(m.onnx(op_name::ScatterElements, {Aten::of(x), Aten::of(places), Aten::of(part)},
                       {{key::Axis, std::int64_t(axis)}}));
}

// Each vector along an axis of its own.
Made meshgrid(NodeContext& c) {
  Aten m(c);
  const std::string order = m.text("indexing", "ij");
  const std::vector<Value> all = m.values(m.first());
  const std::size_t n = all.size();
  Exprs vectors;
  Dims dims;
  for (const Value& v : all) {
    const Expr* e = m.good() ? m.take(c.tensor_of_value(v)) : nullptr;
    const Dims own = m.dims(e);
    if (!m.good() || own.size() > 1) return m.done(m.fail("its operands are not vectors"));
    vectors.push_back(e);
    dims.push_back(own.empty() ? c.i64(1) : own[0]);
  }
  std::vector<std::size_t> axis(n);
  for (std::size_t i = 0; i < n; ++i) axis[i] = i;
  if (order != "ij" && order != "xy") return refuse(fmt::format("its `indexing` is `{}`", order));
  if (order == "xy" && n > 1) std::swap(axis[0], axis[1]);
  Dims shape(n);
  for (std::size_t i = 0; i < n; ++i) shape[axis[i]] = dims[i];
  Values made;
  for (std::size_t i = 0; i < n; ++i) {
    Dims own(n, c.i64(1));
    own[axis[i]] = dims[i];
    made.push_back(Aten::of(m.broadcast_to(m.reshape(vectors[i], own), shape)));
  }
  return m.give(std::move(made));
}

}  // namespace rldb::onnx::aten
