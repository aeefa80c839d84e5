// Elements at places of several axes, read and written: ONNX's GatherND and ScatterND.
#include <algorithm>

#include "onnx/aten/aten.h"

namespace rldb::onnx::aten {

namespace {

// The axes with indices are brought to the front; `back` undoes it.
struct Places {
  const Expr* data = nullptr;  // its indexed axes first
  const Expr* at = nullptr;    // (of the indices' common shape..., axes)
  Dims common;                 // that shape
  std::size_t axes = 0, first = 0;
  bool side_by_side = true;  // the result's dims of the indices are where the first one is
  Ints order;                // of the data's axes
};

struct IndexedAxes {
  std::vector<std::size_t> axes;
  Exprs indices;
};

ir::Result<IndexedAxes> indexed_axes(Aten& m) {
  const Argument* list = m.argument("indices");
  const std::vector<Value> values = m.values(list);
  IndexedAxes made;
  for (std::size_t i = 0; list && i < list->items.size(); ++i) {
    if (list->items[i].kind == Item::Kind::None) continue;
    made.axes.push_back(i);
    made.indices.push_back(m.take(m.c.tensor_of_value(values[i])));
  }
  RLDB_TRY_VOID(m.done(nullptr));
  if (made.axes.empty()) return refuse("it has no indices");
  return made;
}

bool is_truth(DType t) { return t.is_bool() || t == DType::UInt(8); }

ir::Result<Places> places_of(Aten& m, const IndexedAxes& indexed) {
  Places p;
  const Expr* x = m.self();
  const std::size_t rank = m.rank(x);
  for (const Expr* e : indexed.indices)
    if (is_truth(m.dtype(e))) return refuse("its indices are truth values, so that its shape depends on them");
  if (m.good() && indexed.axes.back() >= rank) return refuse("it indexes more axes than there are");
  p.axes = indexed.axes.size();
  p.first = indexed.axes[0];
  p.side_by_side = indexed.axes.back() - p.first + 1 == p.axes;
  for (const std::size_t a : indexed.axes) p.order.push_back(std::int64_t(a));
  for (std::size_t a = 0; a < rank; ++a)
    if (std::find(indexed.axes.begin(), indexed.axes.end(), a) == indexed.axes.end())
      p.order.push_back(std::int64_t(a));
  p.data = m.permute(x, p.order);
  // A sum of zeros has the common shape.
  const Expr* sum = nullptr;
  for (const Expr* e : indexed.indices) {
    const Expr* zero = m.mul(m.cast(e, DType::Int(64)), 0.0);
    sum = sum ? m.add(sum, zero) : zero;
  }
  p.common = m.dims(sum);
  RLDB_TRY_VOID(m.done(nullptr));
  Exprs columns;
  for (const Expr* e : indexed.indices)
    columns.push_back(m.expand(m.broadcast_to(m.cast(e, DType::Int(64)), p.common), {std::int64_t(p.common.size())}));
  p.at = columns.size() == 1 ? columns[0] : m.join(columns, std::int64_t(p.common.size()));
  RLDB_TRY_VOID(m.done(nullptr));
  return p;
}

// The dims of the indices from the front to where PyTorch has them.
Ints to_their_place(const Places& p, std::size_t rank) {
  Ints order = iota(0, std::int64_t(rank));
  if (!p.side_by_side) return order;
  Ints made;
  const std::size_t n = p.common.size();
  for (std::size_t i = 0; i < p.first; ++i) made.push_back(std::int64_t(n + i));
  for (std::size_t i = 0; i < n; ++i) made.push_back(std::int64_t(i));
  for (std::size_t i = n + p.first; i < rank; ++i) made.push_back(std::int64_t(i));
  return made;
}

Ints inverse(const Ints& order) {
  Ints made(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) made[std::size_t(order[i])] = std::int64_t(i);
  return made;
}

// `x[mask] = v` with one value.
Made filled_where(Aten& m, const Expr* mask) {
  const Expr* x = m.self();
  const Expr* value = m.tensor_as("values", m.dtype(x));
  const Dims of_value = m.dims(value);
  if (m.good() && !of_value.empty() && !(of_value.size() == 1 && ir::is_const(of_value[0], 1)))
    return refuse("it writes several values where truth values say, which only a run can count");
  const std::size_t rank = m.rank(x), of_mask = m.rank(mask);
  if (m.good() && of_mask > rank) return refuse("its truth values have more axes than its data");
  mask = m.cast(mask, DType::Bool());
  if (of_mask < rank) mask = m.expand(mask, iota(std::int64_t(of_mask), std::int64_t(rank)));
  return m.done(m.where(mask, value, x));
}

}  // namespace

Made index(NodeContext& c) {
  Aten m(c);
  RLDB_TRY(const IndexedAxes indexed, indexed_axes(m));
  if (indexed.axes.size() == 1 && !is_truth(m.dtype(indexed.indices[0])))
    return m.done(m.onnx(op_name::Gather, {m.self_value(), Aten::of(indexed.indices[0])},
                         {{key::Axis, std::int64_t(indexed.axes[0])}}));
  RLDB_TRY(const Places p, places_of(m, indexed));
  const Expr* made = m.onnx(op_name::GatherND, {Aten::of(p.data), Aten::of(p.at)});
  return m.done(m.permute(made, to_their_place(p, m.rank(made))));
}

// A copy of the data with values at places; added to what is there with `accumulate`.
Made index_put(NodeContext& c) {
  Aten m(c);
  RLDB_TRY(const IndexedAxes indexed, indexed_axes(m));
  const bool adds = m.truth("accumulate", false);
  if (indexed.axes == std::vector<std::size_t>{0} && is_truth(m.dtype(indexed.indices[0])) && !adds)
    return filled_where(m, indexed.indices[0]);
  RLDB_TRY(const Places p, places_of(m, indexed));
  const Dims data = m.dims(p.data);
  RLDB_TRY_VOID(m.done(nullptr));
  Dims front = p.common;
  front.insert(front.end(), data.begin() + std::ptrdiff_t(p.axes), data.end());
  const Ints order = to_their_place(p, front.size());
  Dims shape;
  for (const std::int64_t a : order) shape.push_back(front[std::size_t(a)]);
  const Expr* values = m.permute(m.broadcast_to(m.tensor_as("values", m.dtype(p.data)), shape), inverse(order));
  const Expr* made = m.onnx(op_name::ScatterND, {Aten::of(p.data), Aten::of(p.at), Aten::of(values)},
                            {{key::Reduction, std::string(adds ? "add" : "none")}});
  return m.done(m.permute(made, inverse(p.order)));
}

// A copy with values at places along an axis, or with one value.
Made scatter(NodeContext& c) {
  Aten m(c);
  const Expr *x = m.self(), *at = m.tensor("index");
  const Dims dims = m.dims(at);
  const Expr* values = m.given("src") ? m.tensor("src") : m.broadcast_to(m.tensor_as("value", m.dtype(x)), dims);
  // The source may be larger than the indices.
  const Dims given = m.dims(values);
  for (std::size_t k = 0; m.good() && k < dims.size() && k < given.size(); ++k)
    if (!c.same_dim(given[k], dims[k])) values = m.slice(values, k, 0, m.size(at, k));
  return m.done(m.onnx(op_name::ScatterElements, {Aten::of(x), Aten::of(at), Aten::of(values)},
                       {{key::Axis, m.integer("dim", 0)}}));
}

namespace {

// (values, places) of all elements along an axis, equal ones in their order.
Values ordered(Aten& m) {
  const Expr* x = m.self();
  const std::size_t axis = m.axis(m.integer("dim", -1), x);
  const Dims dims = m.dims(x);
  if (!m.good() || dims.empty()) return {Aten::of(m.fail("its data has no axis")), Value()};
  return m.onnx_all(op_name::TopK, {Aten::of(x), m.known(Dims{dims[axis]})},
                    {{key::Axis, std::int64_t(axis)}, {key::Largest, std::int64_t(m.truth("descending", false))}}, 2);
}

}  // namespace

Made argsort(NodeContext& c) {
  Aten m(c);
  const Values made = ordered(m);
  return made.size() == 2 ? m.give({made[1]}) : m.done(nullptr);
}

Made sort(NodeContext& c) {
  Aten m(c);
  return m.give(ordered(m));
}

}  // namespace rldb::onnx::aten
