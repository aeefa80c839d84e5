// AnnotateTIROpPattern: records for every PrimFunc how its output elements relate to its input elements, as the
// attribute `op_pattern`: 0 elementwise, 1 broadcast, 2 injective, 3 reduction, 4 out-elementwise-fusable, 8 opaque.
// Fusion decides by it.
//
// Each block is analysed by itself: the indices of its stores, which must agree, against those of its loads. Indices
// are the same only if they are the same variables. A function has the pattern of its most general block, except that a
// reduction followed by a block that writes a parameter element by element is out-elementwise-fusable (softmax).
// Functions that carry a pattern other than 0 keep it.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "passes/common.h"
#include "passes/fusion/op_pattern.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

using Pattern = OpPattern;

using Indices = Span<const Expr*>;
using Vars = std::unordered_set<const Var*>;

bool uses_any(const Expr* e, const Vars& vars) {
  std::vector<const Var*> used;
  collect_vars(e, used);
  return std::any_of(used.begin(), used.end(), [&](const Var* v) { return vars.contains(v); });
}

bool same_index(const Expr* a, const Expr* b) { return a == b && isa<Var>(a); }

bool same_indices(Indices a, Indices b) { return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_index); }

bool is_unit(const Expr* extent, const Expr* index) { return is_const(extent, 1) && is_const(index, 0); }

// The load's indices are indices of the store, in the store's order; dims of extent 1 may be broadcast.
bool is_broadcast(const BufferStore* store, const BufferLoad* load) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < load->indices.size(); ++i) {
    if (is_unit(load->buffer->shape[i], load->indices[i])) continue;
    while (at < store->indices.size() && !same_index(store->indices[at], load->indices[i])) ++at;
    if (at == store->indices.size()) return false;
  }
  return true;
}

// An index that reads a buffer depends on more than variables.
bool uses_only(const Expr* index, const Vars& allowed) {
  bool ok = true;
  walk(index, [&](const Node* n) {
    if (const auto* v = as<Var>(n)) ok = ok && allowed.contains(v);
    ok = ok && !isa<BufferLoad>(n);
    return ok;
  });
  return ok;
}

// The variables that are the store's indices; nullopt if one is not a variable.
std::optional<Vars> variables(Indices indices) {
  Vars vars;
  for (const Expr* i : indices) {
    if (!isa<Var>(i)) return std::nullopt;
    vars.insert(as<Var>(i));
  }
  return vars;
}

// Every index of the load is a function of the store's indices alone.
bool is_injective(const BufferStore* store, const BufferLoad* load) {
  const auto vars = variables(store->indices);
  return vars && std::all_of(load->indices.begin(), load->indices.end(), [&](auto* i) { return uses_only(i, *vars); });
}

// Some index of the store does not occur in the load, whose elements are then read several times.
bool is_reused(const BufferStore* store, const BufferLoad* load) {
  auto vars = variables(store->indices);
  if (!vars) return false;
  for (const Expr* i : load->indices)
    walk(i, [&](const Node* n) {
      if (const auto* v = as<Var>(n)) vars->erase(v);
      return true;
    });
  return !vars->empty();
}

const Expr* without_casts(const Expr* e) {
  while (const auto* c = as<CastExpr>(e)) e = c->value;
  return e;
}

// c[..] = c[..] + a[..] * b[..], where the elements of both a and b are used several times: a product of matrices, but
// not of vectors.
bool is_multiply_add(const Stmt* body) {
  const auto* store = as<BufferStore>(body);
  const auto* sum = store ? as<BinaryExpr>(without_casts(store->value)) : nullptr;
  if (!sum || sum->kind != BinaryKind::Add) return false;
  const auto* old = as<BufferLoad>(without_casts(sum->a));
  const auto* product = as<BinaryExpr>(without_casts(sum->b));
  if (!old || !product || product->kind != BinaryKind::Mul) return false;
  if (old->buffer != store->buffer || !same_indices(old->indices, store->indices)) return false;
  const auto* a = as<BufferLoad>(without_casts(product->a));
  const auto* b = as<BufferLoad>(without_casts(product->b));
  return a && b && is_reused(store, a) && is_reused(store, b);
}

class Analyzer {
 public:
  explicit Analyzer(const PrimFunc* f) {
    for (const PrimParam& p : f->params)
      if (p.buffer) params_.insert(p.buffer);
  }

  Pattern run(const Stmt* body) {
    visit(body);
    return pattern_;
  }

 private:
  void visit(const Node* s) {
    walk(s, [&](const Node* n) {
      if (const auto* load = as<BufferLoad>(n)) loads_.push_back(load);
      if (const auto* store = as<BufferStore>(n)) {
        if (store_ && !same_indices(store->indices, store_->indices)) {
          pattern_ = kOpaque;
          return false;
        }
        store_ = store;
      }
      const auto* block = as<SBlock>(n);
      if (!block) return true;
      block->name == "root" ? visit(block->body) : visit_block(block);
      return false;
    });
  }

  void visit_block(const SBlock* block) {
    loads_.clear();
    store_ = nullptr;
    visit(block->body);
    if (!store_) {
      pattern_ = kOpaque;
      return;
    }
    const Pattern pattern = pattern_of_loads();
    if (pattern == kOpaque)
      pattern_ = std::max(pattern_, pattern_of_reduction(block));
    else
      pattern_ = writes_parameter(block) && pattern_ == kReduce ? kOutEWiseFusable : std::max(pattern_, pattern);
  }

  bool writes_parameter(const SBlock* block) const {
    return std::any_of(block->writes.begin(), block->writes.end(),
                       [&](const BufferRegion& r) { return params_.contains(r.buffer); });
  }

  // The pattern of the store against all loads of its block.
  Pattern pattern_of_loads() const {
    Pattern pattern = kElemWise;
    bool elementwise = false;
    for (const BufferLoad* load : loads_) {
      if (same_indices(store_->indices, load->indices))
        elementwise = true;
      else if (is_broadcast(store_, load))
        pattern = std::max(pattern, kBroadcast);
      else if (is_injective(store_, load))
        pattern = kInjective;
      else
        return kOpaque;
    }
    // A[i, j] + B[j] is elementwise because of A.
    return pattern == kBroadcast && elementwise ? kElemWise : pattern;
  }

  Pattern pattern_of_reduction(const SBlock* block) const {
    Vars reduced;
    for (const IterVar& axis : block->iter_vars)
      if (axis.kind == IterKind::Reduce) reduced.insert(axis.var);
    if (reduced.empty()) return kOpaque;
    if (is_multiply_add(block->body)) return kOutEWiseFusable;
    // A reduced axis inside a larger index means a window: pooling.
    for (const BufferLoad* load : loads_)
      for (const Expr* i : load->indices)
        if (!isa<Var>(i) && uses_any(i, reduced)) return kOutEWiseFusable;
    return kReduce;
  }

  std::unordered_set<const Buffer*> params_;
  const BufferStore* store_ = nullptr;  // of the block that is visited
  std::vector<const BufferLoad*> loads_;
  Pattern pattern_ = kElemWise;
};

}  // namespace

Result<const Module*> annotate_tir_op_pattern(PassEnv& env, const Module* module, const NoOptions&) {
  Context& ctx = env.ctx;
  ModuleBuilder builder(ctx, *module);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<PrimFunc>(e.function);
    if (!f) continue;
    const Attr* known = find_attr(f->attrs, attr_name::OpPattern);
    if (known && known->integer != 0) continue;
    const Pattern pattern = Analyzer(f).run(f->body);
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
