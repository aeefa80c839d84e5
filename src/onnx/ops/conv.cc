// Convolutions.
#include "onnx/ops/conv.h"

#include <fmt/format.h>

#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/op/conv.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/window_attr.h"

namespace rldb::onnx::bodies {

namespace {

// By the number of spatial axes.
constexpr std::string_view kConv[] = {op::NnConv1d, op::NnConv2d, op::NnConv3d};
constexpr std::string_view kConvTranspose[] = {op::NnConv1dTranspose, op::NnConv2dTranspose, op::NnConv3dTranspose};

ir::Result<Dims> spatial_dims(const Dims& all) {
  if (all.size() < 3 || all.size() > 5)
    return refuse(fmt::format("its data has {} axes, and 1 to 3 spatial ones are translated", all.size()));
  return Dims(all.begin() + 2, all.end());
}

// Of the weight; those that are not known are the attribute's.
ir::Result<Ints> spatial_sizes(const NodeContext& c, const Dims& weight) {
  const Ints given = c.ints(key::KernelShape).value_or(Ints());
  Ints made;
  for (std::size_t k = 2; k < weight.size(); ++k) {
    auto n = int_of(weight[k]);
    if (!n && given.size() + 2 == weight.size()) n = given[k - 2];
    if (!n) return refuse("the shape of its weight is not known");
    made.push_back(*n);
  }
  return made;
}

// The weight, of a window of these sizes: those that are not known are checked when the program runs.
const Expr* of_window(NodeContext& c, const Expr* weight, const Ints& kernel) {
  for (std::size_t k = 0; weight && k < kernel.size(); ++k) weight = c.with_dim(weight, k + 2, c.i64(kernel[k]));
  return weight;
}

}  // namespace

// A value for each channel, along axis 1.
const Expr* per_channel(Chain& m, const Expr* vector, std::size_t rank) {
  return m.expand(vector, iota(1, std::int64_t(rank) - 1));
}

Made convolution(NodeContext& c, const Expr* data, const Expr* weight) {
  RLDB_TRY(const Dims dims, c.dims_of(data));
  RLDB_TRY(const Dims w, c.dims_of(weight));
  RLDB_TRY(const Dims spatial, spatial_dims(dims));
  RLDB_TRY(const Ints kernel, spatial_sizes(c, w));
  RLDB_TRY(const Window window, window_of(c, spatial, kernel));
  Chain m(c);
  data = with_open_pads(m, data, window, 0);
  RLDB_TRY_VOID(m.done(nullptr));
  weight = of_window(c, weight, kernel);
  std::vector<ir::NamedAttr> attrs = strides_and_padding(c, window);
  attrs.push_back({op_attr::Groups, c.ctx.attr(c.integer(key::Group, 1))});
  return c.emit(kConv[spatial.size() - 1], {data, weight}, attrs);
}

Made conv(NodeContext& c) {
  RLDB_TRY(const Expr* data, c.in(0));
  RLDB_TRY(const Expr* weight, c.in(1));
  RLDB_TRY(const Expr* made, convolution(c, data, weight));
  Chain m(c);
  if (!c.has(2)) return made;
  return m.done(m.add(made, per_channel(m, m.in(2), m.rank(made))));
}

namespace {

// The padding of the result, and the rows added to its ends, from the shape that the result is to have.
ir::Result<Ints> output_padding(NodeContext& c, Window& w, const Dims& spatial) {
  const std::size_t n = w.axes();
  Ints more = c.ints(key::OutputPadding, n, 0);
  const std::string how = c.text(key::AutoPad, "NOTSET");
  const bool same = how == "SAME_UPPER" || how == "SAME_LOWER";
  Ints shape = c.ints(key::OutputShape).value_or(Ints());
  if (shape.size() > n) shape.erase(shape.begin(), shape.end() - std::ptrdiff_t(n));
  if (shape.empty() && !same) return more;
  if (more.size() != n || (!shape.empty() && shape.size() != n)) return refuse("its result is not of its data's rank");
  w.open_pads.clear();
  for (std::size_t k = 0; k < n; ++k) {
    const auto extent = int_of(spatial[k]);
    if (!extent && !shape.empty()) return refuse("its padding depends on a dim that is not known");
    // A result of the data's size times the stride has the same padding for every size.
    const std::int64_t size = extent.value_or(1), wanted = shape.empty() ? size * w.strides[k] : shape[k];
    const std::int64_t total = (size - 1) * w.strides[k] + more[k] + w.span(k) - wanted;
    if (total < 0) more[k] -= total;
    const std::int64_t cut = std::max<std::int64_t>(0, total);
    w.pads[k] = how == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
    w.pads[n + k] = cut - w.pads[k];
  }
  return more;
}

}  // namespace

Made conv_transpose(NodeContext& c) {
  RLDB_TRY(const Dims dims, c.dims(0));
  RLDB_TRY(const Dims weight, c.dims(1));
  RLDB_TRY(const Dims spatial, spatial_dims(dims));
  RLDB_TRY(const Ints kernel, spatial_sizes(c, weight));
  RLDB_TRY(Window window, window_of(c, spatial, kernel));
  RLDB_TRY(const Ints more, output_padding(c, window, spatial));
  Chain m(c);
  std::vector<ir::NamedAttr> attrs = strides_and_padding(c, window);
  attrs.push_back({op_attr::OutputPadding, c.ints_attr(more)});
  attrs.push_back({op_attr::Groups, c.ctx.attr(c.integer(key::Group, 1))});
  const Expr* made = m.op(kConvTranspose[spatial.size() - 1], {m.in(0), of_window(c, m.in(1), kernel)}, attrs);
  if (c.has(2)) made = m.add(made, per_channel(m, m.in(2), dims.size()));
  return m.done(made);
}

namespace {

// Arithmetic on the positions at which a deformed window reads.
struct Deformed {
  Te& te;
  te::Tensor x;
  DType t;

  const Expr* real(const Expr* e) const { return ir::cast_to(te.ctx, t, e); }
  const Expr* whole(const Expr* e) const { return te.ctx.intrin(t, ir::intrin::Floor, {e}); }
  // The element there, or 0 outside of the image.
  const Expr* at(const Expr* n, const Expr* channel, const Expr* y, const Expr* across) const {
    ir::Context& ctx = te.ctx;
    const Expr* place[] = {ir::cast_to(ctx, DType::Int(64), y), ir::cast_to(ctx, DType::Int(64), across)};
    const Expr* inside = ctx.bool_imm(true);
    for (std::size_t k = 0; k < 2; ++k) {
      inside = ir::logical_and(ctx, inside, ir::compare(ctx, ir::BinaryKind::GE, place[k], ctx.i64(0)));
      inside = ir::logical_and(ctx, inside, ir::compare(ctx, ir::BinaryKind::LT, place[k], x->shape[2 + k]));
    }
    return ctx.intrin(t, ir::intrin::IfThenElse,
                      {inside, te.graph.load(x, {n, channel, place[0], place[1]}), ctx.literal(t, 0)});
  }
  const Expr* bilinear(const Expr* n, const Expr* channel, const Expr* y, const Expr* across) const {
    ir::Context& ctx = te.ctx;
    const Expr *top = whole(y), *left = whole(across), *one = ctx.literal(t, 1);
    const Expr *down = ir::sub(ctx, y, top), *over = ir::sub(ctx, across, left);
    const auto mix = [&](const Expr* a, const Expr* b, const Expr* part) {
      return ir::add(ctx, ir::mul(ctx, a, ir::sub(ctx, one, part)), ir::mul(ctx, b, part));
    };
    const auto row = [&](const Expr* at_y) {
      return mix(at(n, channel, at_y, left), at(n, channel, at_y, ir::add(ctx, left, one)), over);
    };
    return mix(row(top), row(ir::add(ctx, top, one)), down);
  }
};

struct DeformedConv {
  Window window;
  std::int64_t groups, offset_groups;
  bool masked;
};

// Operands: data, weight, the offsets (y, x) of each part of each window, and their factors.
std::vector<te::Tensor> deformed(Te& te, const DeformedConv& of, const Dims& to) {
  ir::Context& ctx = te.ctx;
  const te::Tensor x = te.in[0], weight = te.in[1], offset = te.in[2];
  const Window& w = of.window;
  const Deformed sample{te, x, x->dtype};
  const Expr* inner = weight->shape[1];
  const ir::IterVar parts[] = {te.graph.reduce_axis(inner, "rc"), te.graph.reduce_axis(ctx.i64(w.kernel[0]), "ry"),
                               te.graph.reduce_axis(ctx.i64(w.kernel[1]), "rx")};
  const Expr* per_group = ir::floor_div(ctx, weight->shape[0], ctx.i64(of.groups));
  const Expr* per_offset = ir::floor_div(ctx, x->shape[1], ctx.i64(of.offset_groups));
  return {te.graph.reduce(
      to,
      [&](te::Indices i) {
        const Expr *ky = parts[1].var, *kx = parts[2].var;
        const Expr* channel = ir::add(ctx, ir::mul(ctx, ir::floor_div(ctx, i[1], per_group), inner), parts[0].var);
        const Expr* part = ir::add(ctx, ir::mul(ctx, ky, ctx.i64(w.kernel[1])), kx);
        const Expr* window_part = ir::add(
            ctx, ir::mul(ctx, ir::floor_div(ctx, channel, per_offset), ctx.i64(w.kernel[0] * w.kernel[1])), part);
        const auto place = [&](std::size_t axis) {
          const Expr* begin = ir::sub(ctx, ir::mul(ctx, i[2 + axis], ctx.i64(w.strides[axis])), ctx.i64(w.pads[axis]));
          const Expr* k = axis == 0 ? ky : kx;
          const Expr* regular = ir::add(ctx, begin, ir::mul(ctx, k, ctx.i64(w.dilations[axis])));
          const Expr* which = ir::add(ctx, ir::mul(ctx, window_part, ctx.i64(2)), ctx.i64(std::int64_t(axis)));
          return ir::add(ctx, sample.real(regular), te.graph.load(offset, {i[0], which, i[2], i[3]}));
        };
        const Expr* value = sample.bilinear(i[0], channel, place(0), place(1));
        if (of.masked) value = ir::mul(ctx, value, te.graph.load(te.in[3], {i[0], window_part, i[2], i[3]}));
        return ir::mul(ctx, value, te.graph.load(weight, {i[1], parts[0].var, ky, kx}));
      },
      parts, te.graph.sum_reducer(x->dtype), "T_deform_conv")};
}

}  // namespace

Made deform_conv(NodeContext& c) {
  RLDB_TRY(const Dims dims, c.dims(0));
  RLDB_TRY(const Dims weight, c.dims(1));
  if (dims.size() != 4 || weight.size() != 4) return refuse("its data is not of two spatial axes");
  RLDB_TRY(const Ints kernel, spatial_sizes(c, weight));
  RLDB_TRY(const Window window, known_window_of(c, Dims(dims.begin() + 2, dims.end()), kernel));
  const DeformedConv of{window, c.integer(key::Group, 1), c.integer(key::OffsetGroup, 1), c.has(4)};
  if (of.groups < 1 || of.offset_groups < 1) return refuse("its groups are not positive");
  Chain m(c);
  Exprs operands{m.in(0), of_window(c, m.in(1), kernel), m.in(2)};
  if (of.masked) operands.push_back(m.in(4));
  const Dims offsets = m.dims(operands[2]);
  if (!m.good() || offsets.size() != 4) return m.done(m.fail("its offsets are not of rank 4"));
  RLDB_TRY(const Expr* made, c.kernel("onnx_deform_conv", operands, [&](Te& te) {
    return deformed(te, of, {te.in[0]->shape[0], te.in[1]->shape[0], te.in[2]->shape[2], te.in[2]->shape[3]});
  }));
  return m.done(c.has(3) ? m.add(made, per_channel(m, m.in(3), 4)) : made);
}

namespace {

struct Blocks {
  Ints image, block, strides, dilations, pads;
  std::int64_t count(std::size_t k) const {
    const std::int64_t span = (block[k] - 1) * dilations[k] + 1;
    return (image[k] + pads[k] + pads[block.size() + k] - span) / strides[k] + 1;
  }
};

ir::Result<Blocks> image_blocks(NodeContext& c) {
  RLDB_TRY(const Ints image, c.ints_in(1));
  RLDB_TRY(const Ints block, c.ints_in(2));
  const std::size_t n = block.size();
  Blocks b{image, block, c.ints(key::Strides, n, 1), c.ints(key::Dilations, n, 1), c.ints(key::Pads, 2 * n, 0)};
  if (n == 0 || b.image.size() != n || b.strides.size() != n || b.dilations.size() != n || b.pads.size() != 2 * n)
    return refuse("its image and its blocks have different ranks");
  for (std::size_t k = 0; k < n; ++k)
    if (b.block[k] < 1 || b.strides[k] < 1 || b.dilations[k] < 1 || b.image[k] < 1 || b.count(k) < 1)
      return refuse("its blocks do not fit into its image");
  return b;
}

// Each pixel is the sum of the places of blocks that cover it.
te::Tensor summed_blocks(Te& te, const Blocks& b, const Dims& to) {
  ir::Context& ctx = te.ctx;
  const std::size_t n = b.block.size();
  std::vector<ir::IterVar> parts;
  for (std::size_t k = 0; k < n; ++k) parts.push_back(te.graph.reduce_axis(ctx.i64(b.block[k]), fmt::format("r{}", k)));
  return te.graph.reduce(
      to,
      [&](te::Indices i) {
        const Expr *inside = ctx.bool_imm(true), *row = i[1], *column = ctx.i64(0);
        for (std::size_t k = 0; k < n; ++k) {
          const Expr* from = ir::sub(ctx, ir::add(ctx, i[2 + k], ctx.i64(b.pads[k])),
                                     ir::mul(ctx, parts[k].var, ctx.i64(b.dilations[k])));
          const Expr *step = ctx.i64(b.strides[k]), *at = ir::floor_div(ctx, from, step);
          const auto and_also = [&](const Expr* e) { inside = ir::logical_and(ctx, inside, e); };
          and_also(ir::compare(ctx, ir::BinaryKind::EQ, ir::floor_mod(ctx, from, step), ctx.i64(0)));
          and_also(ir::compare(ctx, ir::BinaryKind::GE, at, ctx.i64(0)));
          and_also(ir::compare(ctx, ir::BinaryKind::LT, at, ctx.i64(b.count(k))));
          row = ir::add(ctx, ir::mul(ctx, row, ctx.i64(b.block[k])), parts[k].var);
          column = ir::add(ctx, ir::mul(ctx, column, ctx.i64(b.count(k))), at);
        }
        const te::Tensor x = te.in[0];
        return static_cast<const Expr*>(
            ctx.intrin(x->dtype, ir::intrin::IfThenElse,
                       {inside, te.graph.load(x, {i[0], row, column}), ctx.literal(x->dtype, 0)}));
      },
      parts, te.graph.sum_reducer(te.in[0]->dtype), "T_col2im");
}

}  // namespace

// Operands: blocks as columns (n, channels * block, blocks), the shape of the image, the shape of a block.
Made col2im(NodeContext& c) {
  RLDB_TRY(const Blocks b, image_blocks(c));
  RLDB_TRY(const Dims dims, c.dims(0));
  if (dims.size() != 3) return refuse("its data is not of rank 3");
  std::int64_t block = 1, columns = 1;
  for (std::size_t k = 0; k < b.block.size(); ++k) block *= b.block[k];
  for (std::size_t k = 0; k < b.block.size(); ++k) columns *= b.count(k);
  if (int_of(dims[2]).value_or(columns) != columns) return refuse("the number of its blocks is not that of its image");
  RLDB_TRY(const Expr* x, c.in(0));
  return c.kernel("onnx_col2im", {x}, [&](Te& te) -> std::vector<te::Tensor> {
    Dims to{te.in[0]->shape[0], ir::floor_div(te.ctx, te.in[0]->shape[1], te.ctx.i64(block))};
    for (const std::int64_t d : b.image) to.push_back(te.ctx.i64(d));
    return {summed_blocks(te, b, to)};
  });
}

}  // namespace rldb::onnx::bodies
