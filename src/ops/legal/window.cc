// Legalisation: pooling and its gradients.
#include "ops/legal/window.h"

#include <algorithm>

#include "ops/legal/statements.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/window_attr.h"

namespace rldb::ops::legal {

using ir::BinaryKind;

std::string spatial_of(const ir::Call* c) {
  std::string_view n = op_name(c);
  for (std::size_t i = 1; i < n.size(); ++i)
    if (n[i] == 'd' && n[i - 1] >= '1' && n[i - 1] <= '3')
      return std::string("DHW").substr(std::size_t('3' - n[i - 1]));
  return "HW";
}

Result<support::Unit> whole_windows(const ir::Call* c, const Layout& layout, std::string_view letters) {
  for (const char s : letters)
    if (layout.factor_of(s) != 1) return refuse(c, std::string("a layout that splits ") + s + " is not lowered");
  return support::Unit{};
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
  RLDB_TRY_VOID(whole_windows(c, w.layout, w.letters));
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

// TVM divides towards zero here.
const Expr* steps_in(Topi& t, const Expr* distance, std::int64_t step) {
  return step == 1 ? distance : t.ctx.binary(BinaryKind::Div, distance, t.i64(step));
}

// The number of taps of the window at `out` that fall inside [0, extent).
const Expr* taps_inside(Topi& t, const Window& w, std::size_t k, const Expr* out, const Expr* extent) {
  ir::Context& ctx = t.ctx;
  const std::int64_t step = w.dilation[k];
  const Expr* start = ir::sub(ctx, ir::mul(ctx, out, t.i64(w.strides[k])), t.i64(w.padding[k]));
  const Expr* span = ir::mul(ctx, ir::sub(ctx, w.size[k], t.i64(1)), t.i64(step));
  const Expr* last = ir::min(ctx, ir::add(ctx, start, span), ir::sub(ctx, extent, t.i64(1)));
  // Taps before the data.
  const Expr* before = steps_in(t, ir::sub(ctx, t.i64(step - 1), start), step);
  const Expr* first = ir::add(ctx, start, ir::mul(ctx, ir::max(ctx, before, t.i64(0)), t.i64(step)));
  return ir::add(ctx, steps_in(t, ir::sub(ctx, last, first), step), t.i64(1));
}

// The number of taps of the window at `out` that fall inside the data and what was padded. Windows that ceil_mode adds
// reach past that.
const Expr* taps_padded(Topi& t, const Window& w, std::size_t k, const Expr* out, const Expr* extent) {
  ir::Context& ctx = t.ctx;
  const std::int64_t step = w.dilation[k];
  const Expr* start = ir::sub(ctx, ir::mul(ctx, out, t.i64(w.strides[k])), t.i64(w.padding[k]));
  const Expr* span = ir::mul(ctx, ir::sub(ctx, w.size[k], t.i64(1)), t.i64(step));
  const Expr* end = ir::add(ctx, extent, t.i64(w.padding[w.letters.size() + k] - 1));
  const Expr* last = ir::min(ctx, ir::add(ctx, start, span), end);
  return ir::add(ctx, steps_in(t, ir::sub(ctx, last, start), step), t.i64(1));
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
  return any ? t.pad(x, before, after, value, "pad_temp", topi::PadTest::PaddedSides) : x;
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

// TVM counts windows and their taps in int32.
static const Expr* narrow(ir::Context& ctx, const Expr* extent) {
  const auto v = ir::const_int(simplify(ctx, extent));
  return v && *v <= INT32_MAX ? ctx.int_imm(DType::Int(32), *v) : extent;
}

// Along one axis of the result: the window to read, the first that covers the element, and the number of elements of
// the data in the window.
struct Covering {
  const Expr *window, *least, *elements;
};

// Windows whose taps are neighbours, in the form that TVM gives them: the k-th before the last one that begins at or
// before the element.
static Covering covering_window(Topi& t, const Window& w, std::size_t k, const Expr* element, const Expr* back,
                                const Expr* extent) {
  ir::Context& ctx = t.ctx;
  const Expr* stride = t.i64(w.strides[k]);
  const Expr* padding = t.i64(w.padding[k]);
  const Expr* p = ir::add(ctx, element, padding);
  const Expr* o = ir::sub(ctx, ctx.binary(BinaryKind::Div, p, stride), back);
  const Expr* before = ctx.binary(BinaryKind::Div, ir::sub(ctx, p, w.size[k]), stride);
  const Expr* least = ctx.select(t.lt(p, w.size[k]), t.i64(0), ir::add(ctx, before, t.i64(1)));
  const Expr* start = ir::sub(ctx, ir::mul(ctx, o, stride), padding);
  const Expr* end = ir::min(ctx, ir::add(ctx, start, w.size[k]), extent);
  const Expr* first = ir::max(ctx, start, t.i64(0));
  if (w.padding[k] % w.strides[k] == 0)
    first = ir::mul(ctx, ir::max(ctx, ir::sub(ctx, o, t.i64(w.padding[k] / w.strides[k])), t.i64(0)), stride);
  const Expr* inside = ir::sub(ctx, end, first);
  return {o, least, w.include_pad ? w.size[k] : inside};
}

// Each input element gathers from the windows that cover it: counted by windows, or, where the taps of a window are
// spread out, by taps.
Result<const Expr*> avg_pool2d_backward(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  RLDB_TRY_VOID(known_arg(c, 0));
  RLDB_TRY(Window w, window_of(l.context(), c));
  const bool by_taps = w.dilation[0] != 1 || w.dilation[1] != 1;
  return l.call_te("avg_pool2d_backward", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    te::Graph& g = te.graph;
    ir::Context& ctx = te.ctx;
    w.size = mapped(te, w.size);
    Tensor grad = te.in[0];
    Tensor x = te.in[1];
    std::vector<ir::IterVar> axes;
    for (std::size_t k = 0; k < 2; ++k) {
      const Expr* most =
          by_taps ? w.size[k]
                  : ir::floor_div(ctx, ir::add(ctx, w.size[k], t.i64(w.strides[k] - 1)), t.i64(w.strides[k]));
      axes.push_back(g.reduce_axis(narrow(ctx, most), k == 0 ? "wh" : "ww"));
    }
    const auto tap = [&](std::size_t k) { return ir::cast_to(ctx, DType::Int(64), axes[k].var); };
    DType d = x->dtype;
    return {g.reduce(
        mapped(te, out->shape),
        [&](Indices i) {
          ExprList idx = topi::vars(i);
          ExprList inside;
          const Expr* count = t.i64(1);
          for (std::size_t k = 0; k < 2; ++k) {
            const auto at = std::size_t(w.layout.index_of(w.letters[k]));
            const Expr* stride = t.i64(w.strides[k]);
            if (!by_taps && !(w.ceil_mode && w.include_pad)) {
              const Covering one = covering_window(t, w, k, i[at], tap(k), x->shape[at]);
              idx[at] = one.window;
              inside.push_back(t.le(one.least, one.window));
              inside.push_back(t.lt(one.window, grad->shape[at]));
              count = ir::mul(ctx, count, one.elements);
              continue;
            }
            // The last window that starts at or before this element, and those before it; or the one that has it as
            // this tap.
            const Expr* p = ir::add(ctx, i[at], t.i64(w.padding[k]));
            if (by_taps) p = ir::sub(ctx, p, ir::mul(ctx, tap(k), t.i64(w.dilation[k])));
            const Expr* o = ir::floor_div(ctx, p, stride);
            if (!by_taps) o = ir::sub(ctx, o, tap(k));
            idx[at] = o;
            inside.push_back(t.le(t.i64(0), o));
            inside.push_back(t.lt(o, grad->shape[at]));
            if (!by_taps)
              inside.push_back(t.lt(p, ir::add(ctx, ir::mul(ctx, o, stride), w.size[k])));
            else if (w.strides[k] != 1)
              inside.push_back(t.eq(ir::floor_mod(ctx, p, stride), t.i64(0)));
            const auto taps = w.include_pad ? taps_padded : taps_inside;
            count = ir::mul(ctx, count, taps(t, w, k, o, x->shape[at]));
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

namespace {

// Whether the last window that begins at or before any element is one of those that there are.
bool windows_cover(const Window& w, std::size_t k, const Expr* elements, const Expr* windows) {
  const auto n = ir::const_int(elements), count = ir::const_int(windows);
  return n && count && *n > 0 && (*n - 1 + w.padding[k]) / w.strides[k] < *count;
}

// The places of the maxima, then for each element the gradients of the windows whose maximum it is. Places are counted
// in the padded data.
Tensor max_gradient(Topi& t, const Window& w, Tensor grad, Tensor x) {
  ir::Context& ctx = t.ctx;
  te::Graph& g = t.g;
  const Tensor padded = pad_window(t, w, x, ir::min_value(ctx, x->dtype));
  const auto axis = [&](std::size_t k) { return std::size_t(w.layout.index_of(w.letters[k])); };
  const auto wide = [&](const ir::IterVar& v) { return ir::cast_to(ctx, DType::Int(64), v.var); };
  const auto place = [&](const ExprList& at) {
    const Expr* p = nullptr;
    for (std::size_t i = 0; i < at.size(); ++i) p = p ? ir::add(ctx, ir::mul(ctx, p, padded->shape[i]), at[i]) : at[i];
    return p;
  };
  std::vector<ir::IterVar> taps, windows;
  for (std::size_t k = 0; k < 2; ++k) {
    taps.push_back(g.reduce_axis(narrow(ctx, w.size[k]), k == 0 ? "dh" : "dw"));
    const Expr* most = ir::floor_div(ctx, ir::add(ctx, w.size[k], t.i64(w.strides[k] - 1)), t.i64(w.strides[k]));
    windows.push_back(g.reduce_axis(narrow(ctx, most), k == 0 ? "wh" : "ww"));
  }
  const std::string_view names[] = {"maxpool_grad_argmax_v0", "maxpool_grad_argmax_v1"};
  const std::vector<Tensor> largest = g.reduce_multi(
      grad->shape,
      [&](Indices i) {
        ExprList at = topi::vars(i);
        for (std::size_t k = 0; k < 2; ++k)
          at[axis(k)] = ir::add(ctx, ir::mul(ctx, at[axis(k)], t.i64(w.strides[k])), wide(taps[k]));
        return ExprList{place(at), g.load(padded, std::span<const Expr* const>(at))};
      },
      taps, t.arg_reducer(x->dtype, true), names);
  return g.reduce(
      x->shape,
      [&](Indices i) {
        ExprList at = topi::vars(i), of = at, inside;
        for (std::size_t k = 0; k < 2; ++k) {
          const Expr* p = ir::add(ctx, at[axis(k)], t.i64(w.padding[k]));
          const Expr* stride = t.i64(w.strides[k]);
          at[axis(k)] = p;
          of[axis(k)] = ir::sub(ctx, ctx.binary(BinaryKind::Div, p, stride), wide(windows[k]));
          const Expr* before = ctx.binary(BinaryKind::Div, ir::sub(ctx, p, w.size[k]), stride);
          const Expr* least = ctx.select(t.lt(p, w.size[k]), t.i64(0), ir::add(ctx, before, t.i64(1)));
          inside.push_back(t.le(least, of[axis(k)]));
          // TVM reads past the last window where the data go on beyond it; that is an access out of bounds here.
          if (!windows_cover(w, k, x->shape[axis(k)], grad->shape[axis(k)]))
            inside.push_back(t.lt(of[axis(k)], grad->shape[axis(k)]));
        }
        const std::span<const Expr* const> window(of);
        inside.push_back(t.eq(g.load(largest[0], window), place(at)));
        return t.if_else(t.all(inside), g.load(grad, window), t.lit(grad->dtype, 0));
      },
      windows, g.sum_reducer(grad->dtype), "T_pool_grad");
}

}  // namespace

// The first of the largest elements of a window gets its gradient.
Result<const Expr*> max_pool2d_backward(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  RLDB_TRY_VOID(known_arg(c, 0));
  RLDB_TRY(const Window window, window_of(l.context(), c));
  const bool neighbours = window.dilation[0] == 1 && window.dilation[1] == 1;
  return l.call_te("max_pool2d_backward", c->args, c->type, [&](Te& te) -> Tensors {
    const te::Graph::OutputSpec outputs[] = {{te.ctx.list(mapped(te, out->shape)), out->dtype}};
    Window own = window;
    own.size = mapped(te, own.size);
    if (neighbours) {
      Topi t(te);
      return {max_gradient(t, own, te.in[0], te.in[1])};
    }
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
