// Legalisation of layout_transform: elements are moved by the index map. Three forms, chosen as in TVM where
// possible: the input is copied element by element; or, where the result has places without an element and the map
// splits and moves axes, the result is computed place by place; or the result is filled, and then the elements are put
// there.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ops/arguments/attr_value.h"
#include "ops/legal/statements.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/pad_attr.h"
#include "rldb/ir/walk.h"
#include "rldb/support/integer.h"

namespace rldb::ops::legal {

namespace {

using ir::Lambda;

// How the map uses one axis of the input: as one axis of the result, or split in two (`i // by`, `i % by`).
struct AxisUse {
  int whole = -1;  // number of the result's axis; of the first one where it is split
  int inner = -1;
  std::int64_t by = 1;
};

class Splits {
 public:
  explicit Splits(const Lambda* map) : uses_(map->params.size()) {
    for (std::size_t i = 0; i < map->params.size(); ++i) number_[map->params[i]] = i;
    for (std::size_t r = 0; good_ && r < map->results.size(); ++r) good_ = take(map->results[r], int(r));
    for (const AxisUse& u : uses_) good_ = good_ && u.whole >= 0 && (u.by == 1) == (u.inner < 0);
  }

  // Null: the map does more than split and move axes.
  const std::vector<AxisUse>* uses() const { return good_ ? &uses_ : nullptr; }

 private:
  AxisUse* use_of(const Expr* e) {
    const auto* v = ir::as<ir::Var>(e);
    const auto found = v ? number_.find(v) : number_.end();
    return found == number_.end() ? nullptr : &uses_[found->second];
  }

  bool take(const Expr* e, int axis) {
    if (AxisUse* u = use_of(e)) return std::exchange(u->whole, axis) < 0;
    const auto* b = ir::as<ir::BinaryExpr>(e);
    const auto by = b ? ir::const_int(b->b) : std::nullopt;
    AxisUse* u = by && *by > 1 ? use_of(b->a) : nullptr;
    if (!u || (u->by != 1 && u->by != *by)) return false;
    u->by = *by;
    if (b->op() == ir::BinaryKind::FloorDiv) return std::exchange(u->whole, axis) < 0;
    return b->op() == ir::BinaryKind::FloorMod && std::exchange(u->inner, axis) < 0;
  }

  std::vector<AxisUse> uses_;
  std::unordered_map<const ir::Var*, std::size_t> number_;
  bool good_ = true;
};

// Searches a box for two elements that are mapped to the same place. A collision it reports is certain; one far out in
// a large tensor is not found.
class Collisions {
 public:
  Collisions(const Lambda* map, std::span<const Expr* const> shape) : map_(map), index_(map->params.size(), 0) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      extents_.push_back(ir::const_int(shape[i]).value_or(kLongestAxis));
      number_[map->params[i]] = i;
    }
  }

  bool any() {
    const std::vector<std::int64_t> all = extents_;
    for (std::size_t axis = 0; axis < all.size(); ++axis) {
      extents_.assign(all.size(), 1);
      extents_[axis] = std::min(all[axis], kLongestAxis);
      if (in_box()) return true;
    }
    // The first elements of all axes: as many of each as fit.
    const auto cut_to = [&](std::int64_t most) {
      std::int64_t count = 1;
      for (std::size_t axis = 0; axis < all.size() && count <= kMostElements; ++axis)
        count *= extents_[axis] = std::min(all[axis], most);
      return count;
    };
    std::int64_t most = 1;
    while (most < kLongestAxis && cut_to(most * 2) <= kMostElements) most *= 2;
    return cut_to(most) <= kMostElements && in_box();
  }

 private:
  static constexpr std::int64_t kLongestAxis = 65536, kMostElements = 65536;

  bool in_box() {
    const std::size_t results = map_->results.size();
    std::vector<std::int64_t> places;  // of one element after the other
    std::vector<std::int64_t> low(results, INT64_MAX), high(results, INT64_MIN);
    std::fill(index_.begin(), index_.end(), 0);
    for (const std::int64_t e : extents_)
      if (e <= 0) return false;
    for (std::size_t axis = 1; axis > 0;) {
      for (std::size_t r = 0; r < results; ++r) {
        const auto value = value_of(map_->results[r]);
        if (!value) return false;
        places.push_back(*value);
        low[r] = std::min(low[r], *value);
        high[r] = std::max(high[r], *value);
      }
      axis = index_.size();
      while (axis > 0 && ++index_[axis - 1] == extents_[axis - 1]) index_[--axis] = 0;
    }
    return repeated(places, low, high);
  }

  // As numbers of one axis.
  static bool repeated(const std::vector<std::int64_t>& places, const std::vector<std::int64_t>& low,
                       const std::vector<std::int64_t>& high) {
    std::vector<std::int64_t> flat;
    for (std::size_t at = 0; at < places.size(); at += low.size()) {
      std::int64_t n = 0;
      for (std::size_t r = 0; r < low.size(); ++r) {
        std::int64_t extent = 0;
        if (__builtin_sub_overflow(high[r], low[r], &extent) || __builtin_add_overflow(extent, 1, &extent) ||
            __builtin_mul_overflow(n, extent, &n) || __builtin_add_overflow(n, places[at + r] - low[r], &n))
          return false;
      }
      flat.push_back(n);
    }
    std::sort(flat.begin(), flat.end());
    return std::adjacent_find(flat.begin(), flat.end()) != flat.end();
  }

  // Nothing: it computes with more than the indices.
  std::optional<std::int64_t> value_of(const Expr* e) const {
    if (const auto* literal = ir::as_int(e)) return literal->value;
    if (const auto* cast = ir::as<ir::CastExpr>(e)) return value_of(cast->value);
    if (const auto* v = ir::as<ir::Var>(e)) {
      const auto found = number_.find(v);
      return found == number_.end() ? std::nullopt : std::optional(index_[found->second]);
    }
    const auto* b = ir::as<ir::BinaryExpr>(e);
    const auto x = b ? value_of(b->a) : std::nullopt, y = x ? value_of(b->b) : std::nullopt;
    if (!y) return std::nullopt;
    std::int64_t made = 0;
    switch (b->op()) {
      case ir::BinaryKind::Add:
        return __builtin_add_overflow(*x, *y, &made) ? std::nullopt : std::optional(made);
      case ir::BinaryKind::Sub:
        return __builtin_sub_overflow(*x, *y, &made) ? std::nullopt : std::optional(made);
      case ir::BinaryKind::Mul:
        return __builtin_mul_overflow(*x, *y, &made) ? std::nullopt : std::optional(made);
      case ir::BinaryKind::FloorDiv:
        return *y > 0 ? std::optional(support::floor_div(*x, *y)) : std::nullopt;
      case ir::BinaryKind::FloorMod:
        return *y > 0 ? std::optional(support::floor_mod(*x, *y)) : std::nullopt;
      case ir::BinaryKind::Min:
        return std::min(*x, *y);
      case ir::BinaryKind::Max:
        return std::max(*x, *y);
      case ir::BinaryKind::Div:
      case ir::BinaryKind::Mod:
#define RLDB_COMPARISON(Kind, ...) case ir::BinaryKind::Kind:
#define RLDB_LOGIC(Kind, ...) case ir::BinaryKind::Kind:
#include "rldb/ir/node.def"
        return std::nullopt;
    }
    return std::nullopt;
  }

  const Lambda* map_;
  std::vector<std::int64_t> extents_, index_;
  std::unordered_map<const ir::Var*, std::size_t> number_;
};

ExprList place_of(ir::Context& ctx, const Lambda* map, std::span<const Expr* const> at) {
  ir::VarMap values;
  for (std::size_t i = 0; i < at.size(); ++i) values[map->params[i]] = ir::cast_to(ctx, map->params[i]->dtype(), at[i]);
  ExprList out;
  for (const Expr* r : map->results) out.push_back(ir::cast_to(ctx, DType::Int(64), ir::substitute(ctx, r, values)));
  return out;
}

// Every place of the result has an element.
bool covers(ir::Context& ctx, std::span<const Expr* const> in, std::span<const Expr* const> out) {
  return ir::Analyzer(ctx).prove_equal(ir::product(ctx, in), ir::product(ctx, out));
}

Tensor copied(Te& te, const Lambda* map, std::span<const Expr* const> shape, std::string_view name) {
  Tensor x = te.in[0];
  return te.graph.scatter(
      shape, x->shape, [&](Indices i) { return te.graph.load(x, i); },
      [&](Indices i) { return place_of(te.ctx, map, topi::vars(i)); }, name);
}

// Null: the length of a split axis is not known.
Tensor computed(Te& te, const std::vector<AxisUse>& uses, std::span<const Expr* const> shape, const Expr* pad,
                std::string_view name) {
  Tensor x = te.in[0];
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (uses[i].inner >= 0 && !ir::const_int(x->shape[i])) return nullptr;
  Topi t(te);
  const auto element = [&](Indices to) -> const Expr* {
    ExprList from;
    const Expr* outside = nullptr;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const AxisUse& u = uses[i];
      const Expr* outer = to[std::size_t(u.whole)];
      if (u.inner < 0) {
        from.push_back(outer);
        continue;
      }
      const Expr* inner = to[std::size_t(u.inner)];
      from.push_back(ir::add(te.ctx, ir::mul(te.ctx, outer, t.i64(u.by)), inner));
      const std::int64_t length = *ir::const_int(x->shape[i]), rest = length % u.by;
      if (rest == 0) continue;
      // Beyond the end: in the last part, from `rest` on.
      const Expr* late = rest == u.by - 1 ? t.eq(inner, t.i64(rest)) : t.le(t.i64(rest), inner);
      const Expr* here = ir::logical_and(te.ctx, t.eq(outer, t.i64(length / u.by)), late);
      outside = outside ? ir::logical_or(te.ctx, outside, here) : here;
    }
    const Expr* value = te.graph.load(x, std::span<const Expr* const>(from));
    return outside ? t.if_else(outside, pad, value) : value;
  };
  return te.graph.compute(shape, element, name);
}

Tensor filled(Te& te, const Lambda* map, std::span<const Expr* const> shape, const Expr* pad, std::string_view name) {
  te::Graph::OutputSpec outputs[] = {{te.ctx.list(shape), te.in[0]->dtype}};
  auto write = [&ctx = te.ctx, map, pad](Buffers in, Buffers outs) -> const ir::Stmt* {
    const ir::Stmt* parts[] = {
        nest(ctx, outs[0]->shape, [&](const ExprList& i) -> const ir::Stmt* { return ctx.store(outs[0], pad, i); }),
        nest(ctx, in[0]->shape, [&](const ExprList& i) -> const ir::Stmt* {
          return ctx.store(outs[0], ctx.load(in[0], i), place_of(ctx, map, i));
        })};
    return ctx.seq_stmt(parts);
  };
  return te.graph.extern_op(outputs, te.in, write, name)[0];
}

// Of an attribute; none without it.
ExprList separators_of(ir::Context& ctx, const ir::Call* c, std::string_view attr) {
  ExprList out;
  if (const auto given = attr_ints(spec(c), attr))
    for (const std::int64_t at : *given) out.push_back(ctx.i32(at));
  return out;
}

}  // namespace

Result<const Expr*> layout_transform(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY(const TensorType* out, known_result(c));
  const ir::Attr* attr = ir::find_attr(c->attrs, op_attr::IndexMap);
  const ir::Node* node = attr->is(ir::AttrKind::Opaque) && !attr->items.empty() ? attr->items[0]->node : attr->node;
  const auto* map = ir::as<Lambda>(node);
  if (!map) return refuse(c, "the index map is not a lambda");
  if (!Splits(map).uses() && Collisions(map, x->shape).any())
    return refuse(c, "its index map gives several elements the same place");
  const double pad_value = float_of(ir::find_attr(c->attrs, op_attr::PadValue)).value_or(0);
  const bool even = covers(l.context(), x->shape, out->shape);
  const ExprList separators = separators_of(l.context(), c, op_attr::AxisSeparators);
  const ExprList of_input = separators_of(l.context(), c, op_attr::InputAxisSeparators);
  std::string name = even ? "te_layout_transform" : "te_layout_transform_with_pad";
  if (!separators.empty()) name += "_axis_separator";
  const auto transformed = [&](Te& te) -> Tensor {
    const ExprList shape = mapped(te, out->shape);
    if (even) return copied(te, map, shape, name);
    const Expr* pad = te.ctx.literal(x->dtype, pad_value);
    const Splits splits(map);
    Tensor made = splits.uses() ? computed(te, *splits.uses(), shape, pad, name) : nullptr;
    return made ? made : filled(te, map, shape, pad, name);
  };
  return l.call_te(name, c->args, c->type, [&](Te& te) -> Tensors {
    const Tensor made = transformed(te);
    te.graph.set_axis_separators(made, te.ctx.list(separators));
    te.graph.set_axis_separators(te.in[0], te.ctx.list(of_input));
    return {made};
  });
}

}  // namespace rldb::ops::legal
