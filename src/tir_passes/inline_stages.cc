// inline_stages: a stage is put into the nests that read it only where that is sure to give the same values: its value
// has no effect, nobody has the address of its buffer or of one that it reads, and those are not written in between.
#include "tir_passes/inline_stages.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/regions.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/gpu_nest.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr int kMostNodes = 4096;  // of the value that is written several times

struct Inlined {
  const Buffer* buffer;
  std::vector<const Var*> axes;
  const Expr* value;
};

std::optional<Inlined> stage_of(const Stmt* s) {
  GpuNest nest;
  if (!find_gpu_nest(s, nest)) return std::nullopt;
  const SBlock* b = nest.realize->block;
  const auto* store = as<BufferStore>(b->body);
  if (!store || b->init || store->predicate || !is_const(nest.realize->predicate, 1) || !b->annotations.empty())
    return std::nullopt;
  Inlined out{store->buffer, {}, store->value};
  for (const Expr* e : store->indices) {
    const auto* v = as<Var>(e);
    const auto is_axis = [&](const IterVar& a) { return a.var == v && a.kind == IterKind::Spatial; };
    if (!v || std::none_of(b->iter_vars.begin(), b->iter_vars.end(), is_axis)) return std::nullopt;
    if (std::find(out.axes.begin(), out.axes.end(), v) != out.axes.end()) return std::nullopt;
    out.axes.push_back(v);
  }
  if (out.axes.size() != (nest.loops.empty() ? 0 : b->iter_vars.size())) return std::nullopt;
  for (std::size_t i = 0; i < out.axes.size(); ++i) {
    const auto axis =
        std::find_if(b->iter_vars.begin(), b->iter_vars.end(), [&](const IterVar& a) { return a.var == out.axes[i]; });
    if (!is_const(axis->dom.min, 0) || !expr_equal(axis->dom.extent, store->buffer->shape[i])) return std::nullopt;
  }
  // Read elsewhere, and maybe at several places: nothing of this nest may be in it.
  if (!has_no_effect(store->value) || !b->match_buffers.empty() || !b->alloc_buffers.empty()) return std::nullopt;
  std::vector<const Var*> used;
  collect_vars(store->value, used);
  const auto is_left = [&](const Var* v) {
    const auto is_loop = [v](const ForStmt* f) { return f->var == v; };
    const auto is_axis = [v](const IterVar& a) { return a.var == v; };
    return std::any_of(nest.loops.begin(), nest.loops.end(), is_loop) ||
           (nest.loops.empty() && std::any_of(b->iter_vars.begin(), b->iter_vars.end(), is_axis));
  };
  if (std::any_of(used.begin(), used.end(), is_left)) return std::nullopt;
  int nodes = 0;
  walk(store->value, [&](const Node*) { return ++nodes <= kMostNodes; });
  return nodes <= kMostNodes ? std::optional(out) : std::nullopt;
}

// How a statement uses the memory of a buffer; `otherwise`: by its address, another buffer over it, or a vector of it.
struct Use {
  bool loads = false, stores = false, otherwise = false;
};
bool is_whole(const BufferLoad* l) {
  const auto is_scalar = [](const Expr* e) { return e->dtype().is_scalar(); };
  return !l->predicate && std::all_of(l->indices.begin(), l->indices.end(), is_scalar);
}
Use use_of(const Stmt* s, const Buffer* b) {
  Use use;
  const auto is_alias = [b](const Buffer* other) { return other != b && other->data == b->data; };
  const auto block = [&](const SBlock* inner) {
    for (const MatchBufferRegion& m : inner->match_buffers)
      use.otherwise = use.otherwise || m.source.buffer->data == b->data;
    for (const BufferRegion& w : inner->writes) use.stores = use.stores || w.buffer->data == b->data;
  };
  walk(s, [&](const Node* n) {
    if (const auto* l = as<BufferLoad>(n)) {
      use.loads = use.loads || l->buffer == b;
      use.otherwise = use.otherwise || is_alias(l->buffer) || (l->buffer == b && !is_whole(l));
    }
    if (const auto* st = as<BufferStore>(n)) {
      use.stores = use.stores || st->buffer == b;
      use.otherwise = use.otherwise || is_alias(st->buffer);
    }
    if (const auto* c = as<Call>(n); c && is_call_of(c, intrin::AddressOf) && !c->args.empty())
      if (const auto* l = as<BufferLoad>(c->args[0])) use.otherwise = use.otherwise || l->buffer->data == b->data;
    if (const auto* inner = as<SBlock>(n)) block(inner);
    use.otherwise = use.otherwise || n == b->data;
    if (const auto* d = as<DeclBuffer>(n)) use.otherwise = use.otherwise || d->buffer->data == b->data;
    return true;
  });
  return use;
}
class LoadReplacer : public Rewriter {
 public:
  LoadReplacer(Context& ctx, const Inlined& stage) : Rewriter(ctx), stage_(stage) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override {
    const Expr* made = Rewriter::visit_expr(e);
    const auto* l = as<BufferLoad>(made);
    if (!l || l->buffer != stage_.buffer) return made;
    VarMap at;
    for (std::size_t i = 0; i < stage_.axes.size(); ++i)
      at[stage_.axes[i]] = cast_to(ctx_, stage_.axes[i]->dtype(), l->indices[i]);
    return substitute(ctx_, stage_.value, at);
  }
  const Stmt* visit_stmt(const Stmt* s) override {
    const Stmt* made = Rewriter::visit_stmt(s);
    const auto* b = as<SBlock>(made);
    if (!b || made == s) return made;
    const Regions regions = infer_regions(ctx_, {b->iter_vars, b->init, b->body, b->alloc_buffers, b->match_buffers});
    SBlock fields = *b;
    fields.reads = ctx_.list(regions.reads);
    fields.writes = ctx_.list(regions.writes);
    const SBlock* out = ctx_.sblock(fields);
    ctx_.set_origin(out, b);
    return out;
  }

 private:
  const Inlined& stage_;
};

bool can_inline(const Inlined& stage, const std::vector<const Stmt*>& stmts, std::size_t at, const SBlock* block) {
  const auto& allocs = block->alloc_buffers;
  if (std::find(allocs.begin(), allocs.end(), stage.buffer) == allocs.end()) return false;
  bool read = false;
  std::unordered_set<const Buffer*> sources;
  walk(stage.value, [&](const Node* n) {
    if (const auto* l = as<BufferLoad>(n)) sources.insert(l->buffer);
    return true;
  });
  std::size_t last = at;
  for (std::size_t i = 0; i < stmts.size(); ++i) {
    if (i == at) continue;
    const Use use = use_of(stmts[i], stage.buffer);
    if (use.stores || use.otherwise || (use.loads && i < at)) return false;
    if (!use.loads) continue;
    GpuNest nest;
    if (!find_gpu_nest(stmts[i], nest) || nest.realize->block->reads.empty() || takes_addresses(stmts[i])) return false;
    read = true;
    last = i;
  }
  for (const Buffer* b : sources) {
    if (b == stage.buffer) return false;
    for (std::size_t i = 0; i < stmts.size(); ++i) {
      const Use use = use_of(stmts[i], b);
      if (use.otherwise || (use.stores && i >= at && i <= last)) return false;
    }
  }
  return read;
}

}  // namespace

const SBlock* inline_stages(Context& ctx, const SBlock* block) {
  const auto* seq = as<SeqStmt>(block->body);
  if (!seq) return block;
  std::vector<const Stmt*> stmts(seq->stmts.begin(), seq->stmts.end());
  std::unordered_set<const Buffer*> gone;
  for (std::size_t i = 0; i < stmts.size();) {
    const auto stage = stage_of(stmts[i]);
    if (!stage || !can_inline(*stage, stmts, i, block)) {
      ++i;
      continue;
    }
    std::vector<const Stmt*> out;
    for (std::size_t j = 0; j < stmts.size(); ++j)
      if (j != i) out.push_back(LoadReplacer(ctx, *stage).rewrite(stmts[j]));
    stmts = std::move(out);
    gone.insert(stage->buffer);
  }
  if (gone.empty()) return block;
  SBlock fields = *block;
  std::vector<const Buffer*> kept;
  for (const Buffer* b : block->alloc_buffers)
    if (!gone.contains(b)) kept.push_back(b);
  fields.alloc_buffers = ctx.list(kept);
  fields.body = ctx.seq_stmt(stmts);
  return ctx.sblock(fields);
}

}  // namespace rldb::passes
