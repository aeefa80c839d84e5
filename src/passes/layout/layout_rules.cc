// Layout rules of operators, their own or those of their classes. An operator without a rule, or whose rule gives up,
// gets its operands in their original layouts, which is always correct. Attributes are given in full (axes counted from
// the front, all of them, in order) even where no layout changes, as in TVM.
#include "passes/layout/layout_rules.h"

#include <algorithm>
#include <array>

#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/pad_attr.h"
#include "rldb/ir/op_attr/window_attr.h"
#include "rldb/ir/op_rule.h"
#include "rldb/ir/scalar.h"
#include "rldb/ops/op_info.h"

namespace rldb::passes {

using namespace ir;

// Functions named by the rows of rule.def, and their helpers.
namespace layout_rule {

using Decision = std::optional<LayoutDecision>;

static const TensorType* tensor(const Expr* e) {
  const auto* t = as<TensorType>(e->type);
  return t && t->ndim >= 0 ? t : nullptr;
}

static std::string_view text(const Call* c, std::string_view name) {
  const Attr* a = find_attr(c->attrs, name);
  return a && a->is(AttrKind::String) ? a->string : std::string_view();
}

static Decision same(const LayoutQuery& q, const Layout& layout) {
  return LayoutDecision{{layout}, {}, {}, q.call->attrs, layout};
}

// The layout of the first operand; its original one, if it has blocks. Null if it is no tensor.
static std::optional<Layout> unsplit(const LayoutQuery& q) {
  const TensorType* t = tensor(q.call->args[0]);
  if (!t) return std::nullopt;
  const Layout layout = q.layout_of(q.call->args[0]);
  return layout.is_split() ? Layout::initial(t->ndim) : layout;
}

// ---- elementwise ----

Decision unary(const LayoutQuery& q) {
  return tensor(q.call->args[0]) ? same(q, q.layout_of(q.call->args[0])) : std::nullopt;
}

// The layout of a tensor that is broadcast to more axes in front.
static Layout stretched(const Layout& from, int ndim) {
  const int more = ndim - from.ndim();
  std::vector<Layout::Piece> pieces = Layout::initial(more).pieces();
  for (const Layout::Piece& p : from.pieces()) pieces.push_back({p.axis + more, p.factor});
  return Layout(std::move(pieces));
}

static Decision both(const LayoutQuery& q, const Layout& a, const Layout& b, const Layout& result) {
  return LayoutDecision{{a, b}, {}, {}, q.call->attrs, result};
}

static Decision binary(const LayoutQuery& q) {
  const TensorType* x = tensor(q.call->args[0]);
  const TensorType* y = tensor(q.call->args[1]);
  if (!x || !y) return std::nullopt;
  const Layout a = q.layout_of(q.call->args[0]);
  const Layout b = q.layout_of(q.call->args[1]);
  if ((a.is_split() || b.is_split()) && a.ndim() == b.ndim()) {
    const bool first = a.pieces().size() >= b.pieces().size() && y->has_shape;
    const Layout& split = first ? a : b;
    if (split.divides(first ? y : x)) return both(q, split, split, split);
  }
  if (x->ndim == 0) return both(q, a, b, b);
  if (y->ndim == 0) return both(q, a, b, a);
  const bool by_first = x->ndim <= y->ndim;
  if ((by_first ? a : b).is_split()) return std::nullopt;
  if (by_first) {
    const Layout out = stretched(a, y->ndim);
    return both(q, a, out, out);
  }
  const Layout out = stretched(b, x->ndim);
  return both(q, out, b, out);
}

// The first operand of the largest rank gives the layout; the others have its last axes.
static Decision many(const LayoutQuery& q) {
  int ndim = 0;
  for (const Expr* a : q.call->args) {
    if (!tensor(a)) return std::nullopt;
    ndim = std::max(ndim, tensor(a)->ndim);
  }
  std::optional<Layout> layout;
  for (const Expr* a : q.call->args) {
    const Layout now = q.layout_of(a);
    if (now.is_split()) return std::nullopt;
    if (!layout && tensor(a)->ndim == ndim && !now.is_initial()) layout = now;
  }
  if (!layout) layout = Layout::initial(ndim);
  LayoutDecision d{{}, {}, {}, q.call->attrs, *layout};
  for (const Expr* a : q.call->args) {
    if (tensor(a)->ndim != ndim && tensor(a)->ndim != 0 && !layout->is_initial()) return std::nullopt;
    d.operands.push_back(tensor(a)->ndim == ndim ? *layout : Layout::initial(tensor(a)->ndim));
  }
  return d;
}
Decision broadcast(const LayoutQuery& q) { return q.call->args.size() == 2 ? binary(q) : many(q); }

// ---- convolutions, windows, images ----

static Decision with_conv_layouts(const LayoutQuery& q, const Layout& data, const Layout& weight, const Layout& result,
                                  std::array<std::string, 3> texts) {
  Span<NamedAttr> attrs = q.ctx.with_attr(q.call->attrs, op_attr::DataLayout, q.ctx.attr(q.ctx.str(texts[0])));
  attrs = q.ctx.with_attr(attrs, op_attr::KernelLayout, q.ctx.attr(q.ctx.str(texts[1])));
  attrs = q.ctx.with_attr(attrs, op_attr::OutLayout, q.ctx.attr(q.ctx.str(texts[2])));
  return LayoutDecision{{data, weight}, {}, {}, attrs, result, {}};
}

// A convolution without a requested layout adopts the layouts of its operands.
static Decision conv_as_stored(const LayoutQuery& q) {
  const Layout data = q.layout_of(q.call->args[0]), weight = q.layout_of(q.call->args[1]);
  const std::string_view data_now = text(q.call, op_attr::DataLayout), weight_now = text(q.call, op_attr::KernelLayout);
  const std::string_view out_now = text(q.call, op_attr::OutLayout);
  const bool known = int(data_now.size()) == data.ndim() && int(weight_now.size()) == weight.ndim();
  if (!known || data.is_split() || weight.is_split() || (!out_now.empty() && out_now != data_now)) return std::nullopt;
  return with_conv_layouts(q, data, weight, data, {data.text(data_now), weight.text(weight_now), data.text(data_now)});
}

Decision convolution(const LayoutQuery& q) {
  const Call* c = q.call;
  if (!tensor(c->args[0]) || !tensor(c->args[1])) return std::nullopt;
  const auto found = q.wanted.find(std::string(cast<Op>(c->callee)->name));
  if (found == q.wanted.end() || found->second.size() < 2) return conv_as_stored(q);
  const std::vector<std::string>& wanted = found->second;
  const std::string_view result_now =
      text(c, op_attr::OutLayout).empty() ? text(c, op_attr::DataLayout) : text(c, op_attr::OutLayout);
  const std::string& result_wanted = wanted.size() > 2 ? wanted[2] : wanted[0];
  const auto data = Layout::parse(wanted[0], text(c, op_attr::DataLayout));
  const auto weight = Layout::parse(wanted[1], text(c, op_attr::KernelLayout));
  const auto result = Layout::parse(result_wanted, result_now);
  if (!data || !weight || !result) return std::nullopt;
  const bool split = data->is_split() || weight->is_split() || result->is_split();
  const Attr* groups = find_attr(c->attrs, op_attr::Groups);
  if (split &&
      (!data->divides(c->args[0]->type) || !weight->divides(c->args[1]->type) || (groups && groups->integer != 1)))
    return std::nullopt;
  return with_conv_layouts(q, *data, *weight, *result, {wanted[0], wanted[1], result_wanted});
}

// The operator has an attribute for its layout.
static Decision with_layout(const LayoutQuery& q, const Layout& layout) {
  const std::string_view now = text(q.call, op_attr::Layout);
  if (int(now.size()) != layout.ndim()) return std::nullopt;
  const std::string_view out_now = text(q.call, op_attr::OutLayout);
  Span<NamedAttr> attrs = q.ctx.with_attr(q.call->attrs, op_attr::Layout, q.ctx.attr(q.ctx.str(layout.text(now))));
  if (out_now == now) attrs = q.ctx.with_attr(attrs, op_attr::OutLayout, q.ctx.attr(q.ctx.str(layout.text(now))));
  if (!out_now.empty() && out_now != now) return std::nullopt;
  return LayoutDecision{{layout}, {}, {}, attrs, layout};
}
Decision windowed(const LayoutQuery& q) {
  return tensor(q.call->args[0]) ? with_layout(q, q.layout_of(q.call->args[0])) : std::nullopt;
}
// The other operands, a grid or regions, have no layout.
Decision sampled(const LayoutQuery& q) {
  const auto layout = unsplit(q);
  return layout ? with_layout(q, *layout) : std::nullopt;
}
Decision resize(const LayoutQuery& q) {
  const auto found = q.wanted.find(std::string(cast<Op>(q.call->callee)->name));
  auto layout = unsplit(q);
  if (found != q.wanted.end() && !found->second.empty())
    layout = Layout::parse(found->second[0], text(q.call, op_attr::Layout));
  return layout && !layout->is_split() ? with_layout(q, *layout) : std::nullopt;
}

// ---- operators along axes ----

static Decision with_axis(const LayoutQuery& q, const Layout& layout) {
  const Attr* axis = find_attr(q.call->attrs, op_attr::Axis);
  if (!axis || !axis->is(AttrKind::Int)) return std::nullopt;
  const Span<NamedAttr> attrs = q.ctx.with_attr(q.call->attrs, op_attr::Axis, q.ctx.attr(layout.place(axis->integer)));
  return LayoutDecision{{layout}, {}, {}, attrs, layout};
}
Decision along_axis(const LayoutQuery& q) {
  const auto layout = unsplit(q);
  return layout ? with_axis(q, *layout) : std::nullopt;
}
Decision gather_elements(const LayoutQuery& q) {
  auto layout = unsplit(q);
  if (!layout || !tensor(q.call->args[1])) return std::nullopt;
  // The indices are followed where the data are as they were.
  const Layout indices = q.layout_of(q.call->args[1]);
  if (q.layout_of(q.call->args[0]).is_initial() && !indices.is_split()) layout = indices;
  Decision d = with_axis(q, *layout);
  if (d) d->operands.push_back(*layout);
  return d;
}
// The first operands have the same axes.
static Decision along_axis_of(const LayoutQuery& q, std::size_t count) {
  const auto layout = unsplit(q);
  if (!layout) return std::nullopt;
  for (std::size_t i = 1; i < count; ++i)
    if (!tensor(q.call->args[i]) || tensor(q.call->args[i])->ndim != layout->ndim()) return std::nullopt;
  Decision d = with_axis(q, *layout);
  if (d) d->operands.assign(count, *layout);
  return d;
}
Decision two_along_axis(const LayoutQuery& q) { return along_axis_of(q, 2); }
// Indices and updates that agree decide, as in TVM; else the data do.
Decision scatter_elements(const LayoutQuery& q) {
  Decision d = along_axis_of(q, 3);
  const Layout indices = q.layout_of(q.call->args[1]);
  if (!d || indices.is_split() || !(indices == q.layout_of(q.call->args[2]))) return d;
  d = with_axis(q, indices);
  if (d) d->operands.assign(3, indices);
  return d;
}

// Each index is replaced by a slice: a vector of them keeps the axes.
Decision take(const LayoutQuery& q) {
  const TensorType* indices = tensor(q.call->args[1]);
  return indices && indices->ndim == 1 ? along_axis(q) : std::nullopt;
}

static std::size_t field_count(const LayoutQuery& q) {
  const auto* fields = as<TupleType>(q.call->type);
  return fields ? fields->fields.size() : 0;
}
Decision topk(const LayoutQuery& q) {
  Decision d = along_axis(q);
  if (d) d->fields.assign(field_count(q), d->result);
  return d;
}
// The result and the mask.
Decision dropout(const LayoutQuery& q) {
  Decision d = unary(q);
  if (d) d->fields.assign(field_count(q), d->result);
  return d;
}

Decision reverse_sequence(const LayoutQuery& q) {
  const auto layout = unsplit(q);
  if (!layout) return std::nullopt;
  Span<NamedAttr> attrs = q.call->attrs;
  for (const std::string_view name : {op_attr::SeqAxis, op_attr::BatchAxis}) {
    const Attr* axis = find_attr(attrs, name);
    if (!axis || !axis->is(AttrKind::Int)) return std::nullopt;
    attrs = q.ctx.with_attr(attrs, name, q.ctx.attr(layout->place(axis->integer)));
  }
  return LayoutDecision{{*layout}, {}, {}, attrs, *layout};
}

// Widths before and after, by axis.
Decision pad(const LayoutQuery& q) {
  const auto layout = unsplit(q);
  const Attr* widths = find_attr(q.call->attrs, op_attr::PadWidth);
  if (!layout || !widths || !widths->is(AttrKind::List) || widths->items.size() != std::size_t(layout->ndim()) * 2)
    return std::nullopt;
  std::vector<std::int64_t> moved;
  for (const Layout::Piece& p : layout->pieces())
    for (std::size_t side = 0; side < 2; ++side)
      moved.push_back(widths->items[std::size_t(p.axis) * 2 + side]->integer);
  const Span<NamedAttr> attrs = q.ctx.with_attr(q.call->attrs, op_attr::PadWidth, q.ctx.attr_ints(moved));
  return LayoutDecision{{*layout}, {}, {}, attrs, *layout};
}

std::optional<std::vector<std::int64_t>> axes_of(const Call* c, std::string_view name, int ndim) {
  const Attr* list = find_attr(c->attrs, name);
  if (!list || !list->is(AttrKind::List)) return std::nullopt;
  std::vector<std::int64_t> axes;
  for (const Attr* a : list->items) axes.push_back(a->integer < 0 ? a->integer + ndim : a->integer);
  return axes;
}
std::vector<std::int64_t> places(const Layout& layout, const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> out;
  for (const std::int64_t a : axes) out.push_back(layout.place(a));
  return out;
}

// The scale and the offset have the axes in their original order and whole, so they have to stay so.
Decision layer_norm(const LayoutQuery& q) {
  const TensorType* data = tensor(q.call->args[0]);
  const auto axes = data ? axes_of(q.call, op_attr::Axes, data->ndim) : std::nullopt;
  if (!axes) return std::nullopt;
  const Layout layout = q.layout_of(q.call->args[0]);
  const std::vector<std::int64_t> moved = places(layout, *axes);
  const bool whole = std::none_of(axes->begin(), axes->end(), [&](std::int64_t a) { return layout.splits(a); });
  if (!whole || !std::is_sorted(axes->begin(), axes->end()) || !std::is_sorted(moved.begin(), moved.end()))
    return std::nullopt;
  const Span<NamedAttr> attrs = q.ctx.with_attr(q.call->attrs, op_attr::Axes, q.ctx.attr_ints(moved));
  return LayoutDecision{{layout}, {}, {}, attrs, layout};
}

// The statistics have one axis, the channels.
Decision batch_norm(const LayoutQuery& q) {
  const auto layout = unsplit(q);
  Decision d = layout ? with_axis(q, *layout) : std::nullopt;
  if (d) d->fields = {*layout, Layout::initial(1), Layout::initial(1)};
  return d;
}
Decision channel_norm(const LayoutQuery& q) {
  const auto layout = unsplit(q);
  const auto axes = layout ? axes_of(q.call, op_attr::Axes, layout->ndim()) : std::nullopt;
  const Attr* channel = find_attr(q.call->attrs, op_attr::ChannelAxis);
  if (!axes || !channel || !channel->is(AttrKind::Int)) return std::nullopt;
  Span<NamedAttr> attrs = q.ctx.with_attr(q.call->attrs, op_attr::Axes, q.ctx.attr_ints(places(*layout, *axes)));
  attrs = q.ctx.with_attr(attrs, op_attr::ChannelAxis, q.ctx.attr(layout->place(channel->integer)));
  return LayoutDecision{{*layout}, {}, {}, attrs, *layout, {}};
}

// The result is in its original order, wherever the axes come from.
Decision permute_dims(const LayoutQuery& q) {
  const auto layout = unsplit(q);
  if (!layout) return std::nullopt;
  std::vector<std::int64_t> order;
  if (auto given = axes_of(q.call, op_attr::Axes, layout->ndim()))
    order = std::move(*given);
  else
    for (std::int64_t i = layout->ndim(); i-- > 0;) order.push_back(i);
  const Span<NamedAttr> attrs = q.ctx.with_attr(q.call->attrs, op_attr::Axes, q.ctx.attr_ints(places(*layout, order)));
  return LayoutDecision{{*layout}, {}, {}, attrs, Layout::initial(layout->ndim()), {}};
}

// In blocks only into parts that come out even.
Decision split(const LayoutQuery& q) {
  const auto* parts = as<TupleType>(q.call->type);
  if (!parts || !tensor(q.call->args[0])) return std::nullopt;
  Layout layout = q.layout_of(q.call->args[0]);
  const auto even = [&](const Type* part) { return layout.divides(part); };
  if (layout.is_split() && !std::all_of(parts->fields.begin(), parts->fields.end(), even))
    layout = Layout::initial(layout.ndim());
  Decision d = with_axis(q, layout);
  if (d) d->fields.assign(parts->fields.size(), layout);
  return d;
}

// A layout with some axes removed, the others renumbered.
static Layout without(const Layout& layout, const std::vector<std::int64_t>& axes) {
  std::vector<Layout::Piece> pieces;
  for (const Layout::Piece& p : layout.pieces()) {
    if (std::find(axes.begin(), axes.end(), p.axis) != axes.end()) continue;
    const auto before = std::count_if(axes.begin(), axes.end(), [&](std::int64_t a) { return a < p.axis; });
    pieces.push_back({p.axis - int(before), 0});
  }
  return Layout(std::move(pieces));
}

// In the order of the layout.
static std::vector<std::int64_t> ordered_places(const Layout& layout, const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> out = places(layout, axes);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Decision reduce(const LayoutQuery& q) {
  const auto layout = unsplit(q);
  if (!layout) return std::nullopt;
  auto axes = axes_of(q.call, op_attr::Axis, layout->ndim());
  if (!axes) {
    axes.emplace();
    for (int i = 0; i < layout->ndim(); ++i) axes->push_back(i);
  }
  const bool keep = is_set(q.call->attrs, op_attr::Keepdims);
  const Attr* moved = q.ctx.attr_ints(ordered_places(*layout, *axes));
  const Span<NamedAttr> attrs = q.ctx.with_attr(q.call->attrs, op_attr::Axis, moved);
  return LayoutDecision{{*layout}, {}, {}, attrs, keep ? *layout : without(*layout, *axes)};
}

// One axis, not a list; of all elements the index depends on their order.
Decision reduce_index(const LayoutQuery& q) {
  const Attr* axis = find_attr(q.call->attrs, op_attr::Axis);
  Decision d = axis && axis->is(AttrKind::Int) ? along_axis(q) : std::nullopt;
  if (d && !is_set(q.call->attrs, op_attr::Keepdims)) {
    const std::int64_t from_front = axis->integer < 0 ? axis->integer + d->result.ndim() : axis->integer;
    d->result = without(d->result, {from_front});
  }
  return d;
}
// Along one axis, the value and its index.
Decision median(const LayoutQuery& q) {
  const Attr* axes = find_attr(q.call->attrs, op_attr::Axis);
  if (!axes || !axes->is(AttrKind::List)) return std::nullopt;  // a list of all axes may have another result
  Decision d = reduce(q);
  if (d) d->fields.assign(field_count(q), d->result);
  return d;
}

Decision squeeze(const LayoutQuery& q) {
  const auto layout = unsplit(q);
  const TensorType* data = layout ? tensor(q.call->args[0]) : nullptr;
  if (!data || !data->has_shape) return std::nullopt;
  auto axes = axes_of(q.call, op_attr::Axis, layout->ndim());
  if (!axes) {
    axes.emplace();
    for (int i = 0; i < layout->ndim(); ++i)
      if (is_const(data->shape[std::size_t(i)], 1)) axes->push_back(i);
  }
  const Attr* moved = q.ctx.attr_ints(ordered_places(*layout, *axes));
  const Span<NamedAttr> attrs = q.ctx.with_attr(q.call->attrs, op_attr::Axis, moved);
  return LayoutDecision{{*layout}, {}, {}, attrs, without(*layout, *axes)};
}

// New axes stay where they are inserted; the others fill the rest in storage order.
Decision expand_dims(const LayoutQuery& q) {
  const auto layout = unsplit(q);
  const auto* out = tensor(q.call);
  const auto axes = layout && out ? axes_of(q.call, op_attr::Axis, out->ndim) : std::nullopt;
  if (!axes) return std::nullopt;
  std::vector<int> old;
  for (int i = 0; i < out->ndim; ++i)
    if (std::find(axes->begin(), axes->end(), i) == axes->end()) old.push_back(i);
  if (int(old.size()) != layout->ndim()) return std::nullopt;
  std::vector<Layout::Piece> pieces = Layout::initial(out->ndim).pieces();
  for (std::size_t i = 0; i < old.size(); ++i)
    pieces[std::size_t(old[i])].axis = old[std::size_t(layout->pieces()[i].axis)];
  return LayoutDecision{{*layout}, {}, {}, q.call->attrs, Layout(std::move(pieces))};
}

Decision strided_slice(const LayoutQuery& q) {
  const auto layout = unsplit(q);
  const auto* axes = as<Tuple>(q.call->args[1]);
  if (!layout || !axes) return std::nullopt;
  std::vector<const Expr*> moved;
  for (const Expr* a : axes->items) {
    const IntImm* n = as_int(a);
    if (!n) return std::nullopt;
    moved.push_back(q.ctx.int_imm(n->dtype(), layout->place(n->value)));
  }
  std::vector<const Expr*> others(q.call->args.begin() + 1, q.call->args.end());
  others[0] = q.ctx.tuple(moved);
  return LayoutDecision{{*layout}, {}, std::move(others), q.call->attrs, *layout};
}

Decision tile(const LayoutQuery& q) {
  const auto layout = unsplit(q);
  const Attr* repeats = find_attr(q.call->attrs, op_attr::Repeats);
  if (!layout || !repeats || !repeats->is(AttrKind::List)) return std::nullopt;
  const std::size_t given = repeats->items.size(), ndim = std::size_t(layout->ndim());
  const std::size_t more = given > ndim ? given - ndim : 0;  // new axes in front
  std::vector<std::int64_t> all(given < ndim ? ndim - given : 0, 1);
  for (const Attr* a : repeats->items) all.push_back(a->integer);
  std::vector<std::int64_t> moved(all.begin(), all.begin() + std::ptrdiff_t(more));
  for (const Layout::Piece& p : layout->pieces()) moved.push_back(all[more + std::size_t(p.axis)]);
  const Span<NamedAttr> attrs = q.ctx.with_attr(q.call->attrs, op_attr::Repeats, q.ctx.attr_ints(moved));
  return LayoutDecision{{*layout}, {}, {}, attrs, stretched(*layout, int(ndim + more))};
}

// The first layout with blocks when all tensors divide evenly, else the first without.
Decision concat(const LayoutQuery& q) {
  const auto* parts = as<Tuple>(q.call->args[0]);
  const Attr* axis = find_attr(q.call->attrs, op_attr::Axis);
  if (!parts || parts->items.empty() || !axis || !axis->is(AttrKind::Int)) return std::nullopt;
  std::optional<Layout> split, plain;
  for (const Expr* item : parts->items) {
    if (!tensor(item)) return std::nullopt;
    const Layout layout = q.layout_of(item);
    std::optional<Layout>& first = layout.is_split() ? split : plain;
    if (!first) first = layout;
  }
  const bool even = split && std::all_of(parts->items.begin(), parts->items.end(),
                                         [&](const Expr* item) { return split->divides(item->type); });
  if (!even && !plain) return std::nullopt;
  const Layout layout = even ? *split : *plain;
  const Span<NamedAttr> attrs = q.ctx.with_attr(q.call->attrs, op_attr::Axis, q.ctx.attr(layout.place(axis->integer)));
  return LayoutDecision{{Layout()}, std::vector<Layout>(parts->items.size(), layout), {}, attrs, layout};
}

}  // namespace layout_rule

std::optional<LayoutDecision> decide_layout(const LayoutQuery& q) {
  const ops::OpInfo* info = ops::find(q.call->callee);
  if (!info || q.call->args.empty()) return std::nullopt;
  static constexpr op::RuleTable<LayoutRule> kRules{op::Column::Layout,
                                                    {
#define RLDB_OP_LAYOUT(Op, function) {op::Id::Op, layout_rule::function},
#include "rldb/ir/op/rule.def"
                                                    },
                                                    {
#define RLDB_OP_CLASS(id, infer, shard, layout_fn, gradient, legalise, mixed, in_place, pattern, doc) \
  {op::Class::id, op::is_rule(#layout_fn) ? layout_rule::layout_fn : nullptr},
#include "rldb/ir/op/class.def"
                                                    }};
  const LayoutRule rule = kRules.find(info->name);
  return rule ? rule(q) : std::nullopt;
}

}  // namespace rldb::passes
