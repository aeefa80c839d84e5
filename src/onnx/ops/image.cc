// Images: padding, grids, space moved into depth, detection.
#include "rldb/ir/op/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "onnx/ops/window.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/vision.h"
#include "rldb/ir/op_attr/image_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/pad_attr.h"
#include "rldb/ir/op_attr/vision_attr.h"

namespace rldb::onnx::bodies {

namespace {

// Before each axis, then after each: given for all axes, or for some.
ir::Result<Dims> pads_of(NodeContext& c, std::size_t rank) {
  Dims pads;
  if (c.has(1)) {
    RLDB_TRY(pads, c.dims_in(1));
  } else {
    const auto given = c.ints(key::Pads) ? c.ints(key::Pads) : c.ints(key::Paddings);
    for (const std::int64_t p : given.value_or(Ints())) pads.push_back(c.i64(p));
  }
  RLDB_TRY(const Ints axes, c.has(3) ? c.ints_in(3) : ir::Result<Ints>(iota(0, std::int64_t(rank))));
  if (pads.size() != 2 * axes.size()) return refuse("its padding does not have two numbers for each axis");
  Dims made(2 * rank, c.i64(0));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    RLDB_TRY(const std::size_t axis, c.axis(axes[i], rank));
    made[axis] = pads[i];
    made[rank + axis] = pads[axes.size() + i];
  }
  return made;
}

// nullopt: one of them is an expression of dims.
std::optional<Ints> as_numbers(const Dims& pads) {
  Ints made;
  for (const Expr* e : pads) {
    const auto v = int_of(e);
    if (!v) return std::nullopt;
    made.push_back(*v);
  }
  return made;
}

// Negative padding cuts.
const Expr* cut_edges(Chain& m, const Expr* x, Ints& pads) {
  const Dims dims = m.dims(x);
  for (std::size_t k = 0; k < dims.size(); ++k) {
    std::int64_t &before = pads[k], &after = pads[dims.size() + k];
    if (before >= 0 && after >= 0) continue;
    const std::int64_t from = std::max<std::int64_t>(0, -before);
    const Expr* end = ir::add(m.ctx, dims[k], m.c.i64(std::min<std::int64_t>(0, after)));
    if (m.good()) x = m.take(m.c.sliced(x, k, m.c.i64(from), end));
    before = std::max<std::int64_t>(0, before);
    after = std::max<std::int64_t>(0, after);
  }
  return x;
}

const Expr* padded(Chain& m, const Expr* x, const Ints& pads, std::string_view mode, double value) {
  const std::size_t n = pads.size() / 2;
  Ints pairs;
  for (std::size_t k = 0; k < n; ++k) pairs.insert(pairs.end(), {pads[k], pads[n + k]});
  if (std::all_of(pairs.begin(), pairs.end(), [](std::int64_t p) { return p == 0; })) return x;
  return m.op(op::NnPad, {x},
              {{op_attr::PadWidth, m.c.ints_attr(pairs)},
               {op_attr::PadMode, m.ctx.attr(mode)},
               {op_attr::PadValue, m.ctx.attr(value)}});
}

// The element that stands at `i` of an axis of `n`, outside of which others are repeated.
const Expr* repeated_place(ir::Context& ctx, std::string_view mode, const Expr* i, const Expr* n) {
  const Expr *zero = ctx.i64(0), *last = ir::sub(ctx, n, ctx.i64(1));
  if (mode == "edge") return ir::max(ctx, zero, ir::min(ctx, i, last));
  if (mode == "circular") return ir::floor_mod(ctx, i, n);
  // There and back again: an axis of one element has only that.
  const Expr* way = ir::max(ctx, ir::mul(ctx, last, ctx.i64(2)), ctx.i64(1));
  const Expr* at = ir::floor_mod(ctx, i, way);
  return ir::min(ctx, ir::min(ctx, at, ir::sub(ctx, way, at)), last);
}

// Padding that depends on dims, or a value that only a run knows. Operands: data, and the value of `constant`.
std::vector<te::Tensor> padded_by_dims(Te& te, Dims pads, std::string_view mode) {
  for (const Expr*& p : pads) p = te.map(p);
  ir::Context& ctx = te.ctx;
  const te::Tensor x = te.in[0];
  const std::size_t n = pads.size() / 2;
  Dims to;
  for (std::size_t k = 0; k < n; ++k) to.push_back(ir::add(ctx, ir::add(ctx, x->shape[k], pads[k]), pads[n + k]));
  const auto element = [&](te::Indices i) {
    const Expr* inside = ctx.bool_imm(true);
    Exprs at;
    for (std::size_t k = 0; k < n; ++k) {
      const Expr* place = ir::sub(ctx, i[k], pads[k]);
      const bool grows = !ir::is_const(pads[k], 0) || !ir::is_const(pads[n + k], 0);
      if (grows && mode != "constant") place = repeated_place(ctx, mode, place, x->shape[k]);
      if (grows && mode == "constant") {
        const Expr* from = ir::compare(ctx, ir::BinaryKind::GE, place, ctx.i64(0));
        const Expr* below = ir::compare(ctx, ir::BinaryKind::LT, place, x->shape[k]);
        inside = ir::logical_and(ctx, inside, ir::logical_and(ctx, from, below));
      }
      at.push_back(place);
    }
    const Expr* there = te.graph.load(x, at);
    if (mode != "constant") return there;
    return static_cast<const Expr*>(
        ctx.intrin(x->dtype, ir::intrin::IfThenElse, {inside, there, te.graph.load(te.in[1], {})}));
  };
  return {te.graph.compute(to, element, "T_pad")};
}

Made pad_by_dims(Chain& m, const Expr* x, const Dims& pads, std::string_view mode) {
  Exprs operands{x};
  if (mode == "constant") operands.push_back(m.c.has(2) ? m.reshape(m.in(2), {}) : m.lit(x, m.c.real(key::Value, 0)));
  if (!m.good()) return m.done(nullptr);
  return m.c.kernel("onnx_pad", operands, [&](Te& te) { return padded_by_dims(te, pads, mode); });
}

}  // namespace

const Expr* with_open_pads(Chain& m, const Expr* x, const Window& w, double value) {
  const std::size_t n = w.axes();
  const Expr* fill = m.lit(x, value);
  if (w.open_pads.empty() || !m.good()) return x;
  Dims pads(2, m.c.i64(0));  // of the batch and the channels
  pads.insert(pads.end(), w.open_pads.begin(), w.open_pads.begin() + std::ptrdiff_t(n));
  pads.insert(pads.end(), 2, m.c.i64(0));
  pads.insert(pads.end(), w.open_pads.begin() + std::ptrdiff_t(n), w.open_pads.end());
  return m.take(m.c.kernel("onnx_pad", {x, fill}, [&](Te& te) { return padded_by_dims(te, pads, "constant"); }));
}

Made pad(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const std::size_t rank = m.rank(x);
  if (!m.good()) return m.done(nullptr);
  RLDB_TRY(const Dims pads, pads_of(c, rank));
  RLDB_TRY(const std::string given, c.word(key::Mode, "constant", {"constant", "reflect", "edge", "wrap"}));
  const std::string mode = given == "wrap" ? "circular" : given;
  std::optional<Ints> numbers = as_numbers(pads);
  if (!numbers || (mode == "constant" && c.has(2) && !c.is_literal(2))) return pad_by_dims(m, x, pads, mode);
  double value = c.real(key::Value, 0);
  if (c.has(2)) {
    RLDB_TRY(value, c.real_in(2, 0));
  }
  x = cut_edges(m, x, *numbers);
  return m.done(padded(m, x, *numbers, mode, value));
}

// The middle of each axis, or the axis in the middle of zeros.
Made center_crop_pad(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const std::size_t rank = m.rank(x);
  if (!m.good()) return m.done(nullptr);
  RLDB_TRY(const Ints shape, c.ints_in(1));
  const Ints axes = c.ints(key::Axes).value_or(iota(0, std::int64_t(rank)));
  if (axes.size() != shape.size()) return refuse("its shape does not have a dim for each axis");
  Ints pads(2 * rank);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = m.axis(axes[i], x);
    const std::int64_t more = shape[i] - m.size(x, axis);
    if (!m.good()) return m.done(nullptr);
    pads[axis] = more < 0 ? -(-more / 2) : more / 2;
    pads[rank + axis] = more - pads[axis];
  }
  x = cut_edges(m, x, pads);
  return m.done(padded(m, x, pads, "constant", 0));
}

// ---- grids ----

namespace {

// The last axis becomes the second one.
Ints last_to_second(std::size_t rank) {
  Ints axes = iota(1, std::int64_t(rank) - 1);
  axes.insert(axes.begin(), {0, std::int64_t(rank) - 1});
  return axes;
}
Ints second_to_last(std::size_t rank) {
  Ints axes = iota(2, std::int64_t(rank));
  axes.insert(axes.begin(), 0);
  axes.push_back(1);
  return axes;
}

// The words of version 16, and those of version 20.
ir::Result<std::string_view> sampling_method(const NodeContext& c) {
  RLDB_TRY(const std::string mode, c.word(key::Mode, "linear", {"linear", "nearest", "cubic", "bilinear", "bicubic"}));
  return std::string_view(mode == "nearest" ? "nearest" : mode.ends_with("cubic") ? "bicubic" : "bilinear");
}

}  // namespace

Made grid_sample(NodeContext& c) {
  RLDB_TRY(const std::string_view method, sampling_method(c));
  RLDB_TRY(const std::string around, c.word(key::PaddingMode, "zeros", {"zeros", "border", "reflection"}));
  Chain m(c);
  const Expr* x = m.in(0);
  const std::size_t rank = m.rank(x);
  return m.done(m.op(op::ImageGridSample, {x, m.permute(m.in(1), last_to_second(rank))},
                     {{op_attr::Method, c.ctx.attr(method)},
                      {op_attr::Layout, c.ctx.attr(rank == 5 ? "NCDHW" : "NCHW")},
                      {op_attr::PaddingMode, c.ctx.attr(around)},
                      {op_attr::AlignCorners, c.ctx.attr(c.integer(key::AlignCorners, 0) != 0)}}));
}

namespace {

// The places of an axis between -1 and 1.
std::vector<double> axis_places(std::int64_t n, bool corners) {
  std::vector<double> made;
  for (std::int64_t i = 0; i < n; ++i)
    made.push_back(corners ? (n > 1 ? -1 + 2.0 * double(i) / double(n - 1) : 0)
                           : (2.0 * double(i) + 1) / double(n) - 1);
  return made;
}

// A row (x, y, z, 1) for each place of a volume.
const Expr* volume_places(Chain& m, const Ints& size, bool corners, DType t) {
  const std::vector<double> z = axis_places(size[2], corners), y = axis_places(size[3], corners),
                            x = axis_places(size[4], corners);
  std::vector<double> rows;
  for (const double a : z)
    for (const double b : y)
      for (const double d : x) rows.insert(rows.end(), {d, b, a, 1});
  return m.constant(rows, {std::int64_t(rows.size() / 4), 4}, t);
}

}  // namespace

Made affine_grid(NodeContext& c) {
  RLDB_TRY(const Ints size, c.ints_in(1));
  const bool corners = c.integer(key::AlignCorners, 0) != 0;
  Chain m(c);
  const Expr* theta = m.in(0);
  constexpr std::int64_t kMostPlaces = std::int64_t(1) << 24;
  std::int64_t places = 1;
  for (const std::int64_t n : size)
    if (n < 1 || (places *= n) > kMostPlaces) return refuse("its size is not positive, or too large");
  if (corners && std::find(size.begin() + std::min<std::ptrdiff_t>(2, std::ssize(size)), size.end(), 1) != size.end())
    return refuse("its corners are aligned along an axis of one element");
  if (size.size() == 4) {
    const Dims dims{c.i64(size[2]), c.i64(size[3])};
    const Expr* made =
        m.op(op::ImageAffineGrid, {theta, c.ctx.shape(dims)}, {{op_attr::AlignCorners, c.ctx.attr(corners)}});
    return m.done(m.permute(made, second_to_last(4)));
  }
  if (size.size() != 5) return refuse("its size is that of neither images nor volumes");
  const Expr* rows = volume_places(m, size, corners, m.dtype(theta));
  const Expr* made = m.matmul(rows, m.permute(theta, {0, 2, 1}));
  const Dims all = m.dims(theta);
  if (!m.good()) return m.done(nullptr);
  return m.done(m.reshape(made, {all[0], c.i64(size[2]), c.i64(size[3]), c.i64(size[4]), c.i64(3)}));
}

// ---- space and depth ----

Made depth_to_space(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const Dims d = m.dims(x);
  const std::int64_t b = c.integer(key::Blocksize, 1);
  if (!m.good() || d.size() != 4 || b < 1) return m.done(m.fail("its data is not an image, or its block is empty"));
  const Expr *n = c.i64(b), *deep = ir::floor_div(c.ctx, d[1], c.i64(b * b));
  RLDB_TRY(const std::string mode, c.word(key::Mode, "DCR", {"DCR", "CRD"}));
  const bool columns = mode == "DCR";
  const Expr* split = m.reshape(x, columns ? Dims{d[0], n, n, deep, d[2], d[3]} : Dims{d[0], deep, n, n, d[2], d[3]});
  const Expr* moved = m.permute(split, columns ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3});
  return m.done(m.reshape(moved, {d[0], deep, ir::mul(c.ctx, d[2], n), ir::mul(c.ctx, d[3], n)}));
}

Made space_to_depth(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const Dims d = m.dims(x);
  const std::int64_t b = c.integer(key::Blocksize, 1);
  if (!m.good() || d.size() != 4 || b < 1) return m.done(m.fail("its data is not an image, or its block is empty"));
  const Expr *n = c.i64(b), *high = ir::floor_div(c.ctx, d[2], n), *wide = ir::floor_div(c.ctx, d[3], n);
  const Expr* split = m.reshape(x, {d[0], d[1], high, n, wide, n});
  return m.done(
      m.reshape(m.permute(split, {0, 3, 5, 1, 2, 4}), {d[0], ir::mul(c.ctx, d[1], c.i64(b * b)), high, wide}));
}

// ---- detection ----

namespace {

// (centre x, centre y, width, height) as two opposite corners (y, x).
const Expr* corners_of(Chain& m, const Expr* boxes) {
  const auto column = [&](std::int64_t k) { return m.slice(boxes, 2, k, k + 1); };
  const Expr *half_wide = m.mul(column(2), 0.5), *half_high = m.mul(column(3), 0.5);
  return m.join({m.sub(column(1), half_high), m.sub(column(0), half_wide), m.add(column(1), half_high),
                 m.add(column(0), half_wide)},
                2);
}

// The chosen boxes as (batch, class, box), for as many as there may be, and their number. `overlap`: what is
// suppressed, `score`: what is not chosen.
Made chosen_boxes(NodeContext& c, Chain& m, const Expr* boxes, const Expr* scores, const Expr* overlap,
                  const Expr* score) {
  const Expr* most = c.has(2) ? m.reshape(m.in(2), {}) : m.lit(DType::Int(64), 0);
  return m.done(m.op(op::VisionAllClassNonMaxSuppression, {boxes, scores, most, m.reshape(overlap, {}), score},
                     {{op_attr::OutputFormat, c.ctx.attr("onnx")}}));
}

// Boxes by their corners, whose number is that of the scores; checked when the program runs, where no proof shows it.
Made boxes_of(NodeContext& c, Chain& m, const Expr* scores) {
  const Expr* boxes = m.in(0);
  const Dims score_dims = m.dims(scores);
  if (!m.good() || score_dims.size() != 3 || m.rank(boxes) != 3)
    return m.done(m.fail("its boxes or scores are not of rank 3"));
  const Expr* box_dims[] = {score_dims[0], score_dims[2], c.i64(4)};
  for (std::size_t k = 0; k < 3; ++k) boxes = c.with_dim(boxes, k, box_dims[k]);
  RLDB_TRY(const std::int64_t centred, c.choice(key::CenterPointBox, 0, {0, 1}));
  return m.done(centred != 0 ? corners_of(m, boxes) : boxes);
}

}  // namespace

// Operands: boxes, scores, the most boxes of a class, the thresholds of overlap and of score. A row for each box kept.
Made non_max_suppression(NodeContext& c) {
  Chain m(c);
  const Expr* scores = m.in(1);
  RLDB_TRY(const Expr* boxes, boxes_of(c, m, scores));
  const DType t = DType::Float(32);
  // ONNX suppresses what overlaps by more, Relax by as much, and it chooses no box where that is 0.
  constexpr double kLeast = std::numeric_limits<float>::min();
  const ir::Result<double> given = c.is_literal(3) ? c.real_in(3, 0) : ir::Result<double>(0.0);
  const Expr* overlap = given.ok() && *given > 0 ? m.in(3) : m.lit(t, kLeast);
  if (c.has(3) && !c.is_literal(3)) overlap = m.max(m.in(3), overlap);
  const Expr* score = c.has(4) ? m.reshape(m.in(4), {}) : m.lit(t, -std::numeric_limits<double>::infinity());
  RLDB_TRY(const Expr* all, chosen_boxes(c, m, boxes, scores, overlap, score));
  RLDB_TRY(const Exprs parts, c.fields_of(all));
  RLDB_TRY(const Dims count, c.dims_of_values(parts[1], 1));
  RLDB_TRY(const Expr* rows, c.sliced(parts[0], 0, c.i64(0), count[0]));
  // The count is at most the number of rows.
  return static_cast<const Expr*>(
      c.blocks.emit_match_cast(rows, c.ctx.tensor(Dims{count[0], c.i64(3)}, DType::Int(64))));
}

// As TVM's importer has it, with its defaults: all rows, of which the second result says how many are boxes.
Made all_class_nms(NodeContext& c) {
  Chain m(c);
  const Expr* scores = m.in(1);
  RLDB_TRY(const Expr* boxes, boxes_of(c, m, scores));
  const DType t = DType::Float(32);
  const Expr* overlap = c.has(3) ? m.in(3) : m.lit(t, 0.5);
  const Expr* score = c.has(4) ? m.reshape(m.in(4), {}) : m.lit(t, 0);
  return chosen_boxes(c, m, boxes, scores, overlap, score);
}

}  // namespace rldb::onnx::bodies
