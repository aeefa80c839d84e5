// Solvers of operators that move elements: other dims, other order, joined, cut, repeated.
#include "repro/fuzz/attributes.h"
#include "repro/fuzz/solve.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/ir/op_attr/pad_attr.h"
#include "rldb/ir/scalar.h"

namespace rldb::repro::solver {

using ir::DType;

namespace {

constexpr std::string_view kIndexMap = "T.index_map";  // as TVMScript writes it

Image with_zeros(const Known& x) { return {x.range | Range{0, 0}, x.exact, x.error}; }

// Another value that differs at most in the dim of this axis.
Known beside(Maker& m, const Known& x, int axis) {
  const auto fits = [&](const Known& v) {
    if (v.dtype() != x.dtype() || v.ndim() != x.ndim()) return false;
    for (int i = 0; i < x.ndim(); ++i)
      if (i != axis && !same_dim(v.dim(i), x.dim(i))) return false;
    return true;
  };
  if (!m.random.one_in(3))
    if (const auto found = m.find(fits)) return *found;
  Dims dims = dims_of(x.type);
  if (axis >= 0 && m.flip()) dims[std::size_t(axis)] = m.ctx.i64(m.size());
  return m.fresh(dims, x.dtype(), kEverything);
}

const ir::Expr* product_of(Maker& m, const Dims& dims, std::size_t from, std::size_t to) {
  const ir::Expr* all = m.ctx.i64(1);
  for (std::size_t i = from; i < to; ++i) all = ir::is_const(all, 1) ? dims[i] : ir::mul(m.ctx, all, dims[i]);
  return all;
}

}  // namespace

bool broadcast_to(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 0, 3});
  Dims to = dims_of(x.type);
  for (const ir::Expr*& d : to)
    if (ir::is_const(d, 1)) d = m.dim();
  for (std::size_t i = 0, n = m.random.below(3); i < n; ++i) to.insert(to.begin(), m.dim());
  return m.emit(op, {x.var, m.ctx.shape(to)}, {}, same(x)).has_value();
}

bool expand_dims(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 0, 3});
  const int more = 1 + int(m.random.one_in(3));
  const int ndim = x.ndim() + more;
  std::vector<std::int64_t> axes;
  for (int a : {int(m.random.below(std::size_t(ndim))), int(m.random.below(std::size_t(ndim)))}) {
    const bool taken = !axes.empty() && (axes[0] + ndim) % ndim == a;
    if (!taken && int(axes.size()) < more) axes.push_back(m.either(a, ndim));
  }
  if (int(axes.size()) < more) return false;
  return m.emit(op, {x.var}, Attributes(m, op).add(op_attr::Axis, axes), same(x)).has_value();
}

bool flatten(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 0, 4});
  return m.emit(op, {x.var}, {}, same(x)).has_value();
}

bool batch_flatten(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 2, 4});
  return m.emit(op, {x.var}, {}, same(x)).has_value();
}

// Neighbouring dims become one, or one becomes two.
bool reshape(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 1, 4});
  const Dims from = dims_of(x.type);
  const std::size_t at = m.random.below(from.size());
  Dims to(from.begin(), from.begin() + std::ptrdiff_t(at));
  if (from.size() > at + 1 && m.flip()) {
    to.push_back(product_of(m, from, at, at + 2));
    to.insert(to.end(), from.begin() + std::ptrdiff_t(at) + 2, from.end());
  } else {
    const auto n = ir::const_int(from[at]);
    std::int64_t part = 1;
    for (std::int64_t k : {2, 3, 7})
      if (n && *n % k == 0 && *n > 0 && m.flip()) part = k;
    if (n)
      to.insert(to.end(), {m.ctx.i64(*n / part), m.ctx.i64(part)});
    else
      to.insert(to.end(), {m.ctx.i64(1), from[at]});
    if (n && m.flip()) std::swap(to[to.size() - 1], to[to.size() - 2]);
    to.insert(to.end(), from.begin() + std::ptrdiff_t(at) + 1, from.end());
  }
  if (m.random.one_in(5)) to[m.random.below(to.size())] = m.ctx.i64(-1);
  return m.emit(op, {x.var, m.ctx.shape(to)}, {}, same(x)).has_value();
}

bool squeeze(Maker& m, const ops::OpInfo& op) {
  const auto has_one = [](const Known& v) {
    for (int i = 0; i < v.ndim(); ++i)
      if (ir::is_const(v.dim(i), 1)) return true;
    return false;
  };
  const auto found = m.find(has_one);
  const Known x = found ? *found : m.fresh({m.dim(), m.ctx.i64(1), m.dim()}, m.dtype(Kind::Any), kEverything);
  std::vector<std::int64_t> axes;
  for (int i = x.ndim(); i-- > 0;)
    if (ir::is_const(x.dim(i), 1) && (axes.empty() || m.flip())) axes.push_back(m.either(i, x.ndim()));
  Attributes attrs(m, op);
  if (m.random.one_in(4) && is_static(x.type))
    attrs.none(op_attr::Axis);
  else
    attrs.add(op_attr::Axis, axes);
  return m.emit(op, {x.var}, attrs, same(x)).has_value();
}

bool permute(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 1, 4});
  std::vector<std::int64_t> axes;
  for (int i = 0; i < x.ndim(); ++i) axes.push_back(m.either(i, x.ndim()));
  for (std::size_t i = axes.size(); i-- > 1;) std::swap(axes[i], axes[m.random.below(i + 1)]);
  Attributes attrs(m, op);
  if (m.random.one_in(5))
    attrs.none(op_attr::Axes);
  else
    attrs.add(op_attr::Axes, axes);
  return m.emit(op, {x.var}, attrs, same(x)).has_value();
}

// The axes in another order, or the last one in pieces.
bool layout_transform(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Number, 2, 3, kEverything, false, [](const Known& v) { return is_static(v.type); }});
  std::vector<const ir::Var*> from;
  for (int i = 0; i < x.ndim(); ++i) from.push_back(m.ctx.var(std::string("i") + char('0' + i), m.ctx.int64()));
  std::vector<const ir::Expr*> to(from.rbegin(), from.rend());
  const std::int64_t n = *ir::const_int(x.dim(x.ndim() - 1));
  if (n % 2 == 0 && m.flip()) {
    to.assign(from.begin(), from.end() - 1);
    to.push_back(ir::floor_div(m.ctx, from.back(), m.ctx.i64(2)));
    to.push_back(ir::floor_mod(m.ctx, from.back(), m.ctx.i64(2)));
  }
  const ir::Attr* lambda = m.ctx.attr(static_cast<const ir::Expr*>(m.ctx.lambda(from, to)));
  const ir::Attr* map = m.ctx.attr_opaque(kIndexMap, {&lambda, 1}, {});
  return m.emit(op, {x.var}, Attributes(m, op).add(op_attr::IndexMap, map), same(x)).has_value();
}

bool pixel_shuffle(Maker& m, const ops::OpInfo& op) {
  const Dims dims{m.dim(), m.ctx.i64(4 * std::int64_t(1 + m.random.below(2))), m.ctx.i64(m.size()), m.ctx.i64(3)};
  const Known x = m.of(dims, m.dtype(Kind::Float), kEverything);
  return m.emit(op, {x.var}, Attributes(m, op).add(op_attr::UpscaleFactor, std::int64_t(2)), same(x)).has_value();
}

bool concat(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 1, 4});
  const int axis = int(m.random.below(std::size_t(x.ndim())));
  std::vector<const ir::Expr*> all{x.var};
  Image image = same(x);
  for (std::size_t i = 0, n = 1 + m.random.below(2); i < n; ++i) {
    const Known y = beside(m, x, axis);
    all.push_back(y.var);
    image = {image.range | y.range, image.exact && y.exact, std::max(image.error, y.error)};
  }
  return m.emit(op, {m.ctx.tuple(all)}, Attributes(m, op).add(op_attr::Axis, m.either(axis, x.ndim())), image)
      .has_value();
}

bool stack(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 0, 3}), y = beside(m, x, -1);
  const ir::Expr* all[] = {x.var, y.var};
  const Image image{x.range | y.range, x.exact && y.exact, std::max(x.error, y.error)};
  return m.emit(op, {m.ctx.tuple(all)}, Attributes(m, op).add(op_attr::Axis, m.axis_of(x.ndim() + 1)), image)
      .has_value();
}

bool split(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 1, 4});
  const int axis = int(m.random.below(std::size_t(x.ndim())));
  const auto n = ir::const_int(x.dim(axis));
  if (!n || *n < 2) return false;
  Attributes attrs(m, op);
  attrs.add(op_attr::Axis, m.either(axis, x.ndim()));
  const std::int64_t cut = 1 + std::int64_t(m.random.below(std::size_t(*n - 1)));
  const std::int64_t parts = *n % 3 == 0 ? 3 : 2;
  if (*n % parts == 0 && m.flip())
    attrs.add(op_attr::IndicesOrSections, parts);
  else if (cut + 1 < *n && m.flip())
    attrs.add(op_attr::IndicesOrSections, std::vector<std::int64_t>{cut, cut + 1});
  else
    attrs.add(op_attr::IndicesOrSections, std::vector<std::int64_t>{cut});
  return m.emit(op, {x.var}, attrs, same(x)).has_value();
}

bool repeat(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 1, 3});
  Attributes attrs(m, op);
  attrs.add(op_attr::Repeats, std::int64_t(1 + m.random.below(3)));
  if (m.random.one_in(3))
    attrs.none(op_attr::Axis);
  else
    attrs.add(op_attr::Axis, m.axis_of(x.ndim()));
  return m.emit(op, {x.var}, attrs, same(x)).has_value();
}

bool tile(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 0, 3});
  std::vector<std::int64_t> times;
  for (std::size_t i = 0, n = 1 + m.random.below(std::size_t(x.ndim()) + 1); i < n; ++i)
    times.push_back(std::int64_t(1 + m.random.below(2)));
  return m.emit(op, {x.var}, Attributes(m, op).add(op_attr::Repeats, times), same(x)).has_value();
}

bool meshgrid(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Number, 1, 1}), y = beside(m, x, 0);
  const ir::Expr* all[] = {x.var, y.var};
  const Image image{x.range | y.range, x.exact && y.exact, std::max(x.error, y.error)};
  return m.emit(op, {m.ctx.tuple(all)}, Attributes(m, op).add(op_attr::Indexing, m.flip() ? "ij" : "xy"), image)
      .has_value();
}

bool pad(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 1, 4});
  const char* mode = m.one_of(std::vector<const char*>{"constant", "constant", "reflect", "replicate", "circular"});
  std::vector<std::int64_t> widths;
  for (int i = 0; i < x.ndim(); ++i) {
    // A reflection needs an element more than it adds.
    const std::int64_t most = std::min<std::int64_t>(mode[0] == 'c' && mode[1] == 'o' ? 3 : least_of(x.dim(i)), 3);
    for (int side = 0; side < 2; ++side)
      widths.push_back(m.flip() || most < 1 ? 0 : std::int64_t(m.random.below(std::size_t(most))));
  }
  Attributes attrs(m, op);
  attrs.add(op_attr::PadWidth, widths).add(op_attr::PadMode, mode);
  if (mode[1] == 'o') attrs.add(op_attr::PadValue, m.flip() ? 0.0 : 0.5);
  return m.emit(op, {x.var}, attrs, {x.range | Range{0, 0.5}, x.exact, x.error}).has_value();
}

bool flip_axis(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 1, 4});
  return m.emit(op, {x.var}, Attributes(m, op).add(op_attr::Axis, m.axis_of(x.ndim())), same(x)).has_value();
}

bool reverse_sequence(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 2, 4});
  const int batch = int(m.random.below(std::size_t(x.ndim())));
  const int along = (batch + 1 + int(m.random.below(std::size_t(x.ndim() - 1)))) % x.ndim();
  const std::int64_t most = least_of(x.dim(along));
  if (most < 1) return false;
  const DType dtype = m.flip() ? DType::Int(32) : DType::Int(64);
  const Known lengths = m.of({x.dim(batch)}, dtype, {1, double(most)});
  Attributes attrs(m, op);
  attrs.add(op_attr::SeqAxis, m.either(along, x.ndim())).add(op_attr::BatchAxis, m.either(batch, x.ndim()));
  return m.emit(op, {x.var, lengths.var}, attrs, same(x)).has_value();
}

bool triangle(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Any, 2, 4});
  return m.emit(op, {x.var, m.ctx.i64(std::int64_t(m.random.below(5)) - 2)}, {}, with_zeros(x)).has_value();
}

bool dropout(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 1, 4});
  return m.emit(op, {x.var}, {}, {x.range | Range{0, 1}, x.exact, x.error}).has_value();
}

}  // namespace rldb::repro::solver
