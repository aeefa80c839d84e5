// Legalisation: convolutions and transposed convolutions.
#include <algorithm>

#include "ops/legal/window.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/window_attr.h"

namespace rldb::ops::legal {

using ir::BinaryKind;

namespace {

// Indices into a tensor with a layout, from whole indices by letter.
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

}  // namespace

Result<const Expr*> conv(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  const OpInfo& info = *find(c->callee);
  std::string letters = spatial_of(c);
  std::size_t n = letters.size();
  RLDB_TRY(Layout data, layout_of(info, attr_string(spec(c), op_attr::DataLayout), "NC" + letters));
  RLDB_TRY(Layout kernel, layout_of(info, attr_string(spec(c), op_attr::KernelLayout), "OI" + letters));
  RLDB_TRY(Layout to, layout_of(info, attr_string(spec(c), op_attr::OutLayout), "NC" + letters));
  for (const Layout* each : {&data, &kernel, &to}) RLDB_TRY_VOID(whole_windows(c, *each, letters));
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
    // Channels are summed where the layout puts them: outermost before, innermost after the window.
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

// Zeros between the elements of the axes `at`, `by - 1` each.
Tensor spread(Topi& t, Tensor x, const std::vector<std::size_t>& at, const std::vector<std::int64_t>& by,
              std::string_view name) {
  ir::Context& ctx = t.ctx;
  ExprList wide = topi::shape_list(x);
  for (std::size_t k = 0; k < by.size(); ++k) {
    const Expr* last = ir::mul(ctx, ir::sub(ctx, x->shape[at[k]], t.i64(1)), t.i64(by[k]));
    wide[at[k]] = simplify(ctx, ir::add(ctx, last, t.i64(1)));
  }
  return t.g.compute(
      wide,
      [&](Indices i) {
        ExprList idx = topi::vars(i);
        ExprList on;
        for (std::size_t k = 0; k < by.size(); ++k) {
          if (by[k] == 1) continue;
          on.push_back(t.eq(ir::floor_mod(ctx, i[at[k]], t.i64(by[k])), t.i64(0)));
          idx[at[k]] = ir::floor_div(ctx, i[at[k]], t.i64(by[k]));
        }
        const Expr* value = t.g.load(x, std::span<const Expr* const>(idx));
        return on.empty() ? value : t.if_else(t.all(on), value, t.lit(x->dtype, 0));
      },
      name);
}

struct TransposedConv {
  std::string letters;
  Layout data, kernel, out;
  std::vector<std::int64_t> strides, padding, extra, dilation;
  std::int64_t groups;
  bool empty = false;  // the data has no elements, and every sum no term

  std::vector<std::size_t> places(const Layout& layout) const {
    std::vector<std::size_t> at;
    for (const char s : letters) at.push_back(std::size_t(layout.index_of(s)));
    return at;
  }
};

Result<TransposedConv> transposed_conv_of(const ir::Call* c) {
  TransposedConv s;
  s.letters = spatial_of(c);
  const OpInfo& info = *find(c->callee);
  RLDB_TRY(s.data, layout_of(info, attr_string(spec(c), op_attr::DataLayout), "NC" + s.letters));
  RLDB_TRY(s.kernel, layout_of(info, attr_string(spec(c), op_attr::KernelLayout), "IO" + s.letters));
  RLDB_TRY(s.out, layout_of(info, attr_string(spec(c), op_attr::OutLayout), "NC" + s.letters));
  for (const Layout* each : {&s.data, &s.kernel, &s.out}) RLDB_TRY_VOID(whole_windows(c, *each, s.letters));
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  for (const std::size_t at : s.places(s.data)) s.empty = s.empty || ir::is_const(x->shape[at], 0);
  s.strides = *attr_ints(spec(c), op_attr::Strides);
  s.padding = *attr_ints(spec(c), op_attr::Padding);
  s.extra = *attr_ints(spec(c), op_attr::OutputPadding);
  s.dilation = *attr_ints(spec(c), op_attr::Dilation);
  s.groups = attr_int(spec(c), op_attr::Groups);
  return s;
}

// The data with zeros between its elements and around them: every window of the kernel then lies inside.
Tensor spread_data(Topi& t, const TransposedConv& s, Tensor x, const std::vector<const Expr*>& kernel) {
  ir::Context& ctx = t.ctx;
  const auto at = s.places(s.data);
  Tensor dilated = spread(t, x, at, s.strides, "data_dilate");
  ExprList before = zeros(ctx, x->shape.size());
  ExprList after = before;
  for (std::size_t k = 0; k < at.size(); ++k) {
    const Expr* span = ir::sub(ctx, kernel[k], t.i64(1));
    before[at[k]] = simplify(ctx, ir::sub(ctx, span, t.i64(s.padding[k])));
    after[at[k]] = simplify(ctx, ir::add(ctx, ir::sub(ctx, span, t.i64(s.padding[at.size() + k])), t.i64(s.extra[k])));
  }
  return t.pad(dilated, before, after, t.lit(x->dtype, 0), "data_pad");
}

// The kernel reversed, outputs first, whatever its layout.
Tensor reversed_kernel(Topi& t, const TransposedConv& s, Tensor w) {
  ir::Context& ctx = t.ctx;
  ExprList shape{extent_of(ctx, s.kernel, w->shape, 'O'), extent_of(ctx, s.kernel, w->shape, 'I')};
  for (const std::size_t at : s.places(s.kernel)) shape.push_back(w->shape[at]);
  return t.g.compute(
      shape,
      [&](Indices i) {
        std::vector<std::pair<char, const Expr*>> whole{{'O', i[0]}, {'I', i[1]}};
        for (std::size_t k = 0; k < s.letters.size(); ++k)
          whole.emplace_back(s.letters[k], ir::sub(ctx, ir::sub(ctx, shape[k + 2], t.i64(1)), i[k + 2]));
        const ExprList idx = index_in(ctx, s.kernel, whole);
        return t.g.load(w, std::span<const Expr* const>(idx));
      },
      "kernel_transform");
}

}  // namespace

// The input is dilated by the strides and padded, the kernel dilated and reversed; then it is an ordinary
// convolution.
Result<const Expr*> conv_transpose(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  RLDB_TRY(const TransposedConv s, transposed_conv_of(c));
  const std::size_t n = s.letters.size();
  DType d = out->dtype;
  return l.call_te(op_name(c), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    te::Graph& g = te.graph;
    ir::Context& ctx = te.ctx;
    if (s.empty) return {t.full(mapped(te, out->shape), t.lit(d, 0))};
    Tensor w = te.in[1];
    if (std::any_of(s.dilation.begin(), s.dilation.end(), [](std::int64_t by) { return by != 1; }))
      w = spread(t, w, s.places(s.kernel), s.dilation, "kernel_dilate");
    std::vector<const Expr*> window;
    for (const std::size_t at : s.places(s.kernel)) window.push_back(w->shape[at]);
    Tensor padded = spread_data(t, s, te.in[0], window);
    Tensor kernel = reversed_kernel(t, s, w);
    const Expr* o = kernel->shape[0];
    const Expr* in_per_group =
        simplify(ctx, ir::floor_div(ctx, extent_of(ctx, s.data, te.in[0]->shape, 'C'), t.i64(s.groups)));
    std::vector<ir::IterVar> axes{g.reduce_axis(in_per_group, "dc")};
    for (std::size_t k = 0; k < n; ++k)
      axes.push_back(g.reduce_axis(window[k], std::string("d") + char(s.letters[k] - 'A' + 'a')));
    return {g.reduce(
        mapped(te, out->shape),
        [&](Indices i) -> const Expr* {
          const Expr* channel = axes[0].var;
          const Expr* which = whole_index(ctx, s.out, i, 'C');
          if (s.groups != 1) {
            channel = ir::add(ctx, ir::mul(ctx, ir::floor_div(ctx, which, o), in_per_group), axes[0].var);
            which = ir::floor_mod(ctx, which, o);
          }
          std::vector<std::pair<char, const Expr*>> at_x{{'N', whole_index(ctx, s.out, i, 'N')}, {'C', channel}};
          ExprList iw{which, channel};
          for (std::size_t k = 0; k < n; ++k) {
            at_x.emplace_back(s.letters[k], ir::add(ctx, whole_index(ctx, s.out, i, s.letters[k]), axes[k + 1].var));
            iw.push_back(axes[k + 1].var);
          }
          const ExprList ix = index_in(ctx, s.data, at_x);
          return ctx.binary(BinaryKind::Mul, ir::cast_to(ctx, d, g.load(padded, std::span<const Expr* const>(ix))),
                            ir::cast_to(ctx, d, g.load(kernel, std::span<const Expr* const>(iw))));
        },
        axes, g.sum_reducer(d), "compute")};
  });
}

}  // namespace rldb::ops::legal
