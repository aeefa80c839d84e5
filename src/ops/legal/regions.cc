// Legalisation: regions of images brought to one size.
#include <limits>
#include <utility>

#include "ops/layout.h"
#include "ops/legal/statements.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/vision_attr.h"

namespace rldb::ops::legal {

using ir::Stmt;

namespace {

// The inputs of one element of the result; the extents of an image, and positions in it.
struct Region {
  Writer& w;
  ir::Context& ctx;
  const ir::Buffer *image, *rois;
  const Layout& layout;
  double scale;
  const Expr *roi, *channel, *row, *column;

  // Places and pixels are computed in the wider dtype of the two.
  DType t() const {
    return rois->dtype.is_float() && rois->dtype.bits > image->dtype.bits ? rois->dtype : image->dtype;
  }
  const Expr* lit(double v) const { return ctx.literal(t(), v); }
  const Expr* extent(char letter) const { return image->shape[std::size_t(layout.index_of(letter))]; }
  // Of the region: the image, then x and y of two corners.
  const Expr* field(int k) const { return ir::cast_to(ctx, t(), w.load(rois, {roi, ctx.i64(k)})); }
  const Expr* pixel(const Expr* y, const Expr* x) const {
    ExprList at(image->shape.size());
    at[std::size_t(layout.index_of('N'))] = ctx.cast(DType::Int(64), field(0));
    at[std::size_t(layout.index_of('C'))] = channel;
    at[std::size_t(layout.index_of('H'))] = y;
    at[std::size_t(layout.index_of('W'))] = x;
    return ir::cast_to(ctx, t(), ctx.load(image, at));
  }
};

using RegionBody = std::function<const Stmt*(const Region& r, const std::function<const Stmt*(const Expr*)>& store)>;

// `body` gives the statements of one element of the result.
Result<const Expr*> pooled(Legalizer& l, const ir::Call* c, std::string_view name, const RegionBody& body) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY_VOID(known_arg(c, 1));
  RLDB_TRY(const TensorType* out, known_result(c));
  if (!x->dtype.is_float()) return refuse(c, "the data are not floats");
  RLDB_TRY(const Layout layout, layout_of(*find(c->callee), attr_string(spec(c), op_attr::Layout), "NCHW"));
  const double scale = attr_float(spec(c), op_attr::SpatialScale);
  return l.call_te(name, c->args, c->type, [&](Te& te) -> Tensors {
    const te::Graph::OutputSpec outputs[] = {{te.ctx.list(mapped(te, out->shape)), out->dtype}};
    const auto write = [&te, &body, layout, scale](Buffers in, Buffers outs) -> const Stmt* {
      ir::Context& ctx = te.ctx;
      Writer w(ctx);
      return nest(ctx, outs[0]->shape, [&](const ExprList& i) -> const Stmt* {
        const auto at = [&](char letter) { return i[std::size_t(layout.index_of(letter))]; };
        const Region r{w, ctx, in[0], in[1], layout, scale, at('N'), at('C'), at('H'), at('W')};
        return body(r, [&](const Expr* v) -> const Stmt* {
          return ctx.store(outs[0], ir::cast_to(ctx, outs[0]->dtype, v), i);
        });
      });
    };
    return te.graph.extern_op(outputs, te.in, write, name);
  });
}

// The image between four pixels; those outside it are 0.
const Expr* bilinear(const Region& r, const Expr* y, const Expr* x) {
  ir::Context& ctx = r.ctx;
  const DType i64 = DType::Int(64);
  const auto floor = [&](const Expr* e) { return ctx.intrin(r.t(), ir::intrin::Floor, {e}); };
  const auto inside = [&](const Expr* i, const Expr* n) {
    return ir::logical_and(ctx, ir::compare(ctx, ir::BinaryKind::LE, ctx.i64(0), i),
                           ir::compare(ctx, ir::BinaryKind::LT, i, n));
  };
  const Expr *fy = floor(y), *fx = floor(x);
  const Expr *iy = ctx.cast(i64, fy), *ix = ctx.cast(i64, fx);
  const Expr *wy = ir::sub(ctx, y, fy), *wx = ir::sub(ctx, x, fx);
  const Expr* sum = nullptr;
  for (int dy = 0; dy < 2; ++dy)
    for (int dx = 0; dx < 2; ++dx) {
      const Expr *py = ir::add(ctx, iy, ctx.i64(dy)), *px = ir::add(ctx, ix, ctx.i64(dx));
      const Expr* ok = ir::logical_and(ctx, inside(py, r.extent('H')), inside(px, r.extent('W')));
      const Expr* value = ctx.intrin(r.t(), ir::intrin::IfThenElse, {ok, r.pixel(py, px), r.lit(0)});
      const Expr* ay = dy ? wy : ir::sub(ctx, r.lit(1), wy);
      const Expr* ax = dx ? wx : ir::sub(ctx, r.lit(1), wx);
      const Expr* part = ir::mul(ctx, ir::mul(ctx, value, ay), ax);
      sum = sum ? ir::add(ctx, sum, part) : part;
    }
  return sum;
}

}  // namespace

namespace {

// The two axes of regions in the form of TVM's computes. Indices are int64; where a whole number is only a part of a
// float, it is an int32 there.
struct RegionAxes {
  Topi& t;
  ir::Context& ctx;
  Tensor image, rois;
  const Layout& layout;
  double scale;
  DType d;

  const Expr* lit(double v) const { return t.lit(d, v); }
  const Expr* extent(char letter) const { return image->shape[std::size_t(layout.index_of(letter))]; }
  const Expr* field(const Expr* roi, int k) const { return ir::cast_to(ctx, d, t.g.load(rois, {roi, t.i64(k)})); }
  const Expr* corner(const Expr* roi, int k) const { return ir::mul(ctx, field(roi, k), lit(scale)); }
  const Expr* at(Indices i, char letter) const { return i[std::size_t(layout.index_of(letter))]; }
  const Expr* floor(const Expr* e) const { return ctx.intrin(d, ir::intrin::Floor, {e}); }
  const Expr* pixel(Indices i, const Expr* y, const Expr* x) const {
    ExprList place(image->shape.size());
    place[std::size_t(layout.index_of('N'))] = ctx.cast(DType::Int(64), field(at(i, 'N'), 0));
    place[std::size_t(layout.index_of('C'))] = at(i, 'C');
    place[std::size_t(layout.index_of('H'))] = y;
    place[std::size_t(layout.index_of('W'))] = x;
    return ir::cast_to(ctx, d, t.g.load(image, std::span<const Expr* const>(place)));
  }
};

// Samples of a fixed number per cell.
struct Samples {
  const RegionAxes& r;
  std::int64_t ratio;
  bool aligned;
  std::vector<std::int64_t> cells;

  // Of the sample `tap` of the cell at `i`, within the image; `free`: not brought into it.
  const Expr* place(Indices i, char letter, const Expr* tap, bool free = false) const {
    ir::Context& ctx = r.ctx;
    const int k = letter == 'H' ? 2 : 1;
    const Expr *roi = r.at(i, 'N'), *start = r.corner(roi, k);
    const Expr* whole = ir::sub(ctx, r.corner(roi, k + 2), start);
    if (!aligned) whole = ir::max(ctx, whole, r.lit(1));
    const Expr* bin = ir::div(ctx, whole, r.lit(double(cells[letter == 'H' ? 0 : 1])));
    start = ir::add(ctx, start, ir::mul(ctx, ir::cast_to(ctx, r.d, r.at(i, letter)), bin));
    const Expr* middle = ir::mul(ctx, ir::add(ctx, ir::cast_to(ctx, r.d, tap), r.lit(0.5)), bin);
    const Expr* out = ir::add(ctx, start, ir::div(ctx, middle, r.lit(double(ratio))));
    if (free) return out;
    const Expr* last = ir::cast_to(ctx, r.d, simplify(ctx, ir::sub(ctx, r.extent(letter), ctx.i64(1))));
    return ir::min(ctx, ir::max(ctx, out, r.lit(0)), last);
  }

  const Expr* element(Indices i, const Expr* row, const Expr* column) const {
    ir::Context& ctx = r.ctx;
    Topi& t = r.t;
    const Expr *y = place(i, 'H', row), *x = place(i, 'W', column);
    struct Tap {
      const Expr *index, *weight;
    };
    const auto taps = [&](const Expr* e) {
      const Expr* low = ctx.cast(DType::Int(64), r.floor(e));
      const Expr* above = ir::sub(ctx, e, ctx.cast(r.d, ctx.cast(DType::Int(32), r.floor(e))));
      return std::vector<Tap>{{low, ir::sub(ctx, r.lit(1), above)}, {ir::add(ctx, low, t.i64(1)), above}};
    };
    const Expr* sum = nullptr;
    for (const Tap& h : taps(x))
      for (const Tap& v : taps(y)) {
        const auto last = [&](char letter) { return ir::sub(ctx, r.extent(letter), t.i64(1)); };
        const Expr* inside = t.all(
            {t.le(t.i64(0), v.index), t.le(v.index, last('H')), t.le(t.i64(0), h.index), t.le(h.index, last('W'))});
        const Expr* value = ir::mul(ctx, ir::mul(ctx, h.weight, v.weight), r.pixel(i, v.index, h.index));
        const Expr* part = t.if_else(inside, value, r.lit(0));
        sum = sum ? ir::add(ctx, sum, part) : part;
      }
    const auto out = [&](char letter, const Expr* tap) {
      const Expr* at = place(i, letter, tap, true);
      return std::pair{t.lt(at, r.lit(-1)), t.lt(ir::cast_to(ctx, r.d, r.extent(letter)), at)};
    };
    const auto [above, below] = out('H', row);
    const auto [left, right] = out('W', column);
    const Expr* outside = ir::logical_or(ctx, ir::logical_or(ctx, ir::logical_or(ctx, above, left), below), right);
    return t.if_else(outside, r.lit(0), sum);
  }
};

Result<const Expr*> region_reduced(Legalizer& l, const ir::Call* c, std::string_view name,
                                   const std::function<Tensor(const RegionAxes& r, const ExprList& shape)>& body) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY(const TensorType* rois, known_arg(c, 1));
  RLDB_TRY(const TensorType* out, known_result(c));
  if (!x->dtype.is_float()) return refuse(c, "the data are not floats");
  RLDB_TRY(const Layout layout, layout_of(*find(c->callee), attr_string(spec(c), op_attr::Layout), "NCHW"));
  const DType d = rois->dtype.is_float() && rois->dtype.bits > x->dtype.bits ? rois->dtype : x->dtype;
  return l.call_te(name, c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    const RegionAxes r{t, te.ctx, te.in[0], te.in[1], layout, attr_float(spec(c), op_attr::SpatialScale), d};
    const Tensor made = body(r, mapped(te, out->shape));
    return {d == out->dtype ? made : t.cast(made, out->dtype)};
  });
}

Result<const Expr*> fixed_samples(Legalizer& l, const ir::Call* c, std::int64_t ratio, bool mean) {
  const auto size = *attr_ints(spec(c), op_attr::PooledSize);
  const bool aligned = attr_bool(spec(c), op_attr::Aligned);
  return region_reduced(l, c, "roi_align", [&](const RegionAxes& r, const ExprList& shape) {
    te::Graph& g = r.t.g;
    const Samples samples{r, ratio, aligned, {size.begin(), size.end()}};
    const ir::IterVar axes[] = {g.reduce_axis(r.t.i64(ratio), "rh"), g.reduce_axis(r.t.i64(ratio), "rw")};
    const auto source = [&](Indices i) {
      const Expr* v = samples.element(i, axes[0].var, axes[1].var);
      return mean ? ir::div(r.ctx, v, r.lit(double(ratio * ratio))) : v;
    };
    return g.reduce(shape, source, axes, mean ? g.sum_reducer(r.d) : g.max_reducer(r.d), "compute");
  });
}

}  // namespace

// Means (or maxima) of samples between pixels; if their number is not given, as many samples per cell as it has
// pixels: a number that is read from the regions, so that the samples are a loop. `aligned` as in TVM: a region may be
// smaller than a pixel, and is not shifted.
Result<const Expr*> roi_align(Legalizer& l, const ir::Call* c) {
  const auto size = *attr_ints(spec(c), op_attr::PooledSize);
  const std::int64_t ratio = attr_int(spec(c), op_attr::SampleRatio);
  const bool aligned = attr_bool(spec(c), op_attr::Aligned);
  const std::string_view mode = attr_string(spec(c), op_attr::Mode);
  if (mode != "avg" && mode != "max") return refuse(c, "the mode \"" + std::string(mode) + "\" is not lowered");
  const bool mean = mode == "avg";
  if (ratio > 0) return fixed_samples(l, c, ratio, mean);
  return pooled(l, c, "roi_align", [=](const Region& r, const auto& store) -> const Stmt* {
    ir::Context& ctx = r.ctx;
    Writer& w = r.w;
    const auto corner = [&](int k) { return ir::mul(ctx, r.field(k), r.lit(r.scale)); };
    struct Axis {
      const Expr *start, *bin, *samples;
    };
    const auto along = [&](int k, const Expr* cell, std::int64_t cells) {
      const Expr* whole = ir::sub(ctx, corner(k + 2), corner(k));
      if (!aligned) whole = ir::max(ctx, whole, r.lit(1));
      const Expr* bin = ir::div(ctx, whole, r.lit(double(cells)));
      const Expr* start = ir::add(ctx, corner(k), ir::mul(ctx, ir::cast_to(ctx, r.t(), cell), bin));
      return Axis{start, bin, ctx.cast(DType::Int(64), ctx.intrin(r.t(), ir::intrin::Ceil, {bin}))};
    };
    const Axis y = along(2, r.row, size[0]), x = along(1, r.column, size[1]);
    const auto place = [&](const Axis& a, const Expr* i) {
      const Expr* middle = ir::add(ctx, ir::cast_to(ctx, r.t(), i), r.lit(0.5));
      return ir::add(ctx, a.start, ir::div(ctx, ir::mul(ctx, middle, a.bin), ir::cast_to(ctx, r.t(), a.samples)));
    };
    const ir::Buffer* result = w.cell("result", r.t());
    const auto sample = [&](const Expr* i, const Expr* j) -> const Expr* {
      const Expr *at_y = place(y, i), *at_x = place(x, j);
      const auto out = [&](const Expr* at, const Expr* n) {
        return ir::logical_or(ctx, ir::compare(ctx, ir::BinaryKind::LT, at, r.lit(-1)),
                              ir::compare(ctx, ir::BinaryKind::LT, ir::cast_to(ctx, r.t(), n), at));
      };
      const auto within = [&](const Expr* at, const Expr* n) {
        return ir::min(ctx, ir::max(ctx, at, r.lit(0)), ir::cast_to(ctx, r.t(), ir::sub(ctx, n, ctx.i64(1))));
      };
      const Expr* outside = ir::logical_or(ctx, out(at_y, r.extent('H')), out(at_x, r.extent('W')));
      return ctx.intrin(r.t(), ir::intrin::IfThenElse,
                        {outside, r.lit(0), bilinear(r, within(at_y, r.extent('H')), within(at_x, r.extent('W')))});
    };
    const Expr* count = ir::cast_to(ctx, r.t(), ir::mul(ctx, y.samples, x.samples));
    // Each sample has its part of the mean, so that a region without any is 0.
    const Stmt* samples = w.loop("rh", y.samples, [&](const Expr* i) -> const Stmt* {
      return w.loop("rw", x.samples, [&](const Expr* j) -> const Stmt* {
        const Expr* v = sample(i, j);
        return w.set(result,
                     mean ? ir::add(ctx, w.get(result), ir::div(ctx, v, count)) : ir::max(ctx, w.get(result), v));
      });
    });
    return w.seq(
        {w.declare(result), w.set(result, mean ? r.lit(0) : ir::min_value(ctx, r.t())), samples, store(w.get(result))});
  });
}

// Maxima of cells of whole pixels; a cell without pixels is 0.
Result<const Expr*> roi_pool(Legalizer& l, const ir::Call* c) {
  const auto size = *attr_ints(spec(c), op_attr::PooledSize);
  return region_reduced(l, c, "roi_pool", [&](const RegionAxes& r, const ExprList& shape) {
    ir::Context& ctx = r.ctx;
    Topi& t = r.t;
    struct Cell {
      const Expr *first, *past;
    };
    const auto cell = [&](Indices i, char letter) {
      const DType i64 = DType::Int(64);
      const int k = letter == 'H' ? 2 : 1;
      // Halves are rounded up.
      const auto corner = [&](int field) {
        return ctx.cast(i64, r.floor(ir::add(ctx, r.corner(r.at(i, 'N'), field), r.lit(0.5))));
      };
      const Expr* start = corner(k);
      const Expr* pixels = ir::add(ctx, ir::sub(ctx, corner(k + 2), start), t.i64(1));
      const Expr* whole = ir::cast_to(ctx, r.d, ir::max(ctx, pixels, t.i64(1)));
      const Expr* bin = ir::div(ctx, whole, r.lit(double(size[letter == 'H' ? 0 : 1])));
      const auto edge = [&](ir::Intrinsic round, const Expr* of) {
        const Expr* place = ctx.intrin(r.d, round, {ir::mul(ctx, ir::cast_to(ctx, r.d, of), bin)});
        const Expr* pixel = ir::add(ctx, ctx.cast(i64, place), start);
        return ir::min(ctx, ir::max(ctx, pixel, t.i64(0)), r.extent(letter));
      };
      const Expr* at = r.at(i, letter);
      return Cell{edge(ir::intrin::Floor, at), edge(ir::intrin::Ceil, ir::add(ctx, at, t.i64(1)))};
    };
    te::Graph& g = t.g;
    const ir::IterVar axes[] = {g.reduce_axis(r.extent('H'), "rh"), g.reduce_axis(r.extent('W'), "rw")};
    const auto source = [&](Indices i) {
      const Cell y = cell(i, 'H'), x = cell(i, 'W');
      const Expr *row = axes[0].var, *column = axes[1].var;
      const Expr* inside = t.all({t.le(y.first, row), t.lt(row, y.past), t.le(x.first, column), t.lt(column, x.past)});
      return t.if_else(inside, r.pixel(i, row, column), r.lit(-std::numeric_limits<double>::infinity()));
    };
    const Tensor largest = g.reduce(shape, source, axes, g.max_reducer(r.d), "compute");
    return g.compute(shape, [&](Indices i) {
      const Cell y = cell(i, 'H'), x = cell(i, 'W');
      const Expr* empty = ir::logical_or(ctx, t.le(y.past, y.first), t.le(x.past, x.first));
      return t.if_else(empty, r.lit(0), g.load(largest, i));
    });
  });
}

}  // namespace rldb::ops::legal
