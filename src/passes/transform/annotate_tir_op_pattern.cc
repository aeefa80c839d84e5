// AnnotateTIROpPattern: records for every PrimFunc how its output elements relate to its input elements, as the
// attribute `op_pattern`: 0 elementwise, 1 broadcast, 2 injective, 3 reduction, 4 out-elementwise-fusable, 8 opaque.
// Fusion decides by it.
//
// Each block is analysed by itself: its one store against its loads. A function has the pattern of its most general
// block, except that a reduction followed by an elementwise block is out-elementwise-fusable (softmax). Functions that
// carry a pattern other than 0 keep it.
#include <algorithm>
#include <unordered_set>

#include "passes/common.h"
#include "passes/fusion/op_pattern.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

using Pattern = OpPattern;

using Indices = Span<const Expr*>;
using Vars = std::unordered_set<const Var*>;

bool same_indices(Indices a, Indices b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](auto* x, auto* y) { return expr_equal(x, y); });
}

bool uses_only(const Expr* e, const Vars& allowed) {
  std::vector<const Var*> used;
  collect_vars(e, used);
  return std::all_of(used.begin(), used.end(), [&](const Var* v) { return allowed.count(v) > 0; });
}

bool uses_any(const Expr* e, const Vars& vars) {
  std::vector<const Var*> used;
  collect_vars(e, used);
  return std::any_of(used.begin(), used.end(), [&](const Var* v) { return vars.count(v) > 0; });
}

// The load's indices are indices of the store, in the store's order; dims of extent 1 may be broadcast.
bool is_broadcast(const BufferStore* store, const BufferLoad* load) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < load->indices.size(); ++i) {
    if (is_const(load->buffer->shape[i], 1) && is_const(load->indices[i], 0)) continue;
    while (at < store->indices.size() && store->indices[at] != load->indices[i]) ++at;
    if (at == store->indices.size()) return false;
  }
  return true;
}

// Every index is a function of the store's indices alone.
bool is_injective(const BufferStore* store, const BufferLoad* load) {
  Vars vars;
  for (const Expr* i : store->indices) {
    if (const auto* v = as<Var>(i))
      vars.insert(v);
    else if (!isa<IntImm>(i))
      return false;
  }
  return std::all_of(load->indices.begin(), load->indices.end(), [&](const Expr* i) { return uses_only(i, vars); });
}

// The pattern of one store against all loads of its block.
Pattern pattern_of_loads(const BufferStore* store, const std::vector<const BufferLoad*>& loads) {
  Pattern pattern = kElemWise;
  bool elementwise = false;
  for (const BufferLoad* load : loads) {
    if (same_indices(store->indices, load->indices))
      elementwise = true;
    else if (is_broadcast(store, load))
      pattern = std::max(pattern, kBroadcast);
    else if (is_injective(store, load))
      pattern = kInjective;
    else
      return kOpaque;
  }
  // A[i, j] + B[j] is elementwise because of A.
  return pattern == kBroadcast && elementwise ? kElemWise : pattern;
}

const Expr* without_casts(const Expr* e) {
  while (const auto* c = as<CastExpr>(e)) e = c->value;
  return e;
}

// c[..] = c[..] + a[..] * b[..]
bool is_multiply_add(const SBlock* block) {
  const auto* store = as<BufferStore>(block->body);
  const auto* sum = store ? as<BinaryExpr>(without_casts(store->value)) : nullptr;
  if (!sum || sum->kind != BinaryKind::Add) return false;
  const auto* old = as<BufferLoad>(without_casts(sum->a));
  const auto* product = as<BinaryExpr>(without_casts(sum->b));
  if (!old || !product || product->kind != BinaryKind::Mul) return false;
  return old->buffer == store->buffer && same_indices(old->indices, store->indices) &&
         isa<BufferLoad>(without_casts(product->a)) && isa<BufferLoad>(without_casts(product->b));
}

Pattern pattern_of_reduction(const SBlock* block, const std::vector<const BufferLoad*>& loads) {
  Vars reduced;
  for (const IterVar& axis : block->iter_vars)
    if (axis.kind == IterKind::Reduce) reduced.insert(axis.var);
  if (reduced.empty()) return kOpaque;
  if (is_multiply_add(block)) return kOutEWiseFusable;
  // A reduced axis inside a larger index means a window: pooling.
  for (const BufferLoad* load : loads)
    for (const Expr* i : load->indices)
      if (!isa<Var>(i) && uses_any(i, reduced)) return kOutEWiseFusable;
  return kReduce;
}

Pattern merge(Pattern so_far, const SBlock* block) {
  std::vector<const BufferLoad*> loads;
  std::vector<const BufferStore*> stores;
  bool foreign = false;
  walk(block->body, [&](const Node* n) {
    if (const auto* load = as<BufferLoad>(n)) loads.push_back(load);
    if (const auto* store = as<BufferStore>(n)) stores.push_back(store);
    foreign = foreign || isa<SBlock>(n);
    return true;
  });
  if (foreign || stores.size() != 1) return kOpaque;
  const Pattern pattern = pattern_of_loads(stores[0], loads);
  if (pattern == kOpaque) return std::max(so_far, pattern_of_reduction(block, loads));
  return so_far == kReduce ? kOutEWiseFusable : std::max(so_far, pattern);
}

Pattern pattern_of(const PrimFunc* f) {
  Pattern pattern = kElemWise;
  walk(f->body, [&](const Node* n) {
    const auto* block = as<SBlock>(n);
    if (isa<BufferStore>(n)) pattern = kOpaque;  // outside any block
    if (!block || block->name == "root") return true;
    pattern = merge(pattern, block);
    return false;
  });
  return pattern;
}

}  // namespace

Result<const Module*> annotate_tir_op_pattern(PassEnv& env, const Module* module, const PassOptions&) {
  Context& ctx = env.ctx;
  ModuleBuilder builder(ctx, *module);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<PrimFunc>(e.function);
    if (!f) continue;
    const Attr* known = find_attr(f->attrs, attr_name::OpPattern);
    if (known && known->integer != 0) continue;
    const Pattern pattern = pattern_of(f);
    if (known && pattern == kElemWise) continue;
    const Span<NamedAttr> attrs = ctx.with_attr(f->attrs, attr_name::OpPattern, ctx.attr(int(pattern)));
    const PrimFunc* made = ctx.prim_func(f->params, f->ret_type, f->body, attrs, f->s_tir);
    ctx.set_origin(made, f);
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace rldb::passes
