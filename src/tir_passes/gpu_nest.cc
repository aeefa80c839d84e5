#include "tir_passes/gpu_nest.h"

#include <algorithm>

#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

bool is_leaf_block(const SBlock* b) {
  bool leaf = true;
  walk(b->body, [&](const Node* n) {
    leaf = leaf && !isa<SBlockRealize>(n);
    return leaf;
  });
  return leaf;
}

namespace {

bool mentions_loop(const Expr* e, const std::vector<const ForStmt*>& loops) {
  std::vector<const Var*> vars;
  collect_vars(e, vars);
  return std::any_of(loops.begin(), loops.end(),
                     [&](const ForStmt* f) { return std::find(vars.begin(), vars.end(), f->var) != vars.end(); });
}

}  // namespace

bool find_gpu_nest(const Stmt* s, GpuNest& nest) {
  while (const auto* f = as<ForStmt>(s)) {
    if (f->for_kind != ForKind::Serial || f->step || !is_const(f->min, 0) || !f->annotations.empty()) return false;
    if (mentions_loop(f->extent, nest.loops)) return false;
    nest.loops.push_back(f);
    s = f->body;
  }
  nest.realize = as<SBlockRealize>(s);
  if (!nest.realize || !is_leaf_block(nest.realize->block)) return false;
  const auto& axes = nest.realize->block->iter_vars;
  if (nest.loops.empty()) return axes.size() <= 1;
  if (axes.size() != nest.loops.size()) return false;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (nest.realize->iter_values[i] != nest.loops[i]->var || mentions_loop(axes[i].dom.extent, nest.loops))
      return false;
  return true;
}

bool takes_addresses(const Stmt* s) {
  bool found = false;
  walk(s, [&](const Node* n) {
    const auto* e = as<Expr>(n);
    found = found || (e && e->type && (e->type->kind == TypeKind::Pointer || e->dtype().is_handle()));
    return !found;
  });
  return found;
}

}  // namespace rldb::passes
