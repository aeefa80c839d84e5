// Legalisation: regions of images brought to one size.
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

// Means (or maxima) of samples between pixels; if their number is not given, as many samples per cell as it has
// pixels. `aligned` as in TVM: a region may be smaller than a pixel, and is not shifted.
Result<const Expr*> roi_align(Legalizer& l, const ir::Call* c) {
  const auto size = *attr_ints(spec(c), op_attr::PooledSize);
  const std::int64_t ratio = attr_int(spec(c), op_attr::SampleRatio);
  const bool aligned = attr_bool(spec(c), op_attr::Aligned);
  const std::string_view mode = attr_string(spec(c), op_attr::Mode);
  if (mode != "avg" && mode != "max") return refuse(c, "the mode \"" + std::string(mode) + "\" is not lowered");
  const bool mean = mode == "avg";
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
      const Expr* samples = ctx.i64(ratio);
      if (ratio <= 0) samples = ctx.cast(DType::Int(64), ctx.intrin(r.t(), ir::intrin::Ceil, {bin}));
      return Axis{start, bin, samples};
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
  return pooled(l, c, "roi_pool", [=](const Region& r, const auto& store) -> const Stmt* {
    ir::Context& ctx = r.ctx;
    Writer& w = r.w;
    const DType i64 = DType::Int(64);
    constexpr double kEpsilon = 1e-5;
    const auto corner = [&](int k) {
      return ctx.cast(i64, ctx.intrin(r.t(), ir::intrin::Round, {ir::mul(ctx, r.field(k), r.lit(r.scale))}));
    };
    struct Span {
      const Expr *first, *past;
    };
    const auto along = [&](int k, const Expr* cell, std::int64_t cells, const Expr* extent) {
      const Expr* start = corner(k);
      const Expr* whole = ir::max(ctx, ir::add(ctx, ir::sub(ctx, corner(k + 2), start), ctx.i64(1)), ctx.i64(1));
      const Expr* bin = ir::div(ctx, ir::cast_to(ctx, r.t(), whole), r.lit(double(cells)));
      const auto edge = [&](ir::Intrinsic round, std::int64_t ahead, double epsilon) {
        const Expr* at = ir::cast_to(ctx, r.t(), ir::add(ctx, cell, ctx.i64(ahead)));
        const Expr* place = ir::add(ctx, ir::mul(ctx, at, bin), r.lit(epsilon));
        const Expr* pixel = ir::add(ctx, ctx.cast(i64, ctx.intrin(r.t(), round, {place})), start);
        return ir::min(ctx, ir::max(ctx, pixel, ctx.i64(0)), extent);
      };
      return Span{edge(ir::intrin::Floor, 0, kEpsilon), edge(ir::intrin::Ceil, 1, -kEpsilon)};
    };
    const Span y = along(2, r.row, size[0], r.extent('H')), x = along(1, r.column, size[1], r.extent('W'));
    const ir::Buffer* result = w.cell("result", r.t());
    const auto count = [&](const Span& s) { return ir::max(ctx, ir::sub(ctx, s.past, s.first), ctx.i64(0)); };
    const auto empty = [&](const Span& s) { return ir::compare(ctx, ir::BinaryKind::LE, s.past, s.first); };
    const Stmt* pixels = w.loop("rh", count(y), [&](const Expr* i) -> const Stmt* {
      return w.loop("rw", count(x), [&](const Expr* j) -> const Stmt* {
        return w.set(result, ir::max(ctx, w.get(result), r.pixel(ir::add(ctx, y.first, i), ir::add(ctx, x.first, j))));
      });
    });
    const Expr* start = ctx.select(ir::logical_or(ctx, empty(y), empty(x)), r.lit(0), ir::min_value(ctx, r.t()));
    return w.seq({w.declare(result), w.set(result, start), pixels, store(w.get(result))});
  });
}

}  // namespace rldb::ops::legal
