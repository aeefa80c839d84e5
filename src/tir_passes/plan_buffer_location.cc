// PlanAndUpdateBufferAllocationLocation: a buffer of a block is allocated in the innermost loop or block around all of
// its accesses; in a loop, by a block without axes around the loop's body.
//
// Buffers that a reduction writes are allocated outside the reduction loops. Memory shared by threads is allocated
// outside the loops over them: "global" outside all thread-bound loops, "shared" outside those over threadIdx.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/regions.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

using Path = std::vector<const Stmt*>;  // loops and blocks, outermost first
using Places = std::unordered_map<const Stmt*, std::vector<const Buffer*>>;

// Where each buffer of a block is accessed.
class Accesses : public Rewriter {
 public:
  using Rewriter::Rewriter;

  Places places() const {
    Places out;
    for (const Buffer* b : order_)
      if (const auto it = common_.find(b->data); it != common_.end() && !it->second.empty())
        out[it->second.back()].push_back(b);
    return out;
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override {
    if (const auto* l = as<BufferLoad>(e)) note(l->buffer, path_.size());
    if (const auto* v = as<Var>(e)) note_pointer(v, path_.size());
    return default_expr(e);
  }
  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    if (const auto* f = as<ForStmt>(s)) {
      rewrite(f->min);
      rewrite(f->extent);
      inside(f, f->body);
      return s;
    }
    if (const auto* r = as<SBlockRealize>(s)) return realize(r), s;
    if (const auto* st = as<BufferStore>(s)) note(st->buffer, std::min(path_.size(), reduces_));
    return default_stmt(s);
  }

 private:
  void inside(const Stmt* scope, const Stmt* body) {
    path_.push_back(scope);
    rewrite(body);
    path_.pop_back();
  }

  void realize(const SBlockRealize* r) {
    for (const Expr* v : r->iter_values) rewrite(v);
    rewrite(r->predicate);
    const std::size_t outer = reduces_;
    for (std::size_t i = 0; i < r->iter_values.size(); ++i)
      if (r->block->iter_vars[i].kind == IterKind::Reduce)
        reduces_ = std::min(reduces_, outermost_loop(r->iter_values[i]));
    const SBlock* b = r->block;
    for (const Buffer* buffer : b->alloc_buffers) {
      order_.push_back(buffer);
      managed_.emplace(buffer->data, buffer);
    }
    path_.push_back(b);
    for (const MatchBufferRegion& m : b->match_buffers) note(m.source.buffer, std::min(path_.size(), reduces_));
    if (b->init) rewrite(b->init);
    rewrite(b->body);
    path_.pop_back();
    reduces_ = outer;
  }

  // The number of loops and blocks around the outermost loop that determines an axis.
  std::size_t outermost_loop(const Expr* e) const {
    std::vector<const Var*> vars;
    collect_vars(e, vars);
    for (std::size_t i = 0; i < path_.size(); ++i)
      if (const auto* f = as<ForStmt>(path_[i]); f && std::find(vars.begin(), vars.end(), f->var) != vars.end())
        return i;
    return path_.size();
  }

  void note_pointer(const Var* v, std::size_t depth) {
    if (const auto it = managed_.find(v); it != managed_.end()) note(it->second, depth);
  }
  void note(const Buffer* b, std::size_t depth) {
    if (!managed_.contains(b->data)) return;
    for (std::size_t i = 0; i < depth; ++i) {
      const std::string_view tag = thread_tag(path_[i]);
      const bool shared = b->scope.starts_with("shared") && tag.starts_with("threadIdx");
      if (!tag.empty() && (b->scope == "global" || shared)) depth = i;
    }
    const auto [it, fresh] = common_.try_emplace(b->data, path_.begin(), path_.begin() + std::ptrdiff_t(depth));
    if (fresh) return;
    Path& known = it->second;
    std::size_t same = 0;
    while (same < known.size() && same < depth && known[same] == path_[same]) ++same;
    known.resize(same);
  }

  Path path_;
  std::size_t reduces_ = SIZE_MAX;  // stores may use at most this many entries of the path
  std::vector<const Buffer*> order_;
  std::unordered_map<const Var*, const Buffer*> managed_;
  std::unordered_map<const Var*, Path> common_;
};

class Mover : public Rewriter {
 public:
  Mover(Context& ctx, const Places& places) : Rewriter(ctx), places_(places) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    const auto here = places_.find(s);
    const std::size_t before = moved_.size();
    const Stmt* made = default_stmt(s);
    if (const auto* b = as<SBlock>(made)) {
      const std::vector<const Buffer*> wanted = here == places_.end() ? std::vector<const Buffer*>() : here->second;
      const bool same = std::equal(wanted.begin(), wanted.end(), b->alloc_buffers.begin(), b->alloc_buffers.end());
      for (const Buffer* buffer : wanted)
        if (std::find(b->alloc_buffers.begin(), b->alloc_buffers.end(), buffer) == b->alloc_buffers.end())
          moved_.push_back(buffer);
      if (same && moved_.size() == before) return made;
      SBlock fields = *b;
      fields.alloc_buffers = ctx_.list(wanted);
      const std::span<const Buffer* const> inside(moved_.begin() + std::ptrdiff_t(before), moved_.end());
      fields.reads = outside(b->reads, inside);
      fields.writes = outside(b->writes, inside);
      return ctx_.sblock(fields);
    }
    const auto* f = as<ForStmt>(made);
    if (!f || here == places_.end()) return made;
    moved_.insert(moved_.end(), here->second.begin(), here->second.end());
    return ctx_.for_stmt(f->var, f->min, f->extent, f->for_kind, block_around(f->body, here->second), f->annotations,
                         f->thread_tag, f->step);
  }

 private:
  const Stmt* block_around(const Stmt* body, const std::vector<const Buffer*>& buffers) {
    const Regions regions = infer_regions(ctx_, {{}, nullptr, body, buffers, {}});
    SBlock fields{};
    fields.reads = ctx_.list(regions.reads);
    fields.writes = ctx_.list(regions.writes);
    fields.alloc_buffers = ctx_.list(buffers);
    fields.body = body;
    const SBlock* block = ctx_.sblock(fields);
    ctx_.set_origin(block, body);
    return ctx_.realize({}, ctx_.bool_imm(true), block);
  }

  // The regions without those of buffers that are now allocated in the block: they are invisible around it.
  Span<BufferRegion> outside(Span<BufferRegion> regions, std::span<const Buffer* const> inside) {
    std::vector<BufferRegion> kept;
    for (const BufferRegion& r : regions)
      if (std::find(inside.begin(), inside.end(), r.buffer) == inside.end()) kept.push_back(r);
    return kept.size() == regions.size() ? regions : Span<BufferRegion>(ctx_.list(kept));
  }

  const Places& places_;
  std::vector<const Buffer*> moved_;  // given a new place so far
};

}  // namespace

Result<const Module*> plan_and_update_buffer_allocation_location(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    Accesses accesses(env.ctx);
    accesses.rewrite(f->body);
    const Places places = accesses.places();
    return with_body(env.ctx, f, Mover(env.ctx, places).rewrite(f->body));
  });
}

}  // namespace rldb::passes
