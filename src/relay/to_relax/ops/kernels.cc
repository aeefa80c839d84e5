#include "relay/to_relax/ops/kernels.h"

#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/relay/ir/field.h"

namespace rldb::to_relax::translations {

namespace {

const Expr* both(ir::Context& ctx, const Expr* a, const Expr* b) { return a ? ir::logical_and(ctx, a, b) : b; }

}  // namespace

const Expr* Sampled::last(std::size_t axis) const {
  return ir::sub(te.ctx, x->shape[before.size() + axis], te.ctx.i64(1));
}

const Expr* Sampled::inside(const Expr* y, const Expr* across) const {
  const Expr* all = nullptr;
  const Expr* places[] = {y, across};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    all = both(te.ctx, all, ir::compare(te.ctx, ir::BinaryKind::GE, places[axis], r.lit(0)));
    all = both(te.ctx, all, ir::compare(te.ctx, ir::BinaryKind::LE, places[axis], r.of(last(axis))));
  }
  return all;
}

// Indices outside the image become those of its edge.
const Expr* Sampled::at(const Expr* y, const Expr* across) const {
  Dims indices = before;
  const Expr* places[] = {y, across};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const Expr* index = ir::cast_to(te.ctx, DType::Int(64), places[axis]);
    indices.push_back(ir::max(te.ctx, ir::min(te.ctx, index, last(axis)), te.ctx.i64(0)));
  }
  return r.of(te.graph.load(x, indices));
}

const Expr* Sampled::nearest(const Expr* y, const Expr* across) const {
  return at(r.whole(y, ir::intrin::Round), r.whole(across, ir::intrin::Round));
}

const Expr* Sampled::bilinear(const Expr* y, const Expr* across) const {
  const Expr *top = r.whole(y, ir::intrin::Floor), *left = r.whole(across, ir::intrin::Floor);
  const Expr *below = r.add(top, r.lit(1)), *right = r.add(left, r.lit(1));
  const Expr *down = r.sub(y, top), *over = r.sub(across, left);
  const auto mix = [&](const Expr* a, const Expr* b, const Expr* part) {
    return r.add(r.mul(a, r.sub(r.lit(1), part)), r.mul(b, part));
  };
  return mix(mix(at(top, left), at(top, right), over), mix(at(below, left), at(below, right), over), down);
}

const Expr* Slide::count(ir::Context& ctx, const Expr* in, const Expr* window, std::size_t axis) const {
  const Expr* span = ir::mul(ctx, ir::sub(ctx, window, ctx.i64(1)), ctx.i64(dilation[axis]));
  const Expr* free = ir::sub(ctx, ir::add(ctx, in, ctx.i64(padding[axis] + padding[axis + 2] - 1)), span);
  return ir::add(ctx, ir::floor_div(ctx, free, ctx.i64(strides[axis])), ctx.i64(1));
}

const Expr* Slide::place(ir::Context& ctx, const Expr* i, const Expr* k, std::size_t axis) const {
  const Expr* begin = ir::sub(ctx, ir::mul(ctx, i, ctx.i64(strides[axis])), ctx.i64(padding[axis]));
  return ir::add(ctx, begin, ir::mul(ctx, k, ctx.i64(dilation[axis])));
}

ir::Result<Ints> four_paddings(OpCall& o) {
  Ints p = o.ints(relay::field::Padding).value_or(Ints{0});
  if (p.size() == 1) p.push_back(p[0]);
  if (p.size() == 2) p.insert(p.end(), {p[0], p[1]});
  if (p.size() != 4) return refuse("its padding is not of two axes");
  return p;
}

ir::Result<Slide> slide_of(OpCall& o, std::string_view dilation) {
  const Ints strides = o.ints(relay::field::Strides).value_or(Ints{1}), dilations = o.ints(dilation).value_or(Ints{1});
  if (strides.empty() || dilations.empty()) return refuse("its window is not known");
  Slide s;
  s.strides = {strides.front(), strides.back()};
  s.dilation = {dilations.front(), dilations.back()};
  RLDB_TRY(s.padding, four_paddings(o));
  if (s.strides[0] < 1 || s.strides[1] < 1) return refuse("a stride is not positive");
  return s;
}

std::string_view text_attr(OpCall& o, std::string_view name, std::string_view otherwise) {
  const relay::AttrValue* v = o.attr(name);
  return v && v->kind == relay::AttrKind::String ? v->text : otherwise;
}

const Expr* load_or_zero(Te& te, te::Tensor x, const Dims& at) {
  const Expr* inside = nullptr;
  for (std::size_t k = 0; k < at.size(); ++k) {
    inside = both(te.ctx, inside, ir::compare(te.ctx, ir::BinaryKind::GE, at[k], te.ctx.i64(0)));
    inside = both(te.ctx, inside, ir::compare(te.ctx, ir::BinaryKind::LT, at[k], x->shape[k]));
  }
  return te.ctx.intrin(x->dtype, ir::intrin::IfThenElse, {inside, te.graph.load(x, at), te.ctx.literal(x->dtype, 0)});
}

}  // namespace rldb::to_relax::translations
