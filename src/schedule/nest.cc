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

namespace {

// The loops as the axes of the block in them.
bool match_axes(const ir::ForStmt* loop, ReductionNest& n) {
  auto nest = match_nest(loop);
  const auto* realize = nest ? as<ir::SBlockRealize>(nest->inner) : nullptr;
  if (!realize || !ir::is_const(realize->predicate, 1)) return false;
  n.loops = std::move(nest->loops);
  n.block = realize->block;
  const ir::SBlock* b = n.block;
  if (!b->init || !b->alloc_buffers.empty() || !b->match_buffers.empty()) return false;
  if (b->iter_vars.size() != n.loops.size()) return false;
  for (const ir::ForStmt* l : n.loops) {
    const auto it = std::find(realize->iter_values.begin(), realize->iter_values.end(), l->var);
    if (it == realize->iter_values.end()) return false;
    const ir::IterVar& axis = b->iter_vars[std::size_t(it - realize->iter_values.begin())];
    if (!ir::is_const(axis.dom.min, 0) || axis.var->dtype() != l->var->dtype()) return false;
    if (axis.kind != ir::IterKind::Reduce && axis.kind != ir::IterKind::Spatial) return false;
    n.axes.push_back(&axis);
  }
  return true;
}

std::vector<const ir::Stmt*> parts_of(const ir::Stmt* s) {
  const auto* seq = as<ir::SeqStmt>(s);
  return seq ? std::vector<const ir::Stmt*>(seq->stmts.begin(), seq->stmts.end()) : std::vector<const ir::Stmt*>{s};
}

bool mentions_any(const ir::Expr* e, const ir::VarMap& vars) {
  return std::any_of(vars.begin(), vars.end(), [&](const auto& row) { return mentions(e, row.first); });
}

// Stores, after the variables that hold their values, if there are several. A value is not put together from two
// variables: what is fused to one rounding is decided by the text of one.
bool match_stores(ReductionNest& n) {
  ir::VarMap bound;
  for (const ir::Stmt* s : parts_of(n.block->body)) {
    if (const auto* bind = as<ir::BindStmt>(s)) {
      if (!n.results.empty() || mentions_any(bind->value, bound)) return false;
      bound[bind->var] = bind->value;
      continue;
    }
    const auto* store = as<ir::BufferStore>(s);
    if (!store) return false;
    const auto* var = as<ir::Var>(store->value);
    const auto known = var ? bound.find(var) : bound.end();
    if (known == bound.end() && mentions_any(store->value, bound)) return false;
    n.results.push_back({nullptr, store, known == bound.end() ? store->value : known->second});
  }
  const auto inits = parts_of(n.block->init);
  if (n.results.empty() || inits.size() != n.results.size()) return false;
  for (std::size_t i = 0; i < inits.size(); ++i) n.results[i].init = as<ir::BufferStore>(inits[i]);
  n.init = n.results[0].init;
  n.update = n.results[0].update;
  return std::all_of(n.results.begin(), n.results.end(), [](const ReductionNest::Result& r) { return r.init; });
}

bool same_indices(ir::Span<const ir::Expr*> a, ir::Span<const ir::Expr*> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ir::Expr* x, const ir::Expr* y) { return ir::expr_equal(x, y); });
}

// One result's init and update are the same element, of a buffer that no other result is in.
bool match_result(const ReductionNest& n, const ReductionNest::Result& r) {
  if (r.init->buffer != r.update->buffer || r.init->predicate || r.update->predicate) return false;
  if (!as<ir::FloatImm>(r.init->value) && !as<ir::IntImm>(r.init->value)) return false;
  if (r.update->buffer->dtype.lanes != 1) return false;
  if (!same_indices(r.init->indices, n.update->indices) || !same_indices(r.update->indices, n.update->indices))
    return false;
  return std::none_of(n.results.begin(), n.results.end(), [&](const ReductionNest::Result& other) {
    return &other != &r && other.update->buffer->data == r.update->buffer->data;
  });
}

// The loop whose axis an index is, by itself or added to something without axes (a block of rows); -1: it has none.
// Nullopt: anything else.
std::optional<int> loop_in(const ReductionNest& n, const ir::Expr* index) {
  int found = -1;
  bool loads = false;
  ir::walk(index, [&](const ir::Node* node) { return !(loads = loads || as<ir::BufferLoad>(node)); });
  if (loads) return std::nullopt;
  for (std::size_t i = 0; i < n.axes.size(); ++i) {
    if (mentions(index, n.loops[i]->var)) return std::nullopt;
    if (!mentions(index, n.axes[i]->var)) continue;
    if (found >= 0) return std::nullopt;
    found = int(i);
  }
  if (found < 0 || n.axes[std::size_t(found)]->var == index) return found;
  const ir::Var* axis = n.axes[std::size_t(found)]->var;
  const auto* sum = as<ir::BinaryExpr>(index);
  if (!sum || sum->kind != ir::BinaryKind::Add || (sum->a != axis && sum->b != axis)) return std::nullopt;
  return mentions(sum->a == axis ? sum->b : sum->a, axis) ? std::nullopt : std::optional(found);
}

// The spatial axes are in the indices of the results, each once.
bool match_indices(const ReductionNest& n) {
  std::vector<int> seen(n.loops.size(), 0);
  for (const ir::Expr* e : n.update->indices) {
    const auto i = loop_in(n, e);
    if (!i) return false;
    if (*i >= 0 && (n.is_reduce(*i) || seen[std::size_t(*i)]++)) return false;
  }
  bool has_reduce = false;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    has_reduce = has_reduce || n.is_reduce(int(i));
    if (!n.is_reduce(int(i)) && !seen[i]) return false;
  }
  return has_reduce;
}

// Values read results only where they are stored.
bool reads_own_elements(const ReductionNest& n) {
  bool fits = true;
  for (const ReductionNest::Result& r : n.results)
    ir::walk(r.value, [&](const ir::Node* node) {
      const auto* l = as<ir::BufferLoad>(node);
      if (!l) return fits;
      fits = fits && !l->predicate;
      for (const ReductionNest::Result& of : n.results) {
        if (l->buffer == of.update->buffer)
          fits = fits && same_indices(l->indices, n.update->indices);
        else if (l->buffer->data == of.update->buffer->data)
          fits = false;
      }
      return fits;
    });
  // Without variables a value could be that of a result which is stored before it.
  for (std::size_t i = 1; i < n.results.size(); ++i) fits = fits && n.results[i].value != n.results[i].update->value;
  return fits;
}

}  // namespace

std::optional<ReductionNest> match_reductions(const ir::ForStmt* loop) {
  ReductionNest n;
  if (!match_axes(loop, n) || !match_stores(n) || !match_indices(n) || !reads_own_elements(n)) return std::nullopt;
  for (const ReductionNest::Result& r : n.results)
    if (!match_result(n, r)) return std::nullopt;
  return n;
}

std::optional<ReductionNest> match_reduction(const ir::ForStmt* loop) {
  auto n = match_reductions(loop);
  if (!n || n->results.size() != 1 || n->results[0].value != n->update->value) return std::nullopt;
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
  const ir::Expr* place = l->indices.back();
  while (place != axis) {
    const auto* sum = as<ir::BinaryExpr>(place);
    if (!sum || (sum->kind != ir::BinaryKind::Add && sum->kind != ir::BinaryKind::Sub)) return false;
    const bool in_first = mentions(sum->a, axis);
    if (in_first == mentions(sum->b, axis) || (!in_first && sum->kind == ir::BinaryKind::Sub)) return false;
    place = in_first ? sum->a : sum->b;
  }
  return true;
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
