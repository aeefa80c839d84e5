// CompactBufferAllocation: a buffer of a block is shrunk to the extents of the region that the block accesses, and
// indices begin at the least one accessed.
//
// The accessed regions are those that regions.h infers from the bodies, whatever inner blocks state: loops inside the
// block are covered in full, variables from outside it stay, except those of threads that share the buffer
// (thread_regions.h). A buffer whose address is taken stays as it is.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/arith.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/regions.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/rewrite_counter.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/thread_regions.h"

namespace rldb::passes {

using namespace ir;

namespace {

// The buffer of whose element the node takes the address; null for other nodes.
const Buffer* address_taken(const Node* n) {
  const auto* call = as<Call>(n);
  if (!call || !is_call_of(call, intrin::AddressOf) || call->args.empty()) return nullptr;
  const auto* at = as<BufferLoad>(call->args[0]);
  return at ? at->buffer : nullptr;
}

class Compactor : public Rewriter {
 public:
  Compactor(Context& ctx, bool strict) : Rewriter(ctx), analyzer_(ctx), threads_(ctx), strict_(strict) {}

  const Stmt* run(const PrimFunc* f) {
    walk(f->body, [&](const Node* n) {
      if (const auto* v = as<Var>(n)) pointers_.insert(v);
      if (const Buffer* b = address_taken(n)) pointers_.insert(b->data);
      if (const auto* b = as<SBlock>(n)) note_sub_regions(b);
      return true;
    });
    return rewrite(f->body);
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override {
    const auto it = buffers_.find(b);
    return it == buffers_.end() ? b : it->second;
  }
  const Expr* visit_expr(const Expr* e) override {
    const auto* l = as<BufferLoad>(e);
    if (!l || !buffers_.contains(l->buffer)) return default_expr(e);
    return ctx_.load(visit_buffer(l->buffer), moved(l->buffer, l->indices), rewrite(l->predicate));
  }
  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    threads_.enter(s);
    if (const auto* f = as<ForStmt>(s)) enter_loop(f->var, {f->min, f->extent});
    if (const auto* a = as<AttrStmt>(s); a && a->thread_var)
      enter_loop(a->thread_var, {ctx_.int_imm(a->thread_var->dtype(), 0), a->value});
    if (const auto* r = as<SBlockRealize>(s))
      for (const IterVar& axis : r->block->iter_vars) enter_loop(axis.var, axis.dom);
    if (const auto* st = as<BufferStore>(s); st && buffers_.contains(st->buffer)) {
      const Expr* value = rewrite(st->value);
      return ctx_.store(visit_buffer(st->buffer), value, moved(st->buffer, st->indices), rewrite(st->predicate));
    }
    if (const auto* b = as<SBlock>(s)) return block(b);
    return default_stmt(s);
  }

 private:
  void enter_loop(const Var* v, const Range& range) {
    analyzer_.bind_range(v, range);
    loops_.insert(v);
  }

  const Stmt* block(const SBlock* b) {
    compact_all(b);
    const auto* made = as<SBlock>(default_stmt(b));
    SBlock fields = *made;
    std::vector<BufferRegion> reads = moved(b->reads, made->reads), writes = moved(b->writes, made->writes);
    std::vector<MatchBufferRegion> matches(made->match_buffers.begin(), made->match_buffers.end());
    for (std::size_t i = 0; i < matches.size(); ++i)
      matches[i].source = moved(b->match_buffers[i].source.buffer, matches[i].source);
    fields.reads = ctx_.list(reads);
    fields.writes = ctx_.list(writes);
    fields.match_buffers = ctx_.list(matches);
    return made == b ? b : ctx_.sblock(fields);
  }

  // ---- extents ----

  // Buffers of which a sub-region is taken in their own block, so that it is not among the accesses of the body, or
  // with strides that are stated: those of a smaller buffer would differ.
  void note_sub_regions(const SBlock* b) {
    for (const MatchBufferRegion& m : b->match_buffers) {
      const bool own =
          std::find(b->alloc_buffers.begin(), b->alloc_buffers.end(), m.source.buffer) != b->alloc_buffers.end();
      const bool stated = std::any_of(m.buffer->strides.begin(), m.buffer->strides.end(),
                                      [](const Expr* stride) { return !isa<Var>(stride); });
      const Expr* offset = m.buffer->elem_offset;
      const bool placed = offset && !isa<Var>(offset) && !is_const(offset, 0);
      if (own || stated || placed) pointers_.insert(m.source.buffer->data);
    }
  }

  void compact_all(const SBlock* b) {
    const bool any =
        std::any_of(b->alloc_buffers.begin(), b->alloc_buffers.end(), [&](const Buffer* x) { return is_plain(x); });
    if (!any) return;
    // An init is a statement like others here: what it sets is read as well.
    const Stmt* body = b->init ? ctx_.seq_stmt(std::vector<const Stmt*>{b->init, b->body}) : b->body;
    const Regions regions = infer_regions(ctx_, {{}, nullptr, body, {}, {}}, InnerBlocks::AsAccessed);
    find_written(b);
    for (const Buffer* buffer : b->alloc_buffers)
      if (is_plain(buffer)) compact(buffer, regions);
  }
  bool is_plain(const Buffer* b) const {
    return !b->shape.empty() && b->strides.empty() && b->axis_separators.empty() && !pointers_.contains(b->data) &&
           (!b->elem_offset || is_const(b->elem_offset, 0));
  }

  void compact(const Buffer* b, const Regions& regions) {
    std::vector<Range> all;
    for (const std::vector<BufferRegion>* list : {&regions.reads, &regions.writes})
      for (const BufferRegion& own : *list) {
        if (own.buffer != b) continue;
        const BufferRegion r = threads_.joined(own);
        if (all.empty()) {
          all.assign(r.region.begin(), r.region.end());
          continue;
        }
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = both(all[i], r.region[i], b->shape[i]);
      }
    if (all.size() != b->shape.size()) return;
    bool smaller = false;
    std::vector<const Expr*> shape, begin;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Range r = changes(all[i].min) ? whole(b->shape[i]) : inside(all[i], b->shape[i]);
      smaller = smaller || !analyzer_.prove_equal(r.extent, b->shape[i]);
      shape.push_back(cast_to(ctx_, b->shape[i]->dtype(), r.extent));
      begin.push_back(r.min);
    }
    if (!smaller || !support::may_rewrite([&] { return "makes buffer `" + std::string(b->name) + "` smaller"; }))
      return;
    Buffer fields = *b;
    fields.shape = ctx_.list(shape);
    const Buffer* made = ctx_.buffer(fields);
    ctx_.set_origin(made, b);
    remap_buffer(b, made);
    begins_[b] = begin;
  }

  Range whole(const Expr* extent) { return {ctx_.int_imm(extent->dtype(), 0), extent}; }
  const Expr* end(const Range& r) { return add(ctx_, r.min, r.extent); }

  // The smallest range around both; the whole dimension when they cannot be compared.
  Range both(const Range& a, const Range& b, const Expr* extent) {
    const auto below = [&](const Expr* x, const Expr* y) {
      return analyzer_.prove(compare(ctx_, BinaryKind::LE, x, y));
    };
    const Expr* min = below(a.min, b.min) ? a.min : below(b.min, a.min) ? b.min : nullptr;
    const Expr* last = below(end(a), end(b)) ? end(b) : below(end(b), end(a)) ? end(a) : nullptr;
    if (!min || !last) return whole(extent);
    return {min, analyzer_.simplify(sub(ctx_, last, min))};
  }

  // The part of the range that is inside of the dimension, as TVM writes it: it begins at 0 or later, and is no longer
  // than the dimension, or than the largest number of elements that its length can be. Accesses outside of the
  // dimension do not count.
  Range inside(const Range& r, const Expr* extent) {
    const Expr* zero = ctx_.int_imm(extent->dtype(), 0);
    Range part{analyzer_.simplify(r.min), analyzer_.simplify(r.extent)};
    if (!strict_) return analyzer_.prove(compare(ctx_, BinaryKind::LE, zero, part.min)) ? part : whole(extent);
    if (!analyzer_.prove(compare(ctx_, BinaryKind::LE, zero, part.min)))
      part.min = analyzer_.simplify(max(ctx_, zero, part.min));
    // An allocation has one size for all turns of the loops around it.
    if (varies(part.extent)) {
      const auto most = analyzer_.bounds(part.extent).max;
      if (!most) return whole(extent);
      part.extent = ctx_.int_imm(extent->dtype(), *most);
    }
    if (analyzer_.prove(compare(ctx_, BinaryKind::LE, extent, part.extent))) return whole(extent);
    return part;
  }

  void find_written(const SBlock* block) {
    written_.clear();
    walk(block, [&](const Node* n) {
      if (const auto* st = as<BufferStore>(n)) written_.insert(st->buffer->data);
      if (const auto* v = as<Var>(n)) written_.insert(v);
      if (const Buffer* b = address_taken(n)) written_.insert(b->data);
      if (const auto* b = as<SBlock>(n))
        for (const MatchBufferRegion& m : b->match_buffers) written_.insert(m.source.buffer->data);
      return true;
    });
  }
  // Whether the block may write a buffer that the expression reads: the first index would not stay the same.
  bool changes(const Expr* e) const {
    bool found = false;
    walk(e, [&](const Node* n) {
      const auto* load = as<BufferLoad>(n);
      found = found || (load && written_.contains(load->buffer->data));
      return !found;
    });
    return found;
  }
  bool varies(const Expr* e) const {
    bool found = false;
    walk(e, [&](const Node* n) {
      const auto* v = as<Var>(n);
      found = found || isa<BufferLoad>(n) || (v && loops_.contains(v));
      return !found;
    });
    return found;
  }

  // ---- accesses ----

  const Expr* from_begin(const Expr* index, const Expr* begin) {
    return is_const(begin, 0) ? index : analyzer_.simplify(sub(ctx_, index, begin));
  }
  std::vector<const Expr*> moved(const Buffer* b, Span<const Expr*> indices) {
    const std::vector<const Expr*>& begin = begins_.at(b);
    std::vector<const Expr*> out;
    for (std::size_t i = 0; i < indices.size(); ++i) out.push_back(from_begin(rewrite(indices[i]), begin[i]));
    return out;
  }
  BufferRegion moved(const Buffer* from, const BufferRegion& r) {
    const auto it = begins_.find(from);
    if (it == begins_.end()) return r;
    std::vector<Range> region(r.region.begin(), r.region.end());
    for (std::size_t i = 0; i < region.size(); ++i) region[i].min = from_begin(region[i].min, it->second[i]);
    return {r.buffer, ctx_.list(region)};
  }
  std::vector<BufferRegion> moved(Span<BufferRegion> from, Span<BufferRegion> rewritten) {
    std::vector<BufferRegion> out;
    for (std::size_t i = 0; i < from.size(); ++i) out.push_back(moved(from[i].buffer, rewritten[i]));
    return out;
  }

  Analyzer analyzer_;
  ThreadRegions threads_;
  bool strict_;
  std::unordered_set<const Var*> pointers_;  // of buffers that stay as they are: used as raw pointers, and the like
  std::unordered_set<const Var*> written_;   // memory that the block being compacted may write
  std::unordered_set<const Var*> loops_;     // variables of the loops, threads and axes entered
  std::unordered_map<const Buffer*, std::vector<const Expr*>> begins_;
};

}  // namespace

Result<const Module*> compact_buffer_allocation(PassEnv& env, const Module* module,
                                                const CompactBufferAllocationOptions& options) {
  const bool strict = options.is_strict;
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return with_body(env.ctx, f, Compactor(env.ctx, strict).run(f));
  });
}

}  // namespace rldb::passes
