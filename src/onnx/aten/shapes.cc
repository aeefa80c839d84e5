// Operators of PyTorch that change shapes, join, cut, index and make tensors.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/aten/aten.h"
#include "onnx/aten/variant.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"

namespace rldb::onnx::aten {

Made view(NodeContext& c) {
  Aten m(c);
  const std::string_view name = m.given("size") ? "size" : "shape";
  return m.done(
      m.onnx(op_name::Reshape, {m.self_value(), m.known(m.sizes(name))}, {{key::Allowzero, std::int64_t(1)}}));
}

Made permute(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  return m.done(m.permute(x, m.axes("dims", x)));
}

namespace {

Made exchanged(Aten& m, const Expr* x, std::int64_t a, std::int64_t b) {
  Ints order = iota(0, std::int64_t(m.rank(x)));
  const std::size_t first = m.axis(a, x), second = m.axis(b, x);
  if (!m.good()) return m.done(nullptr);
  std::swap(order[first], order[second]);
  return m.done(m.permute(x, order));
}

}  // namespace

Made transpose(NodeContext& c) {
  Aten m(c);
  return exchanged(m, m.self(), m.integer("dim0", 0), m.integer("dim1", 0));
}

Made turned_matrix(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  return m.rank(x) < 2 ? m.done(x) : exchanged(m, x, 0, 1);
}

Made unsqueeze(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::Unsqueeze, {m.self_value(), m.known(Ints{m.integer("dim", 0)})}));
}

// Only axes of size 1 go.
Made squeeze(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const Ints axes = m.axes("dim", x);
  const Dims dims = m.dims(x);
  if (!m.good()) return m.done(nullptr);
  Dims left;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (std::find(axes.begin(), axes.end(), std::int64_t(i)) == axes.end() || !ir::is_const(dims[i], 1))
      left.push_back(dims[i]);
  return m.done(m.reshape(x, left));
}

Made flatten(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const Dims dims = m.dims(x);
  if (dims.empty()) return m.done(m.good() ? m.reshape(x, {c.i64(1)}) : nullptr);
  const std::size_t begin = m.axis(m.integer("start_dim", 0), x), end = m.axis(m.integer("end_dim", -1), x);
  if (!m.good() || begin > end) return m.done(m.fail("its first axis is behind its last one"));
  Dims to(dims.begin(), dims.begin() + std::ptrdiff_t(begin));
  to.push_back(ir::product(c.ctx, Dims(dims.begin() + std::ptrdiff_t(begin), dims.begin() + std::ptrdiff_t(end) + 1)));
  to.insert(to.end(), dims.begin() + std::ptrdiff_t(end) + 1, dims.end());
  return m.done(m.reshape(x, to));
}

// Of the new sizes, one may be -1.
Made unflatten(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const Dims dims = m.dims(x), sizes = m.sizes("sizes");
  const std::size_t axis = m.axis(m.integer("dim", 0), x);
  if (!m.good()) return m.done(nullptr);
  Dims to(dims.begin(), dims.begin() + std::ptrdiff_t(axis));
  to.insert(to.end(), sizes.begin(), sizes.end());
  to.insert(to.end(), dims.begin() + std::ptrdiff_t(axis) + 1, dims.end());
  return m.done(m.onnx(op_name::Reshape, {Aten::of(x), m.known(to)}, {{key::Allowzero, std::int64_t(1)}}));
}

// -1 keeps a dim.
Made expand(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  Dims to = m.sizes("size");
  const Dims from = m.dims(x);
  if (!m.good() || to.size() < from.size()) return m.done(m.fail("its shape has too few dims"));
  const std::size_t more = to.size() - from.size();
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (!ir::is_const(to[i], -1)) continue;
    if (i < more) return refuse("a new dim is to be kept");
    to[i] = from[i - more];
  }
  return m.done(m.broadcast_to(x, to));
}

Made repeat(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const bool tile = m.given("dims");
  Ints times = m.ints(tile ? "dims" : "repeats", {});
  Dims dims = m.dims(x);
  while (tile && times.size() < dims.size()) times.insert(times.begin(), 1);
  if (!m.good() || times.size() < dims.size()) return m.done(m.fail("it has fewer factors than axes"));
  while (dims.size() < times.size()) dims.insert(dims.begin(), c.i64(1));
  return m.done(m.onnx(op_name::Tile, {Aten::of(m.reshape(x, dims)), m.known(times)}));
}

namespace {

// All of one dtype.
Exprs tensors_of(Aten& m) {
  Exprs made;
  const std::vector<Value> all = m.values(m.first());
  const DType t = m.c.recorded.value_or(DType::Float(32));
  for (const Value& v : all)
    if (m.good()) made.push_back(m.cast(m.take(m.c.tensor_of_value(v)), t));
  if (made.empty()) m.fail("it has no operands");
  return made;
}

}  // namespace

Made cat(NodeContext& c) {
  Aten m(c);
  const Exprs all = tensors_of(m);
  if (!m.good()) return m.done(nullptr);
  return m.done(m.join(all, std::int64_t(m.axis(m.integer("dim", 0), all[0]))));
}

Made stack(NodeContext& c) {
  Aten m(c);
  Exprs all = tensors_of(m);
  if (!m.good()) return m.done(nullptr);
  std::int64_t axis = m.integer("dim", 0);
  if (axis < 0) axis += std::int64_t(m.rank(all[0])) + 1;
  for (const Expr*& e : all) e = m.expand(e, {axis});
  return m.done(m.join(all, axis));
}

namespace {

constexpr std::int64_t kMostPieces = 4096;

Made pieces_of(Aten& m, const Expr* x, std::size_t axis, const Ints& sizes) {
  Ints ends;
  std::int64_t end = 0;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) ends.push_back(end += sizes[i]);
  Values made;
  for (const Expr* e : m.take(m.c.pieces(x, ends, std::int64_t(axis)))) made.push_back(Aten::of(e));
  return m.give(std::move(made));
}

// The last piece may be smaller.
Made equal_pieces(Aten& m, const Expr* x, std::size_t axis, std::int64_t each) {
  const std::int64_t n = m.size(x, axis);
  if (!m.good()) return m.done(nullptr);
  if (each < 1 || n < 1 || n / each > kMostPieces) return refuse("it has no pieces, or more than 4096");
  Ints sizes;
  for (std::int64_t at = 0; at < n; at += each) sizes.push_back(std::min(each, n - at));
  return pieces_of(m, x, axis, sizes);
}

const Expr* selected(Aten& m, const Expr* x, std::size_t axis, std::int64_t index) {
  const Value at{nullptr, std::make_shared<const Known>(Known{DType::Int(64), 0, {m.c.i64(index)}})};
  return m.onnx(op_name::Gather, {Aten::of(x), at}, {{key::Axis, std::int64_t(axis)}});
}

}  // namespace

Made split(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const std::size_t axis = m.axis(m.integer("dim", 0), x);
  if (!m.given("split_sizes")) return equal_pieces(m, x, axis, m.integer("split_size", 0));
  const Ints sizes = m.ints("split_sizes", {});
  if (!m.good() || sizes.empty()) return m.done(m.fail("its sizes are not known"));
  return pieces_of(m, x, axis, sizes);
}

Made chunk(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const std::size_t axis = m.axis(m.integer("dim", 0), x);
  const std::int64_t n = m.size(x, axis), chunks = m.integer("chunks", 0);
  if (!m.good() || chunks < 1) return m.done(m.fail("it has no chunks"));
  return equal_pieces(m, x, axis, n / chunks + (n % chunks != 0));
}

Made unbind(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const std::size_t axis = m.axis(m.integer("dim", 0), x);
  const std::int64_t n = m.size(x, axis);
  if (m.good() && n > kMostPieces) return refuse("it has more than 4096 pieces");
  Values made;
  for (std::int64_t i = 0; m.good() && i < n; ++i) made.push_back(Aten::of(selected(m, x, axis, i)));
  return m.give(std::move(made));
}

Made select(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  return m.done(selected(m, x, m.axis(m.integer("dim", 0), x), m.integer("index", 0)));
}

Made slice(NodeContext& c) {
  Aten m(c);
  const Dims none;
  const auto bound = [&](std::string_view name, std::int64_t otherwise) {
    return m.given(name) ? m.known(m.sizes(name)) : m.known(Ints{otherwise});
  };
  return m.done(m.onnx(op_name::Slice, {m.self_value(), bound("start", 0), bound("end", INT64_MAX),
                                        m.known(Ints{m.integer("dim", 0)}), m.known(Ints{m.integer("step", 1)})}));
}

Made narrow(NodeContext& c) {
  Aten m(c);
  const std::int64_t start = m.integer("start", 0);
  return m.done(
      m.onnx(op_name::Slice, {m.self_value(), m.known(Ints{start}), m.known(Ints{start + m.integer("length", 0)}),
                              m.known(Ints{m.integer("dim", 0)})}));
}

Made flip(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  for (const std::int64_t a : m.ints("dims", {})) x = m.op(op::Flip, {x}, {{op_attr::Axis, c.ctx.attr(a)}});
  return m.done(x);
}

// ---- places ----

Made gather(NodeContext& c) {
  Aten m(c);
  return m.done(
      m.onnx(op_name::GatherElements, {m.self_value(), m.value("index")}, {{key::Axis, m.integer("dim", 0)}}));
}

Made index_select(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::Gather, {m.self_value(), m.value("index")}, {{key::Axis, m.integer("dim", 0)}}));
}

Made embedding(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::Gather, {m.value("weight"), m.value("indices")}, {{key::Axis, std::int64_t(0)}}));
}

Made triangle(NodeContext& c) {
  Aten m(c);
  const Value k{nullptr, std::make_shared<const Known>(Known{DType::Int(64), 0, {c.i64(m.integer("diagonal", 0))}})};
  return m.done(m.onnx(op_name::Trilu, {m.self_value(), k}, {{key::Upper, std::int64_t(c.target == variant::Upper)}}));
}

namespace {

// PyTorch names the pads from the last axis on.
Made padded(Aten& m, const Ints& given, const std::string& mode) {
  const Expr* x = m.self();
  const std::size_t n = m.rank(x);
  if (!m.good() || given.size() % 2 != 0 || given.size() / 2 > n) return m.done(m.fail("its pads are not of its axes"));
  Ints pads(2 * n);
  for (std::size_t i = 0; i < given.size() / 2; ++i) {
    pads[n - 1 - i] = given[2 * i];
    pads[2 * n - 1 - i] = given[2 * i + 1];
  }
  return m.done(m.onnx(op_name::Pad, {Aten::of(x), m.known(pads), Aten::of(m.lit(x, m.real("value", 0)))},
                       {{key::Mode, mode == "replicate"  ? "edge"
                                    : mode == "circular" ? "wrap"
                                                         : mode}}));
}

}  // namespace

Made pad(NodeContext& c) {
  Aten m(c);
  return padded(m, m.ints("pad", {}), m.text("mode", "constant"));
}

Made pad_by_reflection(NodeContext& c) {
  Aten m(c);
  return padded(m, m.ints("padding", {}), "reflect");
}

Made pad_by_replication(NodeContext& c) {
  Aten m(c);
  return padded(m, m.ints("padding", {}), "replicate");
}

// ---- new tensors ----

namespace {

Made filled(Aten& m, const Dims& dims) {
  const std::string_view what = m.c.target;
  const DType t = m.result_type(DType::Float(32));
  const std::string_view name = m.given("value") ? "value" : "fill_value";
  const Expr* value = what == variant::Value ? m.tensor_as(name, t) : m.lit(t, what == variant::One ? 1 : 0);
  if (!m.good()) return m.done(nullptr);
  return m.done(m.op(op::Full, {m.c.ctx.shape(dims), value}, {{op_attr::Dtype, m.c.ctx.attr(t)}}));
}

}  // namespace

Made full(NodeContext& c) {
  Aten m(c);
  return filled(m, m.sizes("size"));
}

Made full_like(NodeContext& c) {
  Aten m(c);
  return filled(m, m.dims(m.self()));
}

Made arange(NodeContext& c) {
  Aten m(c);
  const DType t = m.result_type(DType::Int(64));
  const auto bound = [&](std::string_view name, double otherwise) {
    return Aten::of(m.given(name) ? m.cast(m.tensor(name), t) : m.lit(t, otherwise));
  };
  return m.done(m.onnx(op_name::Range, {bound("start", 0), bound("end", 0), bound("step", 1)}));
}

}  // namespace rldb::onnx::aten
