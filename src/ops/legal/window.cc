// Legalisation: convolutions and pooling.
#include <algorithm>

#include "ops/layout.h"
#include "ops/legal/statements.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/window_attr.h"

namespace rldb::ops::legal {

using ir::BinaryKind;

namespace {

std::string spatial_of(const ir::Call* c) {
  std::string_view n = op_name(c);
  for (std::size_t i = 1; i < n.size(); ++i)
    if (n[i] == 'd' && n[i - 1] >= '1' && n[i - 1] <= '3')
      return std::string("DHW").substr(std::size_t('3' - n[i - 1]));
  return "HW";
}

// Indices into a tensor that has a layout, from whole indices by letter.
ExprList index_in(ir::Context& ctx, const Layout& layout, const std::vector<std::pair<char, const Expr*>>& whole) {
  ExprList out;
  for (const auto& a : layout.axes) {
    const Expr* e = nullptr;
    for (const auto& [letter, v] : whole)
      if (letter == a.letter) e = v;
    std::int64_t f = layout.factor_of(a.letter);
    if (a.factor != 0)
      e = ir::floor_mod(ctx, e, ctx.i64(f));
    else if (f != 1)
      e = ir::floor_div(ctx, e, ctx.i64(f));
    out.push_back(e);
  }
  return out;
}

// The whole index of an axis from the indices of a tensor in the layout.
const Expr* whole_index(ir::Context& ctx, const Layout& layout, Indices i, char letter) {
  const Expr* e = i[std::size_t(layout.index_of(letter))];
  int inner = layout.inner_index_of(letter);
  return inner < 0 ? e : ir::add(ctx, ir::mul(ctx, e, ctx.i64(layout.factor_of(letter))), i[std::size_t(inner)]);
}

ExprList zeros(ir::Context& ctx, std::size_t n) { return ExprList(n, ctx.i64(0)); }

}  // namespace

Result<const Expr*> conv(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  const OpInfo& info = *find(c->callee);
  std::string letters = spatial_of(c);
  std::size_t n = letters.size();
  RLDB_TRY(Layout data, layout_of(info, attr_string(spec(c), op_attr::DataLayout), "NC" + letters));
  RLDB_TRY(Layout kernel, layout_of(info, attr_string(spec(c), op_attr::KernelLayout), "OI" + letters));
  RLDB_TRY(Layout to, layout_of(info, attr_string(spec(c), op_attr::OutLayout), "NC" + letters));
  auto strides = *attr_ints(spec(c), op_attr::Strides);
  auto padding = *attr_ints(spec(c), op_attr::Padding);
  auto dilation = *attr_ints(spec(c), op_attr::Dilation);
  std::int64_t groups = attr_int(spec(c), op_attr::Groups);
  DType d = out->dtype;
  std::string_view name = op_name(c);
  return l.call_te(name, c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    te::Graph& g = te.graph;
    ir::Context& ctx = te.ctx;
    Tensor x = te.in[0];
    Tensor w = te.in[1];
    ExprList before = zeros(ctx, x->shape.size());
    ExprList after = before;
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t at = std::size_t(data.index_of(letters[i]));
      before[at] = t.i64(padding[i]);
      after[at] = t.i64(padding[n + i]);
    }
    Tensor padded = t.pad(x, before, after, t.lit(x->dtype, 0), "pad_temp");
    const Expr* in_per_group = simplify(ctx, ir::floor_div(ctx, extent_of(ctx, data, x->shape, 'C'), t.i64(groups)));
    const Expr* out_per_group = simplify(ctx, ir::floor_div(ctx, extent_of(ctx, kernel, w->shape, 'O'), t.i64(groups)));
    ir::IterVar rc = g.reduce_axis(in_per_group, "rc");
    std::vector<ir::IterVar> rs;
    for (char s : letters)
      rs.push_back(g.reduce_axis(extent_of(ctx, kernel, w->shape, s), std::string("r") + char(s - 'A' + 'a')));
    // Channels are summed where the layout has them: outermost before, innermost after the window.
    std::vector<ir::IterVar> axes = rs;
    bool channels_first = data.index_of('C') < data.index_of(letters[0]);
    axes.insert(channels_first ? axes.begin() : axes.end(), rc);
    return {g.reduce(
        mapped(te, out->shape),
        [&](Indices i) -> const Expr* {
          const Expr* o = whole_index(ctx, to, i, 'C');
          const Expr* channel = rc.var;
          if (groups != 1)
            channel = ir::add(ctx, ir::mul(ctx, ir::floor_div(ctx, o, out_per_group), in_per_group), rc.var);
          std::vector<std::pair<char, const Expr*>> at_x{{'N', whole_index(ctx, to, i, 'N')}, {'C', channel}};
          std::vector<std::pair<char, const Expr*>> at_w{{'O', o}, {'I', rc.var}};
          for (std::size_t k = 0; k < n; ++k) {
            const Expr* p = ir::mul(ctx, whole_index(ctx, to, i, letters[k]), t.i64(strides[k]));
            at_x.emplace_back(letters[k], ir::add(ctx, p, ir::mul(ctx, rs[k].var, t.i64(dilation[k]))));
            at_w.emplace_back(letters[k], rs[k].var);
          }
          ExprList ix = index_in(ctx, data, at_x);
          ExprList iw = index_in(ctx, kernel, at_w);
          return ctx.binary(BinaryKind::Mul, ir::cast_to(ctx, d, g.load(padded, std::span<const Expr* const>(ix))),
                            ir::cast_to(ctx, d, g.load(w, std::span<const Expr* const>(iw))));
        },
        axes, g.sum_reducer(d), (groups != 1 ? "group_" : "") + std::string(name) + (channels_first ? "_nc" : "_n"))};
  });
}

namespace {

// Zeros between the elements of the spatial axes, `by - 1` each.
Tensor spread(Topi& t, Tensor x, const std::vector<std::int64_t>& by, std::string_view name) {
  ir::Context& ctx = t.ctx;
  ExprList wide = topi::shape_list(x);
  for (std::size_t k = 0; k < by.size(); ++k) {
    const Expr* last = ir::mul(ctx, ir::sub(ctx, x->shape[k + 2], t.i64(1)), t.i64(by[k]));
    wide[k + 2] = simplify(ctx, ir::add(ctx, last, t.i64(1)));
  }
  return t.g.compute(
      wide,
      [&](Indices i) {
        ExprList idx = topi::vars(i);
        ExprList on;
        for (std::size_t k = 0; k < by.size(); ++k) {
          if (by[k] == 1) continue;
          on.push_back(t.eq(ir::floor_mod(ctx, i[k + 2], t.i64(by[k])), t.i64(0)));
          idx[k + 2] = ir::floor_div(ctx, i[k + 2], t.i64(by[k]));
        }
        const Expr* value = t.g.load(x, std::span<const Expr* const>(idx));
        return on.empty() ? value : t.if_else(t.all(on), value, t.lit(x->dtype, 0));
      },
      name);
}

// A permutation of the letters, which says nothing else.
bool is_order_of(std::string_view layout, const std::string& letters) {
  return std::is_permutation(layout.begin(), layout.end(), letters.begin(), letters.end());
}

// The axes in another order.
Tensor in_order(Topi& t, Tensor x, std::string_view from, std::string_view to, std::string_view name) {
  if (from == to) return x;
  ExprList shape;
  for (const char letter : to) shape.push_back(x->shape[from.find(letter)]);
  return t.g.compute(
      shape,
      [&](Indices i) {
        ExprList at;
        for (const char letter : from) at.push_back(i[to.find(letter)]);
        return t.g.load(x, std::span<const Expr* const>(at));
      },
      name);
}

}  // namespace

// The input is spread out by the strides and padded, the kernel spread out and reversed; then it is an ordinary
// convolution.
Result<const Expr*> conv_transpose(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  std::string letters = spatial_of(c);
  std::size_t n = letters.size();
  const std::string data_order = "NC" + letters, kernel_order = "IO" + letters;
  const std::string_view data_layout = attr_string(spec(c), op_attr::DataLayout);
  const std::string_view kernel_layout = attr_string(spec(c), op_attr::KernelLayout);
  const std::string_view out_layout = attr_string(spec(c), op_attr::OutLayout);
  if (!is_order_of(data_layout, data_order) || !is_order_of(out_layout, data_order) ||
      !is_order_of(kernel_layout, kernel_order))
    return refuse(c, "only orders of " + data_order + " and " + kernel_order + " are lowered");
  RLDB_TRY(const TensorType* data, known_arg(c, 0));
  for (std::size_t k = 0; k < n; ++k)
    if (ir::is_const(data->shape[data_layout.find(letters[k])], 0)) return refuse(c, "the data has no elements");
  auto strides = *attr_ints(spec(c), op_attr::Strides);
  auto padding = *attr_ints(spec(c), op_attr::Padding);
  auto extra = *attr_ints(spec(c), op_attr::OutputPadding);
  auto dilation = *attr_ints(spec(c), op_attr::Dilation);
  std::int64_t groups = attr_int(spec(c), op_attr::Groups);
  DType d = out->dtype;
  return l.call_te(op_name(c), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    te::Graph& g = te.graph;
    ir::Context& ctx = te.ctx;
    Tensor x = in_order(t, te.in[0], data_layout, data_order, "data_order");
    Tensor w = in_order(t, te.in[1], kernel_layout, kernel_order, "kernel_order");
    Tensor dilated = spread(t, x, strides, "data_dilate");
    if (std::any_of(dilation.begin(), dilation.end(), [](std::int64_t by) { return by != 1; }))
      w = spread(t, w, dilation, "kernel_dilate");
    ExprList before = zeros(ctx, n + 2);
    ExprList after = before;
    for (std::size_t k = 0; k < n; ++k) {
      const Expr* span = ir::sub(ctx, w->shape[k + 2], t.i64(1));
      before[k + 2] = simplify(ctx, ir::sub(ctx, span, t.i64(padding[k])));
      after[k + 2] = simplify(ctx, ir::add(ctx, ir::sub(ctx, span, t.i64(padding[n + k])), t.i64(extra[k])));
    }
    Tensor padded = t.pad(dilated, before, after, t.lit(x->dtype, 0), "data_pad");
    const Expr* o = w->shape[1];
    ExprList kernel_shape = topi::shape_list(w);
    std::swap(kernel_shape[0], kernel_shape[1]);
    Tensor kernel = g.compute(
        kernel_shape,
        [&](Indices i) {
          ExprList idx = topi::vars(i);
          std::swap(idx[0], idx[1]);
          for (std::size_t k = 0; k < n; ++k)
            idx[k + 2] = ir::sub(ctx, ir::sub(ctx, w->shape[k + 2], t.i64(1)), i[k + 2]);
          return g.load(w, std::span<const Expr* const>(idx));
        },
        "kernel_transform");
    const Expr* in_per_group = simplify(ctx, ir::floor_div(ctx, x->shape[1], t.i64(groups)));
    std::vector<ir::IterVar> axes{g.reduce_axis(in_per_group, "dc")};
    for (char s : letters)
      axes.push_back(g.reduce_axis(w->shape[axes.size() + 1], std::string("d") + char(s - 'A' + 'a')));
    const ExprList stored = mapped(te, out->shape);
    ExprList shape;
    for (const char letter : data_order) shape.push_back(stored[out_layout.find(letter)]);
    const Tensor made = g.reduce(
        shape,
        [&](Indices i) -> const Expr* {
          const Expr* channel = axes[0].var;
          const Expr* which = i[1];
          if (groups != 1) {
            channel = ir::add(ctx, ir::mul(ctx, ir::floor_div(ctx, i[1], o), in_per_group), axes[0].var);
            which = ir::floor_mod(ctx, i[1], o);
          }
          ExprList ix{i[0], channel};
          ExprList iw{which, channel};
          for (std::size_t k = 0; k < n; ++k) {
            ix.push_back(ir::add(ctx, i[k + 2], axes[k + 1].var));
            iw.push_back(axes[k + 1].var);
          }
          return ctx.binary(BinaryKind::Mul, ir::cast_to(ctx, d, g.load(padded, std::span<const Expr* const>(ix))),
                            ir::cast_to(ctx, d, g.load(kernel, std::span<const Expr* const>(iw))));
        },
        axes, g.sum_reducer(d), "compute");
    return {in_order(t, made, data_order, out_layout, "out_order")};
  });
}

namespace {

struct Window {
  std::string letters;
  Layout layout;
  ExprList size;
  std::vector<std::int64_t> strides, padding, dilation;
  bool ceil_mode;
  bool include_pad;
};

Result<Window> window_of(ir::Context& ctx, const ir::Call* c) {
  Window w;
  w.letters = spatial_of(c);
  RLDB_TRY(w.layout, layout_of(*find(c->callee), attr_string(spec(c), op_attr::Layout), "NC" + w.letters));
  if (attr_string(spec(c), op_attr::OutLayout) != attr_string(spec(c), op_attr::Layout))
    return refuse(c, "an output layout of its own is not lowered");
  w.size = attr_dims(ctx, spec(c), op_attr::PoolSize);
  w.strides = *attr_ints(spec(c), op_attr::Strides);
  w.padding = *attr_ints(spec(c), op_attr::Padding);
  w.dilation = *attr_ints(spec(c), op_attr::Dilation);
  w.ceil_mode = attr_bool(spec(c), op_attr::CeilMode);
  w.include_pad = attr_bool(spec(c), op_attr::CountIncludePad);
  return w;
}

// The number of taps of the window at `out` that fall inside [0, extent).
const Expr* taps_inside(Topi& t, const Window& w, std::size_t k, const Expr* out, const Expr* extent) {
  ir::Context& ctx = t.ctx;
  const Expr* start = ir::sub(ctx, ir::mul(ctx, out, t.i64(w.strides[k])), t.i64(w.padding[k]));
  const Expr* step = t.i64(w.dilation[k]);
  const Expr* span = ir::mul(ctx, ir::sub(ctx, w.size[k], t.i64(1)), step);
  const Expr* last = ir::min(ctx, ir::add(ctx, start, span), ir::sub(ctx, extent, t.i64(1)));
  // Taps before the data.
  const Expr* before = ir::floor_div(ctx, ir::sub(ctx, t.i64(w.dilation[k] - 1), start), step);
  const Expr* first = ir::add(ctx, start, ir::mul(ctx, ir::max(ctx, before, t.i64(0)), step));
  return ir::add(ctx, ir::floor_div(ctx, ir::sub(ctx, last, first), step), t.i64(1));
}

// The number of taps of the window at `out` that fall inside the data and what was padded. Windows that ceil_mode adds
// reach past that.
const Expr* taps_padded(Topi& t, const Window& w, std::size_t k, const Expr* out, const Expr* extent) {
  if (!w.ceil_mode) return w.size[k];
  ir::Context& ctx = t.ctx;
  const Expr* start = ir::sub(ctx, ir::mul(ctx, out, t.i64(w.strides[k])), t.i64(w.padding[k]));
  const Expr* step = t.i64(w.dilation[k]);
  const Expr* span = ir::mul(ctx, ir::sub(ctx, w.size[k], t.i64(1)), step);
  const Expr* end = ir::add(ctx, extent, t.i64(w.padding[w.letters.size() + k] - 1));
  const Expr* last = ir::min(ctx, ir::add(ctx, start, span), end);
  return ir::add(ctx, ir::floor_div(ctx, ir::sub(ctx, last, start), step), t.i64(1));
}

Tensor pad_window(Topi& t, const Window& w, Tensor x, const Expr* value) {
  ExprList before = zeros(t.ctx, x->shape.size());
  ExprList after = before;
  std::size_t n = w.letters.size();
  bool any = false;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t at = std::size_t(w.layout.index_of(w.letters[k]));
    std::int64_t back = w.padding[n + k] + (w.ceil_mode ? w.strides[k] - 1 : 0);
    before[at] = t.i64(w.padding[k]);
    after[at] = t.i64(back);
    any = any || w.padding[k] != 0 || back != 0;
  }
  return any ? t.pad(x, before, after, value, "pad_temp") : x;
}

}  // namespace

static Result<const Expr*> pool(Legalizer& l, const ir::Call* c, bool max) {
  RLDB_TRY(const TensorType* out, known_result(c));
  RLDB_TRY(Window w, window_of(l.context(), c));
  std::size_t n = w.letters.size();
  return l.call_te(op_name(c), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    te::Graph& g = te.graph;
    ir::Context& ctx = te.ctx;
    w.size = mapped(te, w.size);
    Tensor x = te.in[0];
    Tensor padded = pad_window(t, w, x, max ? ir::min_value(ctx, x->dtype) : t.lit(x->dtype, 0));
    std::vector<ir::IterVar> axes;
    for (std::size_t k = 0; k < n; ++k) axes.push_back(g.reduce_axis(w.size[k], "rv" + std::to_string(k)));
    auto source = [&](Indices i) {
      ExprList idx = topi::vars(i);
      for (std::size_t k = 0; k < n; ++k) {
        const Expr*& e = idx[std::size_t(w.layout.index_of(w.letters[k]))];
        e = ir::add(ctx, ir::mul(ctx, e, t.i64(w.strides[k])), ir::mul(ctx, axes[k].var, t.i64(w.dilation[k])));
      }
      return g.load(padded, std::span<const Expr* const>(idx));
    };
    ExprList shape = mapped(te, out->shape);
    ir::NamedAttr attrs[] = {
        ctx.named("schedule_rule", ctx.attr(max ? "meta_schedule.pool_max" : "meta_schedule.pool_avg"))};
    if (max) return {g.reduce(shape, source, axes, g.max_reducer(x->dtype), "pool_max", attrs)};
    Tensor sum = g.reduce(shape, source, axes, g.sum_reducer(x->dtype), "pool_sum");
    return {g.compute(
        shape,
        [&](Indices i) -> const Expr* {
          const Expr* count = t.i64(1);
          for (std::size_t k = 0; k < n; ++k) {
            std::size_t at = std::size_t(w.layout.index_of(w.letters[k]));
            const auto taps = w.include_pad ? taps_padded : taps_inside;
            count = ir::mul(ctx, count, taps(t, w, k, i[at], x->shape[at]));
          }
          if (!w.include_pad) count = ir::max(ctx, count, t.i64(1));
          return ctx.binary(BinaryKind::Div, g.load(sum, i), ir::cast_to(ctx, x->dtype, count));
        },
        "pool_avg", attrs)};
  });
}

Result<const Expr*> max_pool(Legalizer& l, const ir::Call* c) { return pool(l, c, true); }
Result<const Expr*> avg_pool(Legalizer& l, const ir::Call* c) { return pool(l, c, false); }

Result<const Expr*> adaptive_pool(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  std::string letters = spatial_of(c);
  RLDB_TRY(Layout layout, layout_of(*find(c->callee), attr_string(spec(c), op_attr::Layout), "NC" + letters));
  if (attr_string(spec(c), op_attr::OutLayout) != attr_string(spec(c), op_attr::Layout))
    return refuse(c, "an output layout of its own is not lowered");
  return l.call_te(op_name(c), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    te::Graph& g = te.graph;
    ir::Context& ctx = te.ctx;
    Tensor x = te.in[0];
    ExprList shape = mapped(te, out->shape);
    std::vector<ir::IterVar> axes;
    std::vector<std::size_t> at;
    std::vector<bool> even;
    for (char s : letters) {
      std::size_t a = std::size_t(layout.index_of(s));
      auto in = ir::const_int(x->shape[a]);
      auto to = ir::const_int(shape[a]);
      bool divides = is_one(shape[a]) || (in && to && *to > 0 && *in % *to == 0);
      // A window of uneven size covers at most this many elements.
      const Expr* extent = simplify(ctx, ir::floor_div(ctx, x->shape[a], shape[a]));
      if (!divides) extent = simplify(ctx, ir::add(ctx, extent, t.i64(2)));
      axes.push_back(g.reduce_axis(extent, "rv" + std::to_string(axes.size())));
      at.push_back(a);
      even.push_back(divides);
    }
    auto first = [&](std::size_t k, const Expr* i) {
      return ir::floor_div(ctx, ir::mul(ctx, i, x->shape[at[k]]), shape[at[k]]);
    };
    auto past = [&](std::size_t k, const Expr* i) {
      const Expr* e = ir::mul(ctx, ir::add(ctx, i, t.i64(1)), x->shape[at[k]]);
      return ir::floor_div(ctx, ir::sub(ctx, ir::add(ctx, e, shape[at[k]]), t.i64(1)), shape[at[k]]);
    };
    Tensor sum = g.reduce(
        shape,
        [&](Indices i) {
          ExprList idx = topi::vars(i);
          ExprList inside;
          for (std::size_t k = 0; k < at.size(); ++k) {
            const Expr* o = i[at[k]];
            const Expr* start = even[k] ? ir::mul(ctx, o, axes[k].dom.extent) : first(k, o);
            idx[at[k]] = ir::add(ctx, start, axes[k].var);
            if (!even[k]) inside.push_back(t.lt(idx[at[k]], past(k, o)));
          }
          const Expr* value = g.load(x, std::span<const Expr* const>(idx));
          return inside.empty() ? value : t.if_else(t.all(inside), value, t.lit(x->dtype, 0));
        },
        axes, g.sum_reducer(x->dtype), "adaptive_pool_sum");
    ir::NamedAttr attrs[] = {ctx.named("schedule_rule", ctx.attr("meta_schedule.adaptive_pool_avg"))};
    return {g.compute(
        shape,
        [&](Indices i) -> const Expr* {
          const Expr* count = t.i64(1);
          for (std::size_t k = 0; k < at.size(); ++k)
            count =
                ir::mul(ctx, count, even[k] ? axes[k].dom.extent : ir::sub(ctx, past(k, i[at[k]]), first(k, i[at[k]])));
          return ctx.binary(BinaryKind::Div, g.load(sum, i), ir::cast_to(ctx, x->dtype, count));
        },
        "adaptive_pool_avg", attrs)};
  });
}

// Each input element gathers from the windows that cover it.
Result<const Expr*> avg_pool2d_backward(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  RLDB_TRY_VOID(known_arg(c, 0));
  RLDB_TRY(Window w, window_of(l.context(), c));
  if (attr_string(spec(c), op_attr::Layout) != "NCHW" || w.dilation[0] != 1 || w.dilation[1] != 1)
    return refuse(c, "only NCHW without dilation is lowered");
  return l.call_te("avg_pool2d_backward", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    te::Graph& g = te.graph;
    ir::Context& ctx = te.ctx;
    w.size = mapped(te, w.size);
    Tensor grad = te.in[0];
    Tensor x = te.in[1];
    std::vector<ir::IterVar> axes;
    for (std::size_t k = 0; k < 2; ++k)
      axes.push_back(
          g.reduce_axis(ir::floor_div(ctx, ir::add(ctx, w.size[k], t.i64(w.strides[k] - 1)), t.i64(w.strides[k])),
                        k == 0 ? "wh" : "ww"));
    DType d = x->dtype;
    return {g.reduce(
        mapped(te, out->shape),
        [&](Indices i) {
          ExprList idx = topi::vars(i);
          ExprList inside;
          const Expr* count = t.i64(1);
          for (std::size_t k = 0; k < 2; ++k) {
            // The last window that starts at or before this element, and those before it.
            const Expr* p = ir::add(ctx, i[k + 2], t.i64(w.padding[k]));
            const Expr* o = ir::sub(ctx, ir::floor_div(ctx, p, t.i64(w.strides[k])), axes[k].var);
            idx[k + 2] = o;
            inside.push_back(t.le(t.i64(0), o));
            inside.push_back(t.lt(o, grad->shape[k + 2]));
            inside.push_back(t.lt(p, ir::add(ctx, ir::mul(ctx, o, t.i64(w.strides[k])), w.size[k])));
            count = ir::mul(ctx, count, w.include_pad ? w.size[k] : taps_inside(t, w, k, o, x->shape[k + 2]));
          }
          count = ir::max(ctx, count, t.i64(1));
          const Expr* share = ir::div(ctx, g.load(grad, std::span<const Expr* const>(idx)), ir::cast_to(ctx, d, count));
          return t.if_else(t.all(inside), share, t.lit(d, 0));
        },
        axes, g.sum_reducer(d), "T_pool_grad")};
  });
}

namespace {

// A step through one window: the taps that fall into the data, the largest of which gets the gradient.
struct MaxWindow {
  Writer& w;
  const Window& window;
  const ir::Buffer *grad, *data, *out;

  using Tap = std::function<const ir::Stmt*(const ExprList& at)>;
  // `then` for each tap, at its place in the data.
  const ir::Stmt* taps(const ExprList& of, const Tap& then) const {
    ir::Context& ctx = w.ctx;
    return nest(ctx, window.size, [&](const ExprList& k) -> const ir::Stmt* {
      ExprList at = of;
      const Expr* inside = nullptr;
      for (std::size_t i = 0; i < k.size(); ++i) {
        const auto axis = std::size_t(window.layout.index_of(window.letters[i]));
        const Expr* start =
            ir::sub(ctx, ir::mul(ctx, of[axis], ctx.i64(window.strides[i])), ctx.i64(window.padding[i]));
        at[axis] = ir::add(ctx, start, ir::mul(ctx, k[i], ctx.i64(window.dilation[i])));
        const Expr* in = ir::logical_and(ctx, ir::compare(ctx, BinaryKind::LE, ctx.i64(0), at[axis]),
                                         ir::compare(ctx, BinaryKind::LT, at[axis], data->shape[axis]));
        inside = inside ? ir::logical_and(ctx, inside, in) : in;
      }
      return w.when(inside, then(at));
    });
  }
  // The place of an element as one number.
  const Expr* place(const ExprList& at) const {
    const Expr* p = w.ctx.i64(0);
    for (std::size_t i = 0; i < at.size(); ++i) p = ir::add(w.ctx, ir::mul(w.ctx, p, data->shape[i]), at[i]);
    return p;
  }
  const ir::Stmt* run(const ExprList& of) const {
    ir::Context& ctx = w.ctx;
    const ir::Buffer* best = w.cell("best", data->dtype);
    const ir::Buffer* where = w.cell("where", DType::Int(64));
    const ir::Stmt* find = taps(of, [&](const ExprList& at) -> const ir::Stmt* {
      const Expr* value = ctx.load(data, at);
      const Expr* first = ir::compare(ctx, BinaryKind::LT, w.get(where), ctx.i64(0));
      const Expr* better = ir::logical_or(ctx, first, ir::compare(ctx, BinaryKind::LT, w.get(best), value));
      return w.when(better, w.seq({w.set(best, value), w.set(where, place(at))}));
    });
    const ir::Stmt* give = taps(of, [&](const ExprList& at) -> const ir::Stmt* {
      const Expr* sum = ctx.binary(BinaryKind::Add, ctx.load(out, at), ctx.load(grad, of));
      return w.when(ir::compare(ctx, BinaryKind::EQ, w.get(where), place(at)), ctx.store(out, sum, at));
    });
    return w.seq({w.declare(best), w.declare(where), w.set(where, ctx.i64(-1)), find, give});
  }
};

}  // namespace

// The first of the largest elements of a window gets its gradient.
Result<const Expr*> max_pool2d_backward(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  RLDB_TRY_VOID(known_arg(c, 0));
  RLDB_TRY(const Window window, window_of(l.context(), c));
  return l.call_te("max_pool2d_backward", c->args, c->type, [&](Te& te) -> Tensors {
    const te::Graph::OutputSpec outputs[] = {{te.ctx.list(mapped(te, out->shape)), out->dtype}};
    Window own = window;
    own.size = mapped(te, own.size);
    const auto write = [&te, own](Buffers in, Buffers outs) -> const ir::Stmt* {
      Writer w(te.ctx);
      const MaxWindow step{w, own, in[0], in[1], outs[0]};
      const ir::Stmt* clear = nest(te.ctx, outs[0]->shape, [&](const ExprList& i) -> const ir::Stmt* {
        return te.ctx.store(outs[0], te.ctx.literal(outs[0]->dtype, 0), i);
      });
      return w.seq({clear, nest(te.ctx, in[0]->shape, [&](const ExprList& i) { return step.run(i); })});
    };
    return te.graph.extern_op(outputs, te.in, write, "T_pool_grad");
  });
}

}  // namespace rldb::ops::legal
