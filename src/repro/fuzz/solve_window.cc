// Solvers of operators on images: convolutions, pooling, resampling, in several layouts.
#include "repro/fuzz/attributes.h"
#include "repro/fuzz/solve.h"
#include "rldb/ir/op/conv.h"
#include "rldb/ir/op/image.h"
#include "rldb/ir/op_attr/image_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/vision_attr.h"
#include "rldb/ir/op_attr/window_attr.h"
#include "rldb/ir/scalar.h"

namespace rldb::repro::solver {

using ir::DType;

namespace {

// Of 2d operators 2: the number before the last `d` of the name.
int spatial_axes(const ops::OpInfo& op) {
  for (std::size_t i = 1; i < op.name.size(); ++i)
    if (op.name[i] == 'd' && op.name[i - 1] >= '1' && op.name[i - 1] <= '3') return op.name[i - 1] - '0';
  return 2;
}
std::string letters_of(int n) { return std::string("DHW").substr(std::size_t(3 - n)); }

// The dims by letter, in the order of a layout.
struct Extents {
  const ir::Expr* n = nullptr;
  const ir::Expr* c = nullptr;  // or O
  const ir::Expr* i = nullptr;
  std::vector<const ir::Expr*> spatial;  // in the order D, H, W
  Dims in(const std::string& layout) const {
    Dims dims;
    std::size_t next = 0;
    for (const char letter : layout)
      dims.push_back(letter == 'N' ? n : letter == 'C' || letter == 'O' ? c : letter == 'I' ? i : spatial[next++]);
    return dims;
  }
};

std::string data_layout(Maker& m, int n) {
  return m.random.one_in(3) ? "N" + letters_of(n) + "C" : "NC" + letters_of(n);
}

struct Picture {
  Known x;
  std::string layout;
  Extents extents;
  std::vector<std::int64_t> sizes;
};

// An image of static size: a value of that rank, or a new one.
Picture picture(Maker& m, int n, bool exact = false) {
  Picture p{{}, data_layout(m, n), {}, {}};
  const bool last = p.layout.back() == 'C';
  const auto fits = [&](const Known& v) {
    if (v.ndim() != n + 2 || !v.dtype().is_float() || (exact && !v.exact)) return false;
    for (int i = 1; i < v.ndim(); ++i) {
      const auto d = ir::const_int(v.dim(i));
      const bool channel = i == (last ? v.ndim() - 1 : 1);
      if (!d || *d < (channel ? 1 : 3) || *d > 17) return false;
    }
    return true;
  };
  const auto found = m.random.one_in(3) ? std::nullopt : m.find(fits);
  if (found) {
    p.x = m.within(*found, {-20, 20});
  } else {
    Extents e;
    e.n = m.flip() ? m.dim() : m.ctx.i64(1);
    if (most_of(e.n) > 7 && ir::const_int(e.n)) e.n = m.ctx.i64(2);
    e.c = m.ctx.i64(m.one_of(std::vector<std::int64_t>{1, 2, 4}));
    for (int i = 0; i < n; ++i)
      e.spatial.push_back(
          m.ctx.i64(m.one_of(n == 3 ? std::vector<std::int64_t>{3, 4} : std::vector<std::int64_t>{3, 5, 6, 8})));
    p.x = m.fresh(e.in(p.layout), m.dtype(Kind::Float), {-20, 20});
  }
  p.extents.n = p.x.dim(0);
  p.extents.c = p.x.dim(last ? n + 1 : 1);
  for (int i = 0; i < n; ++i) {
    p.extents.spatial.push_back(p.x.dim(last ? 1 + i : 2 + i));
    p.sizes.push_back(*ir::const_int(p.extents.spatial.back()));
  }
  return p;
}

std::vector<std::int64_t> some(Maker& m, int n, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> all;
  for (int i = 0; i < n; ++i) all.push_back(low + std::int64_t(m.random.below(std::size_t(high - low + 1))));
  return all;
}

struct Windows {
  std::vector<std::int64_t> size, strides, padding, dilation;
};

// Windows that fit into the image, with at most half of them in the padding.
Windows windows(Maker& m, const Picture& p) {
  const int n = int(p.sizes.size());
  Windows w;
  w.strides = some(m, n, 1, 2);
  for (int i = 0; i < n; ++i) {
    const std::int64_t size =
        1 + std::int64_t(m.random.below(std::size_t(std::min<std::int64_t>(3, p.sizes[std::size_t(i)]))));
    w.size.push_back(size);
    const bool spreads = m.random.one_in(3) && (size - 1) * 2 + 1 <= p.sizes[std::size_t(i)];
    w.dilation.push_back(spreads ? 2 : 1);
  }
  for (int side = 0; side < 2; ++side)
    for (int i = 0; i < n; ++i)
      w.padding.push_back(std::int64_t(m.random.below(std::size_t(w.size[std::size_t(i)] / 2 + 1))));
  return w;
}

bool convolve(Maker& m, const ops::OpInfo& op, bool transposed) {
  const int n = spatial_axes(op);
  const Picture p = picture(m, n);
  const Windows w = windows(m, p);
  const std::int64_t channels = *ir::const_int(p.extents.c);
  const std::int64_t groups = channels % 2 == 0 && m.random.one_in(3) ? 2 : 1;
  const std::int64_t out = groups * (1 + std::int64_t(m.random.below(2)));
  Extents kernel;
  kernel.c = m.ctx.i64(transposed ? out / groups : out);
  kernel.i = m.ctx.i64(transposed ? channels : channels / groups);
  double products = double(channels / groups);
  for (std::int64_t s : w.size) {
    kernel.spatial.push_back(m.ctx.i64(s));
    products *= double(s);
  }
  const std::string letters = letters_of(n);
  const bool last = p.layout.back() == 'C';
  const std::string order = transposed ? "IO" + letters : last && m.flip() ? letters + "IO" : "OI" + letters;
  const Known weight = m.of(kernel.in(order), p.x.dtype(), {-2, 2});
  Attributes attrs(m, op);
  attrs.add(op_attr::Strides, w.strides).add(op_attr::Padding, w.padding).add(op_attr::Dilation, w.dilation);
  attrs.add(op_attr::Groups, groups).add(op_attr::DataLayout, std::string_view(p.layout));
  attrs.add(op_attr::KernelLayout, std::string_view(order));
  if (transposed) {
    std::vector<std::int64_t> extra;
    for (std::int64_t s : w.strides) extra.push_back(s > 1 && m.flip() ? 1 : 0);
    attrs.add(op_attr::OutputPadding, extra);
  }
  const double most = products * p.x.range.largest() * weight.range.largest();
  const double error = products * (p.x.error * weight.range.largest() + weight.error * p.x.range.largest()) +
                       most * rounding_of(p.x.dtype());
  const auto made = m.emit(op, {p.x.var, weight.var}, attrs, {{-most, most}, false, error});
  if (made && !m.random.one_in(3)) m.prefer(*made);  // an operator with an axis comes next
  return made.has_value();
}

}  // namespace

bool conv(Maker& m, const ops::OpInfo& op) { return convolve(m, op, false); }
bool conv_transpose(Maker& m, const ops::OpInfo& op) { return convolve(m, op, true); }

bool pool(Maker& m, const ops::OpInfo& op) {
  const Picture p = picture(m, spatial_axes(op));
  const Windows w = windows(m, p);
  Attributes attrs(m, op);
  attrs.add(op_attr::PoolSize, w.size).add(op_attr::Strides, w.strides).add(op_attr::Padding, w.padding);
  attrs.add(op_attr::Dilation, w.dilation).add(op_attr::CeilMode, m.random.one_in(3));
  attrs.add(op_attr::CountIncludePad, m.flip()).add(op_attr::Layout, std::string_view(p.layout));
  const auto id = op::find(op.name)->id;
  const bool largest = id == op::Id::NnMaxPool1d || id == op::Id::NnMaxPool2d || id == op::Id::NnMaxPool3d;
  return m.emit(op, {p.x.var}, attrs, {p.x.range.hull(), largest && p.x.exact, p.x.error}).has_value();
}

bool adaptive_pool(Maker& m, const ops::OpInfo& op) {
  const int n = spatial_axes(op);
  const Picture p = picture(m, n);
  Attributes attrs(m, op);
  std::vector<std::int64_t> size;
  for (std::int64_t s : p.sizes) size.push_back(1 + std::int64_t(m.random.below(std::size_t(s))));
  attrs.add(op_attr::OutputSize, size).add(op_attr::Layout, std::string_view(p.layout));
  return m.emit(op, {p.x.var}, attrs, {p.x.range.hull(), false, p.x.error}).has_value();
}

// The gradient has the shape of the pool's result, which a call of the pool has.
bool pool_backward(Maker& m, const ops::OpInfo& op) {
  const bool largest = op::find(op.name)->id == op::Id::GradMaxPool2dBackward;
  const Picture p = picture(m, 2, largest);
  const Windows w = windows(m, p);
  const auto put = [&](Attributes& attrs) {
    attrs.add(op_attr::PoolSize, w.size).add(op_attr::Strides, w.strides).add(op_attr::Padding, w.padding);
    attrs.add(op_attr::Dilation, w.dilation).add(op_attr::Layout, std::string_view(p.layout));
  };
  const op::Id forward = largest ? op::Id::NnMaxPool2d : op::Id::NnAvgPool2d;
  const ops::OpInfo& pool_op = *ops::find(op::row(forward).name);
  Attributes of_pool(m, pool_op), attrs(m, op);
  put(of_pool);
  put(attrs);
  const auto pooled = m.emit(pool_op, {p.x.var}, of_pool, {p.x.range.hull(), largest && p.x.exact, p.x.error});
  if (!pooled) return false;
  const Known gradient = m.of(dims_of(pooled->type), p.x.dtype(), {-20, 20});
  return m.emit(op, {gradient.var, p.x.var}, attrs, {times(gradient.range.hull(), 9), false, 9 * gradient.error})
      .has_value();
}

bool resize(Maker& m, const ops::OpInfo& op) {
  const int n = spatial_axes(op);
  const Picture p = picture(m, n);
  std::vector<const ir::Expr*> size;
  for (int i = 0; i < n; ++i) size.push_back(m.ctx.i64(1 + std::int64_t(m.random.below(9))));
  const bool nearest = m.random.one_in(3);
  Attributes attrs(m, op);
  attrs.add(op_attr::Layout, std::string_view(p.layout));
  attrs.add(op_attr::Method, nearest ? "nearest_neighbor" : n == 2 && m.random.one_in(3) ? "cubic" : "linear");
  // Places that are computed without a fraction that rounding could carry over a border.
  attrs.add(op_attr::CoordinateTransformationMode,
            nearest ? "asymmetric" : m.one_of(std::vector<const char*>{"half_pixel", "align_corners", "asymmetric"}));
  if (nearest) attrs.add(op_attr::RoundingMethod, "floor");
  return m.emit(op, {p.x.var, m.ctx.shape(size)}, attrs, {times(p.x.range.hull(), 2), false, 2 * p.x.error})
      .has_value();
}

bool grid_sample(Maker& m, const ops::OpInfo& op) {
  const Dims image{m.dim(), m.ctx.i64(2), m.ctx.i64(4), m.ctx.i64(5)};
  const Known x = m.of(image, DType::Float(32), {-20, 20});
  const Known grid = m.of({image[0], m.ctx.i64(2), m.ctx.i64(3), m.ctx.i64(3)}, DType::Float(32), {-1.5, 1.5});
  Attributes attrs(m, op);
  attrs.add(op_attr::Method, m.random.one_in(3) ? "bicubic" : "bilinear").add(op_attr::Layout, "NCHW");
  attrs.add(op_attr::PaddingMode, m.one_of(std::vector<const char*>{"zeros", "border", "reflection"}));
  attrs.add(op_attr::AlignCorners, m.flip());
  return m.emit(op, {x.var, grid.var}, attrs, {times(x.range.hull(), 3), false, 3 * x.error + 200 * grid.error + 1e-4})
      .has_value();
}

bool affine_grid(Maker& m, const ops::OpInfo& op) {
  const Known x = m.of({m.dim(), m.ctx.i64(2), m.ctx.i64(3)}, DType::Float(32), {-5, 5});
  const ir::Expr* size[] = {m.ctx.i64(1 + std::int64_t(m.random.below(5))), m.ctx.i64(3)};
  return m
      .emit(op, {x.var, m.ctx.shape(size)}, Attributes(m, op).add(op_attr::AlignCorners, m.flip()),
            {{-15, 15}, false, 3 * x.error})
      .has_value();
}

bool roi(Maker& m, const ops::OpInfo& op) {
  const Known x = m.of({m.ctx.i64(1), m.ctx.i64(2), m.ctx.i64(6), m.ctx.i64(5)}, DType::Float(32), {-20, 20});
  // Boxes with corners between the elements, so that no sample lies on a border.
  constexpr double kBoxes[] = {0, 0.3, 0.7, 3.9, 4.4, 0, 1.2, 0.1, 2.6, 3.3};
  const Known boxes =
      m.constant({m.ctx.i64(2), m.ctx.i64(5)}, DType::Float(32), [&](std::size_t i) { return kBoxes[i]; }, {0, 5});
  Attributes attrs(m, op);
  attrs.add(op_attr::PooledSize, std::vector<std::int64_t>{2, 1 + std::int64_t(m.flip())});
  attrs.add(op_attr::SpatialScale, 1.0).add(op_attr::SampleRatio, std::int64_t(2)).add(op_attr::Aligned, m.flip());
  return m.emit(op, {x.var, boxes.var}, attrs, {x.range.hull(), false, x.error}).has_value();
}

}  // namespace rldb::repro::solver
