// Recognises the loop nests that the steps work on.
#include "schedule/nest.h"

#include <algorithm>

#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::schedule {

using ir::as;

namespace {
constexpr std::size_t kMaxLoops = 32;
}

bool mentions(const ir::Node* n, const ir::Var* v) {
  bool found = false;
  ir::walk(n, [&](const ir::Node* part) {
    found = found || part == v;
    return !found;
  });
  return found;
}

int ReductionNest::loop_of(const ir::Expr* axis) const {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i]->var == axis) return int(i);
  return -1;
}

std::optional<LoopNest> match_nest(const ir::ForStmt* loop) {
  LoopNest n;
  const ir::Stmt* at = loop;
  while (const auto* l = as<ir::ForStmt>(at)) {
    const bool plain = l->for_kind == ir::ForKind::Serial || l->for_kind == ir::ForKind::Parallel;
    if (l->step || !plain || !l->annotations.empty() || !ir::is_const(l->min, 0)) return std::nullopt;
    support::poll();
    if (n.loops.size() == kMaxLoops) return std::nullopt;
    for (const ir::ForStmt* outer : n.loops)
      if (mentions(l->extent, outer->var)) return std::nullopt;
    n.loops.push_back(l);
    at = l->body;
  }
  n.inner = at;
  return n;
}

std::optional<ReductionNest> match_reduction(const ir::ForStmt* loop) {
  auto nest = match_nest(loop);
  const auto* realize = nest ? as<ir::SBlockRealize>(nest->inner) : nullptr;
  if (!realize || !ir::is_const(realize->predicate, 1)) return std::nullopt;
  ReductionNest n;
  n.loops = std::move(nest->loops);
  n.block = realize->block;
  const ir::SBlock* b = n.block;
  if (!b->init || !b->alloc_buffers.empty() || !b->match_buffers.empty()) return std::nullopt;
  if (b->iter_vars.size() != n.loops.size()) return std::nullopt;
  for (const ir::ForStmt* l : n.loops) {
    const auto it = std::find(realize->iter_values.begin(), realize->iter_values.end(), l->var);
    if (it == realize->iter_values.end()) return std::nullopt;
    const ir::IterVar& axis = b->iter_vars[std::size_t(it - realize->iter_values.begin())];
    if (!ir::is_const(axis.dom.min, 0) || axis.var->dtype() != l->var->dtype()) return std::nullopt;
    if (axis.kind != ir::IterKind::Reduce && axis.kind != ir::IterKind::Spatial) return std::nullopt;
    n.axes.push_back(&axis);
  }
  n.init = as<ir::BufferStore>(b->init);
  n.update = as<ir::BufferStore>(b->body);
  if (!n.init || !n.update || n.init->buffer != n.update->buffer || n.init->predicate || n.update->predicate)
    return std::nullopt;
  if (!as<ir::FloatImm>(n.init->value) && !as<ir::IntImm>(n.init->value)) return std::nullopt;
  const ir::Buffer* out = n.update->buffer;
  if (out->dtype.lanes != 1 || n.update->indices.empty()) return std::nullopt;
  const auto same = [&](ir::Span<const ir::Expr*> indices) {
    if (indices.size() != n.update->indices.size()) return false;
    for (std::size_t i = 0; i < indices.size(); ++i)
      if (!ir::expr_equal(indices[i], n.update->indices[i])) return false;
    return true;
  };
  if (!same(n.init->indices)) return std::nullopt;
  std::vector<int> seen(n.loops.size(), 0);
  for (const ir::Expr* e : n.update->indices) {
    if (ir::is_const(e, 0)) continue;
    const int i = n.loop_of(e);
    if (i < 0 || n.is_reduce(i) || seen[std::size_t(i)]++) return std::nullopt;
  }
  bool has_reduce = false;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    has_reduce = has_reduce || n.is_reduce(int(i));
    if (!n.is_reduce(int(i)) && !seen[i]) return std::nullopt;
  }
  if (!has_reduce) return std::nullopt;
  bool fits = true;
  ir::walk(n.update->value, [&](const ir::Node* node) {
    if (const auto* l = as<ir::BufferLoad>(node)) {
      if (l->predicate) fits = false;
      if (l->buffer == out)
        fits = fits && same(l->indices);
      else if (l->buffer->data == out->data)
        fits = false;
    }
    return fits;
  });
  if (!fits) return std::nullopt;
  return n;
}

std::optional<ElementwiseNest> match_elementwise(const ir::ForStmt* loop) {
  auto nest = match_nest(loop);
  if (!nest) return std::nullopt;
  ElementwiseNest e;
  e.loops = std::move(nest->loops);
  const ir::Stmt* at = nest->inner;
  for (const ir::ForStmt* l : e.loops) e.axes.push_back(l->var);
  if (const auto* realize = as<ir::SBlockRealize>(at)) {
    const ir::SBlock* b = realize->block;
    if (b->init || !b->alloc_buffers.empty() || !b->match_buffers.empty() || !ir::is_const(realize->predicate, 1))
      return std::nullopt;
    if (b->iter_vars.size() != e.loops.size()) return std::nullopt;
    for (std::size_t i = 0; i < e.loops.size(); ++i) {
      const ir::IterVar& axis = b->iter_vars[i];
      if (realize->iter_values[i] != e.loops[i]->var || axis.kind == ir::IterKind::Reduce) return std::nullopt;
      if (axis.var->dtype() != e.loops[i]->var->dtype()) return std::nullopt;
      e.axes[i] = axis.var;
    }
    at = b->body;
  }
  e.store = as<ir::BufferStore>(at);
  if (!e.store || e.store->predicate) return std::nullopt;
  return e;
}

bool moves_with(const ir::BufferLoad* l, const ir::Var* axis) {
  return std::any_of(l->indices.begin(), l->indices.end(), [&](const ir::Expr* e) { return mentions(e, axis); });
}

bool runs_along(const ir::BufferLoad* l, const ir::Var* axis) {
  for (std::size_t i = 0; i + 1 < l->indices.size(); ++i)
    if (mentions(l->indices[i], axis)) return false;
  if (l->indices.empty() || !is_dense(l->buffer)) return false;
  const ir::Expr* last = l->indices.back();
  const auto* sum = as<ir::BinaryExpr>(last);
  if (last == axis) return true;
  if (!sum || sum->kind != ir::BinaryKind::Add) return false;
  return (sum->a == axis && !mentions(sum->b, axis)) || (sum->b == axis && !mentions(sum->a, axis));
}

bool has_vector_form(const ir::Expr* e) {
  bool simple = true;
  ir::walk(e, [&](const ir::Node* n) {
    if (const auto* c = as<ir::Call>(n)) {
      const auto* op = as<ir::Op>(c->callee);
      simple = simple && op && op->name.find("call") == std::string_view::npos && !c->dtype().is_handle();
    }
    if (as<ir::LetExpr>(n) || as<ir::Ramp>(n) || as<ir::Broadcast>(n) || as<ir::Shuffle>(n)) simple = false;
    if (const auto* l = as<ir::BufferLoad>(n)) simple = simple && !l->predicate && l->buffer->dtype.lanes == 1;
    return simple;
  });
  return simple;
}

bool is_dense(const ir::Buffer* b) { return b->strides.empty() || ir::is_const(b->strides.back(), 1); }

}  // namespace rldb::schedule
