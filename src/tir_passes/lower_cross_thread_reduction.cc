// LowerCrossThreadReduction: a reduction whose loops are bound to threads becomes: each thread's own part, into a local
// buffer; T.tvm_thread_allreduce, which gives all threads the whole; and the store of the result.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/reducer.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kLocal = "local";

using Buffers = std::vector<const Buffer*>;
struct ThreadRange {
  std::string_view tag;
  Range range;
};

bool mentions(const Expr* e, const Var* v) {
  bool found = false;
  walk(e, [&](const Node* n) {
    found = found || n == v;
    return !found;
  });
  return found;
}

bool has_reduction_axis(const Stmt* s) {
  bool found = false;
  walk(s, [&](const Node* n) {
    if (const auto* b = as<SBlock>(n))
      for (const IterVar& v : b->iter_vars) found = found || v.kind == IterKind::Reduce;
    return !found;
  });
  return found;
}

// The loops of one thread: those bound to threads are left out, the block is replaced, or removed when there is no
// other.
class OwnPart : public Rewriter {
 public:
  OwnPart(Context& ctx, const SBlockRealize* from, const SBlockRealize* to) : Rewriter(ctx), from_(from), to_(to) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Stmt* visit_stmt(const Stmt* s) override {
    if (s == from_) return to_;
    if (isa<SBlockRealize>(s)) return s;
    const auto* f = as<ForStmt>(s);
    if (!f) return default_stmt(s);
    const bool bound = !thread_tag(f).empty() && has_reduction_axis(f);
    const Stmt* body = rewrite(f->body);
    if (!body || bound) return body;
    return body == f->body
               ? f
               : ctx_.for_stmt(f->var, f->min, f->extent, f->for_kind, body, f->annotations, f->thread_tag, f->step);
  }

 private:
  const SBlockRealize* from_;
  const SBlockRealize* to_;
};

// Accesses of the results become accesses of the local buffers.
class IntoLocal : public Rewriter {
 public:
  IntoLocal(Context& ctx, const Buffers& from, const Buffers& to) : Rewriter(ctx), from_(from), to_(to) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override {
    const auto* load = as<BufferLoad>(e);
    const Buffer* to = load ? local(load->buffer) : nullptr;
    const Expr* const zero[] = {ctx_.i32(0)};
    return to ? ctx_.load(to, zero) : default_expr(e);
  }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* store = as<BufferStore>(s);
    const Buffer* to = store ? local(store->buffer) : nullptr;
    const Expr* const zero[] = {ctx_.i32(0)};
    return to ? ctx_.store(to, rewrite(store->value), zero) : default_stmt(s);
  }

 private:
  const Buffer* local(const Buffer* b) const {
    const auto it = std::find(from_.begin(), from_.end(), b);
    return it == from_.end() ? nullptr : to_[std::size_t(it - from_.begin())];
  }
  const Buffers &from_, &to_;
};

class Reductions : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::string refused;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    if (const auto* f = as<ForStmt>(s)) return loop(f);
    if (const auto* b = as<SBlock>(s)) return block(b);
    if (const auto* r = as<SBlockRealize>(s)) return realize(r);
    if (isa<SeqStmt>(s)) return default_stmt(s);
    path_.push_back(s);
    const Stmt* made = default_stmt(s);
    path_.pop_back();
    return made;
  }

 private:
  using Loops = std::vector<const ForStmt*>;

  const Stmt* loop(const ForStmt* f) {
    path_.push_back(f);
    loops_.push_back(f);
    const std::string_view tag = thread_tag(f);
    threads_ += is_thread_idx(tag);
    blocks_ += is_block_idx(tag);
    const Stmt* made = default_stmt(f);
    threads_ -= is_thread_idx(tag);
    blocks_ -= is_block_idx(tag);
    loops_.pop_back();
    path_.pop_back();
    // The end of a kernel.
    if (is_block_idx(tag) || (is_thread_idx(tag) && threads_ == 0 && blocks_ == 0)) reduced_by_.clear();
    const auto replaced = replacement_.find(f);
    return replaced == replacement_.end() ? made : replaced->second;
  }

  const Stmt* block(const SBlock* b) {
    path_.push_back(b);
    scopes_.push_back({b, {}, writers(b)});
    const Loops outer = std::exchange(loops_, {});
    const Stmt* made = default_stmt(b);
    loops_ = outer;
    const Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    path_.pop_back();
    if (scope.fresh.empty()) return made;
    SBlock out = *as<SBlock>(made);
    Buffers allocated(out.alloc_buffers.begin(), out.alloc_buffers.end());
    allocated.insert(allocated.end(), scope.fresh.begin(), scope.fresh.end());
    out.alloc_buffers = ctx_.list(allocated);
    return ctx_.sblock(out);
  }

  const Stmt* realize(const SBlockRealize* r) {
    path_.push_back(r);
    const Stmt* made = nullptr;
    if (const Loops reduction = reduction_loops(r); !reduction.empty()) {
      lower(r, reduction);
      made = r;
    } else {
      made = by_one_thread(r);
      if (!made) made = default_stmt(r);
    }
    path_.pop_back();
    return made;
  }

  // ---- which blocks ----

  // How many blocks directly inside write each buffer.
  static std::unordered_map<const Buffer*, int> writers(const SBlock* scope) {
    std::unordered_map<const Buffer*, int> out;
    walk(scope->body, [&](const Node* n) {
      const auto* r = as<SBlockRealize>(n);
      if (r)
        for (const BufferRegion& w : r->block->writes) ++out[w.buffer];
      return !r;
    });
    return out;
  }

  bool is_reduction(const SBlock* b) const {
    if (!b->init) return false;
    for (const IterVar& v : b->iter_vars)
      if (v.kind != IterKind::Spatial && v.kind != IterKind::Reduce) return false;
    for (const BufferRegion& w : b->writes) {
      const auto count = scopes_.back().writers.find(w.buffer);
      if (count == scopes_.back().writers.end() || count->second != 1) return false;
      for (const Range& range : w.region)
        for (const IterVar& v : b->iter_vars)
          if (v.kind == IterKind::Reduce && (mentions(range.min, v.var) || mentions(range.extent, v.var))) return false;
    }
    return true;
  }

  // The loops that determine its reduction axes, if threads are among them.
  Loops reduction_loops(const SBlockRealize* r) const {
    if (scopes_.empty() || !is_reduction(r->block)) return {};
    Loops out;
    bool bound = false;
    for (const ForStmt* f : loops_) {
      bool used = false;
      for (std::size_t i = 0; i < r->iter_values.size(); ++i)
        used = used || (r->block->iter_vars[i].kind == IterKind::Reduce && mentions(r->iter_values[i], f->var));
      if (!used) continue;
      out.push_back(f);
      bound = bound || !thread_tag(f).empty();
    }
    return bound ? out : Loops();
  }

  // ---- the reduction ----

  void refuse(const SBlock* b, std::string_view why) {
    if (refused.empty()) refused = fmt::format("block `{}`: {}", b->name, why);
  }

  bool can_lower(const SBlockRealize* r, const Loops& loops, const std::optional<BlockReduction>& found) {
    const SBlock* b = r->block;
    std::size_t deepest = 0;
    for (auto it = path_.rbegin() + 1; it != path_.rend(); ++it, ++deepest)
      if (std::find(loops.begin(), loops.end(), *it) == loops.end()) break;
    if (deepest != loops.size()) return refuse(b, "the loops of its reduction must be the innermost around it"), false;
    for (const ForStmt* f : loops)
      if (!thread_tag(f).empty() && !is_thread_idx(thread_tag(f)))
        return refuse(b, "loops of its reduction may be bound to threadIdx.x, .y and .z only"), false;
    if (!found)
      return refuse(b, "its reduction is not one of the known ones: sum, product, min, max, argmax, argmin"), false;
    for (const Buffer* result : found->buffers)
      if ((result->scope == kLocal) != (found->buffers[0]->scope == kLocal))
        return refuse(b, "the buffers of its results must be all local or all not"), false;
    bool seen = false, last = true;
    walk(loops[0], [&](const Node* n) {
      const auto* other = as<SBlockRealize>(n);
      if (other) last = last && !seen;
      seen = seen || other == r;
      return !other;
    });
    if (!last) return refuse(b, "it must be the last block below the first loop of its reduction"), false;
    return true;
  }

  void lower(const SBlockRealize* r, const Loops& loops) {
    const std::optional<BlockReduction> found = reduction_of(ctx_, r->block);
    if (!can_lower(r, loops, found)) return;
    const auto bound =
        std::size_t(std::count_if(loops.begin(), loops.end(), [](const ForStmt* f) { return !thread_tag(f).empty(); }));
    const bool own_part = bound < loops.size() || !is_const(r->predicate, 1);
    const Buffers across = scratchpads(found->buffers, "cross_thread_");
    const Buffers own = own_part ? scratchpads(found->buffers, "in_thread_") : Buffers();
    std::vector<const Stmt*> parts;
    if (own_part) parts.push_back(initialised(r->block, *found, own));
    if (const Stmt* s = OwnPart(ctx_, r, own_part ? into_local(r, *found, own) : nullptr)
                            .rewrite(static_cast<const Stmt*>(loops[0])))
      parts.push_back(s);
    parts.push_back(all_reduce(r, *found, own, across, loops));
    parts.push_back(write_back(r, *found, across, loops));
    const Stmt* made = ctx_.seq_stmt(parts);
    for (auto it = loops.rbegin(); it != loops.rend(); ++it) {
      const ForStmt* f = *it;
      if (thread_tag(f).empty()) continue;
      made = ctx_.for_stmt(f->var, f->min, f->extent, f->for_kind, made, f->annotations, f->thread_tag, f->step);
      ctx_.set_origin(made, f);
    }
    replacement_[loops[0]] = made;
    for (const Buffer* result : found->buffers) {
      std::vector<ThreadRange>& by = reduced_by_[result];
      by.clear();
      for (const ForStmt* f : loops)
        if (!thread_tag(f).empty()) by.push_back({thread_tag(f), {f->min, f->extent}});
    }
  }

  Buffers scratchpads(const Buffers& results, std::string_view prefix) {
    Buffers out;
    for (const Buffer* b : results) {
      const Expr* const one[] = {ctx_.i32(1)};
      const Buffer* plain = ctx_.buffer(std::string(prefix) + std::string(b->name), one, b->dtype, kLocal);
      Buffer fields = *plain;
      fields.strides = ctx_.list<const Expr*>(std::vector<const Expr*>{ctx_.i32(1)});
      out.push_back(ctx_.buffer(fields));
      ctx_.set_origin(out.back(), b);
      scopes_.back().fresh.push_back(out.back());
    }
    return out;
  }

  std::vector<BufferRegion> regions(const Buffers& list) {
    std::vector<BufferRegion> out;
    for (const Buffer* b : list) out.push_back({b, ctx_.list(std::vector<Range>{{ctx_.i32(0), ctx_.i32(1)}})});
    return out;
  }

  const SBlock* made_block(const SBlock* from, std::string_view suffix, const SBlock& fields) {
    SBlock named = fields;
    named.name = ctx_.str(std::string(from->name) + std::string(suffix));
    const SBlock* made = ctx_.sblock(named);
    ctx_.set_origin(made, from);
    return made;
  }

  const Stmt* initialised(const SBlock* b, const BlockReduction& found, const Buffers& own) {
    std::vector<const Stmt*> stores;
    const Expr* const zero[] = {ctx_.i32(0)};
    for (std::size_t i = 0; i < own.size(); ++i)
      stores.push_back(ctx_.store(own[i], found.reducer->identities[i], zero));
    SBlock fields{};
    fields.writes = ctx_.list(regions(own));
    fields.body = ctx_.seq_stmt(stores);
    return ctx_.realize({}, ctx_.bool_imm(true), made_block(b, "_in_thread_init", fields));
  }

  const SBlockRealize* into_local(const SBlockRealize* r, const BlockReduction& found, const Buffers& own) {
    SBlock fields = *r->block;
    fields.writes = ctx_.list(regions(own));
    fields.init = nullptr;
    fields.body = IntoLocal(ctx_, found.buffers, own).rewrite(fields.body);
    return ctx_.realize(r->iter_values, r->predicate, made_block(r->block, "_in_thread", fields));
  }

  const Stmt* all_reduce(const SBlockRealize* r, const BlockReduction& found, const Buffers& own, const Buffers& across,
                         const Loops& loops) {
    const Expr* const zero[] = {ctx_.i32(0)};
    std::vector<const Expr*> args{ctx_.int_imm(DType::UInt(32), std::int64_t(across.size()))};
    for (std::size_t i = 0; i < across.size(); ++i)
      args.push_back(own.empty() ? found.values[i] : ctx_.load(own[i], zero));
    args.push_back(ctx_.bool_imm(true));
    for (const Buffer* b : across) args.push_back(ctx_.load(b, zero));
    for (const ForStmt* f : loops)
      if (!thread_tag(f).empty()) args.push_back(f->var);
    const Expr* call = ctx_.call_typed(ctx_.op(info(intrin::TvmThreadAllreduce).op), args, ctx_.prim(DType::Handle()));
    SBlock fields{};
    if (own.empty()) {
      fields.iter_vars = r->block->iter_vars;
      fields.reads = r->block->reads;
    } else {
      fields.reads = ctx_.list(regions(own));
    }
    fields.writes = ctx_.list(regions(across));
    fields.body = ctx_.attr_stmt(ctx_.attr_node(found.reducer), kReduceScope, ctx_.i32(0), ctx_.evaluate(call));
    const SBlock* made = made_block(r->block, "_cross_thread", fields);
    return ctx_.realize(own.empty() ? r->iter_values : Span<const Expr*>(), ctx_.bool_imm(true), made);
  }

  const Stmt* write_back(const SBlockRealize* r, const BlockReduction& found, const Buffers& across,
                         const Loops& loops) {
    VarMap renamed;
    SBlock fields{};
    std::vector<IterVar> axes;
    std::vector<const Expr*> values;
    for (std::size_t i = 0; i < r->block->iter_vars.size(); ++i) {
      const IterVar& v = r->block->iter_vars[i];
      if (v.kind == IterKind::Reduce) continue;
      const Var* fresh = ctx_.var(v.var->name, v.var->type);
      ctx_.set_origin(fresh, v.var);
      renamed[v.var] = fresh;
      axes.push_back({fresh, v.dom, v.kind});
      values.push_back(r->iter_values[i]);
    }
    std::vector<Range> region;
    for (const Range& range : r->block->writes[0].region)
      region.push_back({substitute(ctx_, range.min, renamed), substitute(ctx_, range.extent, renamed)});
    std::vector<const Expr*> indices;
    for (const Expr* i : found.indices) indices.push_back(substitute(ctx_, i, renamed));
    const Expr* const zero[] = {ctx_.i32(0)};
    std::vector<const Stmt*> stores;
    std::vector<BufferRegion> written;
    for (std::size_t i = 0; i < across.size(); ++i) {
      stores.push_back(ctx_.store(found.buffers[i], ctx_.load(across[i], zero), indices));
      written.push_back({found.buffers[i], ctx_.list(region)});
    }
    fields.iter_vars = ctx_.list(axes);
    fields.reads = ctx_.list(regions(across));
    fields.writes = ctx_.list(written);
    fields.body = ctx_.seq_stmt(stores);
    return ctx_.realize(values, writes_when(r, found, loops), made_block(r->block, "_write_back", fields));
  }

  // The clauses of the block's predicate that no reduction loop is part of; and by the first of the threads, where the
  // result is not each thread's own.
  const Expr* writes_when(const SBlockRealize* r, const BlockReduction& found, const Loops& loops) {
    const Expr* when = ctx_.bool_imm(true);
    std::vector<const Expr*> clauses;
    collect_clauses(r->predicate, clauses);
    if (clauses.size() > 1)  // TVM looks into conjunctions only
      for (const Expr* clause : clauses)
        if (std::none_of(loops.begin(), loops.end(), [&](const ForStmt* f) { return mentions(clause, f->var); }))
          when = logical_and(ctx_, when, clause);
    if (clauses.size() == 1 && !is_const(clauses[0], 1) &&
        std::none_of(loops.begin(), loops.end(), [&](const ForStmt* f) { return mentions(clauses[0], f->var); }))
      when = clauses[0];
    if (found.buffers[0]->scope == kLocal) return when;
    for (const ForStmt* f : loops)
      if (!thread_tag(f).empty())
        when = logical_and(ctx_, when, compare(ctx_, BinaryKind::EQ, f->var, ctx_.int_imm(f->var->dtype(), 0)));
    return when;
  }

  static void collect_clauses(const Expr* e, std::vector<const Expr*>& out) {
    std::vector<const Expr*> open{e};
    while (!open.empty()) {
      const Expr* next = open.back();
      open.pop_back();
      const auto* both = next->kind == BinaryKind::And ? as<BinaryExpr>(next) : nullptr;
      if (!both) {
        out.push_back(next);
        continue;
      }
      open.push_back(both->b);
      open.push_back(both->a);
    }
  }

  // ---- what reads a result of a reduction ----

  // A block that writes shared memory from results which only some of its threads have: the others leave it to one.
  const Stmt* by_one_thread(const SBlockRealize* r) {
    for (const BufferRegion& w : r->block->writes)
      if (w.buffer->scope == kLocal) return nullptr;
    std::vector<ThreadRange> free;
    for (const BufferRegion& read : r->block->reads) {
      const auto by = reduced_by_.find(read.buffer);
      if (by == reduced_by_.end()) continue;
      for (const ThreadRange& t : by->second)
        if (std::none_of(free.begin(), free.end(), [&](const ThreadRange& other) { return other.tag == t.tag; }))
          free.push_back(t);
    }
    std::erase_if(free, [&](const ThreadRange& t) {
      return std::any_of(loops_.begin(), loops_.end(), [&](const ForStmt* f) { return thread_tag(f) == t.tag; });
    });
    if (free.empty()) return nullptr;
    const Expr* when = r->predicate;
    std::vector<const Var*> vars;
    for (const ThreadRange& t : free) {
      vars.push_back(ctx_.var("t" + std::string(t.tag.substr(kThreadIdx.size())), t.range.min->type));
      when = logical_and(ctx_, compare(ctx_, BinaryKind::EQ, vars.back(), t.range.min), when);
    }
    const Stmt* made = ctx_.realize(r->iter_values, when, r->block);
    for (std::size_t i = 0; i < free.size(); ++i)
      made = ctx_.for_stmt(vars[i], free[i].range.min, free[i].range.extent, ForKind::ThreadBinding, made, {},
                           free[i].tag);
    return made;
  }

  struct Scope {
    const SBlock* block;
    Buffers fresh;  // allocated by it in addition
    std::unordered_map<const Buffer*, int> writers;
  };
  std::vector<const Stmt*> path_;  // statements around, without sequences
  Loops loops_;                    // around, within the innermost block
  std::vector<Scope> scopes_;
  int threads_ = 0, blocks_ = 0;  // loops around that are bound to them
  std::unordered_map<const ForStmt*, const Stmt*> replacement_;
  std::unordered_map<const Buffer*, std::vector<ThreadRange>> reduced_by_;
};

}  // namespace

Result<const Module*> lower_cross_thread_reduction(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    Reductions reductions(env.ctx);
    const Stmt* body = reductions.rewrite(f->body);
    if (!reductions.refused.empty())
      return support::Failure(source::message(
          diag::PassUnsupported, fmt::format("a reduction across threads of `{}`", name), reductions.refused));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
