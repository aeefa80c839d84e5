// Legalisation of layout_transform: an element goes where the index map says. Three forms, as TVM makes them where it
// can: the input is copied element by element; or, where the result has places that no element comes to and the map
// splits and moves axes, the result is computed place by place; or the result is filled, and then the elements are put
// there.
#include <unordered_map>
#include <utility>

#include "ops/arguments/attr_value.h"
#include "ops/legal/statements.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/pad_attr.h"
#include "rldb/ir/walk.h"

namespace rldb::ops::legal {

namespace {

using ir::Lambda;

// How the map uses one axis of the input: as one axis of the result, or as two (`i // by`, `i % by`).
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

  // Null: the map does more than to split and to move axes.
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

ExprList place_of(ir::Context& ctx, const Lambda* map, std::span<const Expr* const> at) {
  ir::VarMap values;
  for (std::size_t i = 0; i < at.size(); ++i) values[map->params[i]] = ir::cast_to(ctx, map->params[i]->dtype(), at[i]);
  ExprList out;
  for (const Expr* r : map->results) out.push_back(ir::cast_to(ctx, DType::Int(64), ir::substitute(ctx, r, values)));
  return out;
}

// Every place of the result is that of an element.
bool covers(ir::Context& ctx, std::span<const Expr* const> in, std::span<const Expr* const> out) {
  return ir::Analyzer(ctx).prove_equal(ir::product(ctx, in), ir::product(ctx, out));
}

Tensor copied(Te& te, const Lambda* map, std::span<const Expr* const> shape, std::string_view name) {
  Tensor x = te.in[0];
  return te.graph.scatter(
      shape, x->shape, [&](Indices i) { return te.graph.load(x, i); },
      [&](Indices i) { return place_of(te.ctx, map, topi::vars(i)); }, name);
}

// Null: the length of an axis that is split is not known.
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
      // Behind the end: in the last part, from `rest` on.
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

}  // namespace

Result<const Expr*> layout_transform(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY(const TensorType* out, known_result(c));
  const ir::Attr* attr = ir::find_attr(c->attrs, op_attr::IndexMap);
  const ir::Node* node = attr->is(ir::AttrKind::Opaque) && !attr->items.empty() ? attr->items[0]->node : attr->node;
  const auto* map = ir::as<Lambda>(node);
  if (!map) return refuse(c, "the index map is not a lambda");
  const double pad_value = float_of(ir::find_attr(c->attrs, op_attr::PadValue)).value_or(0);
  const bool even = covers(l.context(), x->shape, out->shape);
  const std::string name = even ? "te_layout_transform" : "te_layout_transform_with_pad";
  return l.call_te(name, c->args, c->type, [&](Te& te) -> Tensors {
    const ExprList shape = mapped(te, out->shape);
    if (even) return {copied(te, map, shape, name)};
    const Expr* pad = te.ctx.literal(x->dtype, pad_value);
    const Splits splits(map);
    Tensor made = splits.uses() ? computed(te, *splits.uses(), shape, pad, name) : nullptr;
    return {made ? made : filled(te, map, shape, pad, name)};
  });
}

}  // namespace rldb::ops::legal
