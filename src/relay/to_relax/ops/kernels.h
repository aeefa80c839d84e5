// Helpers of our own image kernels: positions as real numbers, sliding windows, elements outside.
#pragma once

#include <array>

#include "relay/to_relax/translations.h"

namespace rldb::to_relax::translations {

// window.cc: the axes that convert a tensor from one layout to another.
ir::Result<Ints> order(std::string_view from, std::string_view to);

// Arithmetic in the dtype of positions.
struct Real {
  Te& te;
  DType dtype;

  const Expr* lit(double v) const { return te.ctx.literal(dtype, v); }
  const Expr* of(const Expr* e) const { return ir::cast_to(te.ctx, dtype, e); }
  const Expr* add(const Expr* a, const Expr* b) const { return ir::add(te.ctx, a, b); }
  const Expr* sub(const Expr* a, const Expr* b) const { return ir::sub(te.ctx, a, b); }
  const Expr* mul(const Expr* a, const Expr* b) const { return ir::mul(te.ctx, a, b); }
  const Expr* div(const Expr* a, const Expr* b) const { return ir::div(te.ctx, a, b); }
  const Expr* whole(const Expr* a, ir::Intrinsic how) const { return te.ctx.intrin(dtype, how, {a}); }
};

// An image whose last two axes are read at positions between its elements.
struct Sampled {
  Te& te;
  const Real& r;
  te::Tensor x;
  Dims before;  // the indices of its other axes

  const Expr* last(std::size_t axis) const;
  const Expr* inside(const Expr* y, const Expr* across) const;
  const Expr* nearest(const Expr* y, const Expr* across) const;
  const Expr* bilinear(const Expr* y, const Expr* across) const;
  const Expr* at(const Expr* y, const Expr* across) const;
};

// A window over the last two axes of an image.
struct Slide {
  std::array<std::int64_t, 2> strides, dilation;
  Ints padding;  // above, left, below, right

  // The number of positions.
  const Expr* count(ir::Context& ctx, const Expr* in, const Expr* window, std::size_t axis) const;
  // The element that position `i`, part `k` reads.
  const Expr* place(ir::Context& ctx, const Expr* i, const Expr* k, std::size_t axis) const;
};
// From the attributes `strides`, `padding`, and the one with that name.
ir::Result<Slide> slide_of(OpCall& o, std::string_view dilation);
// The attribute `padding` as above, left, below, right.
ir::Result<Ints> four_paddings(OpCall& o);

// An attribute that the operator's row does not list.
std::string_view text_attr(OpCall& o, std::string_view name, std::string_view otherwise);

// An element, or 0 outside the tensor.
const Expr* load_or_zero(Te& te, te::Tensor x, const Dims& at);

}  // namespace rldb::to_relax::translations
