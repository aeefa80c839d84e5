// InjectVirtualThread: the threads of `virtual_thread` run one after another in each real thread: what depends on their
// number is written once per thread, in a loop, or in copies where no loop is inside and threads are few. Memory
// that differs between them gets a part for each.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/arith.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/loop_jump.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/convert_ssa.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::int64_t kMaxCopies = 16;  // as many threads are a loop
constexpr std::int64_t kMaxThreads = 1 << 20;

using Vars = std::unordered_set<const Var*>;

// Variables and memory whose value depends on the thread.
class Touched {
 public:
  Vars find(const Stmt* body, const Var* thread) {
    touched_.insert(thread);
    walk(body, [&](const Node* n) {
      if (const auto* s = as<Stmt>(n)) note(s);
      return !isa<Expr>(n);
    });
    std::vector<const Var*> open(touched_.begin(), touched_.end());
    while (!open.empty()) {
      const Var* v = open.back();
      open.pop_back();
      for (const Var* next : affects_[v])
        if (touched_.insert(next).second) open.push_back(next);
    }
    return std::move(touched_);
  }

 private:
  void note(const Stmt* s) {
    if (const auto* b = as<BindStmt>(s)) return record(b->var, {b->value});
    if (const auto* f = as<ForStmt>(s)) return record(f->var, {f->min, f->extent});
    if (const auto* d = as<DeclBuffer>(s)) return record(d->buffer->data, {d->data});
    if (const auto* a = as<AllocBuffer>(s))
      return record(a->buffer->data, {a->buffer->shape.begin(), a->buffer->shape.end()});
    if (const auto* b = as<BufferStore>(s)) {
      std::vector<const Expr*> from(b->indices.begin(), b->indices.end());
      from.push_back(b->value);
      return record(b->buffer->data, from);
    }
    if (const auto* e = as<Evaluate>(s))
      walk(e->value, [&](const Node* n) {
        const auto* c = as<Call>(n);
        if (!c || !is_call_of(c, intrin::TvmAccessPtr) || c->args.size() != 5) return true;
        const auto mode = const_int(c->args[4]);
        if (mode && (*mode & 2)) record(as<Var>(c->args[1]), {e->value});
        return true;
      });
  }

  void record(const Var* to, const std::vector<const Expr*>& from) {
    if (!to || touched_.contains(to)) return;
    std::vector<const Var*> used;
    for (const Expr* e : from)
      if (e)
        walk(e, [&](const Node* n) {
          if (const auto* v = as<Var>(n)) used.push_back(v);
          if (const auto* l = as<BufferLoad>(n)) used.push_back(l->buffer->data);
          return true;
        });
    for (const Var* v : used) {
      if (touched_.contains(v)) {
        touched_.insert(to);
        return;
      }
    }
    for (const Var* v : used)
      if (v != to) affects_[v].push_back(to);
  }

  Vars touched_;
  std::unordered_map<const Var*, std::vector<const Var*>> affects_;
};

class ThreadLoops : public Rewriter {
 public:
  ThreadLoops(Context& ctx, const AttrStmt* threads, std::int64_t count, const Vars& touched)
      : Rewriter(ctx),
        analyzer_(ctx),
        var_(threads->thread_var),
        count_(count),
        touched_(touched),
        shares_(thread_tag(threads).starts_with(kVThread)) {}
  std::string refused;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    const Stmt* made = visit_kind(s);
    if (!seen_ && !base_) return made;
    if (!inside_) return per_thread(made, false);
    seen_ = base_ = false;
    return made;
  }

  const Expr* visit_expr(const Expr* e) override {
    if (const auto* v = as<Var>(e)) seen_ = seen_ || touched_.contains(v);
    if (is_call_of(e, intrin::TvmContextId) && !shares_) {
      seen_ = true;
      return var_;
    }
    if (is_call_of(e, intrin::TvmAccessPtr) && as<Call>(e)->args.size() == 5)
      if (const Expr* made = pointer(as<Call>(e))) return made;
    const Expr* made = default_expr(e);
    const auto* load = as<BufferLoad>(made);
    if (!load) return made;
    seen_ = seen_ || touched_.contains(load->buffer->data);
    const Parts* parts = parts_of(load->buffer);
    return parts ? ctx_.load(whole(load->buffer, *parts), own(load->indices, *parts), load->predicate) : made;
  }

 private:
  struct Parts {
    const Expr* size;
  };

  // In each of the cases: what is evaluated once for the whole statement decides whether it is repeated.
  const Stmt* visit_kind(const Stmt* s) {
    if (const auto* f = as<ForStmt>(s)) return loop(f);
    if (const auto* i = as<IfThenElse>(s)) return branch(i);
    if (const auto* seq = as<SeqStmt>(s)) return sequence(seq);
    if (const auto* a = as<AllocBuffer>(s)) return allocation(a);
    if (const auto* a = as<AttrStmt>(s)) {
      const Expr* value = rewrite(a->value);
      if (seen_ && !inside_) return per_thread(s, true);
      const Stmt* body = rewrite(a->body);
      return value == a->value && body == a->body
                 ? s
                 : ctx_.attr_stmt(a->node, a->key, value, body ? body : no_op(ctx_), a->thread_var);
    }
    if (const auto* b = as<BindStmt>(s)) {
      const Expr* value = rewrite(b->value);
      if (seen_ && !inside_) return per_thread(s, true);
      seen_ = false;
      return value == b->value ? s : ctx_.bind(b->var, value);
    }
    if (isa<WhileStmt>(s)) {
      refuse("a `while` below it is not supported");
      return s;
    }
    if (isa<SBlock>(s) || isa<SBlockRealize>(s)) {
      refuse("a block is below it: run LowerOpaqueBlock first");
      return s;
    }
    const Stmt* made = default_stmt(s);
    const auto* store = as<BufferStore>(made);
    if (isa<Evaluate>(s) || store) base_ = !shares_;
    if (!store) return made;
    seen_ = seen_ || touched_.contains(store->buffer->data);
    const Parts* parts = parts_of(store->buffer);
    if (!parts) return made;
    return ctx_.store(whole(store->buffer, *parts), store->value, own(store->indices, *parts), store->predicate);
  }

  const Stmt* loop(const ForStmt* f) {
    if (!is_const(f->min, 0)) {
      refuse(fmt::format("the loop over `{}` below it does not begin at 0", f->var->name));
      return f;
    }
    const Expr* extent = rewrite(f->extent);
    // A jump of one thread is none of the others: each has the loop for itself.
    if ((seen_ || jumps(f->body)) && !inside_) {
      const Stmt* made = per_thread(f, true);
      ++depth_;
      return made;
    }
    seen_ = false;
    analyzer_.bind_range(f->var, {f->min, f->extent});
    const Stmt* body = rewrite(f->body);
    analyzer_.end_range(f->var);
    ++depth_;
    if (extent == f->extent && body == f->body) return f;
    return ctx_.for_stmt(f->var, f->min, extent, f->for_kind, body ? body : no_op(ctx_), f->annotations, f->thread_tag,
                         f->step);
  }

  const Stmt* branch(const IfThenElse* i) {
    const Expr* cond = rewrite(i->cond);
    if (seen_ && !inside_) return per_thread(i, true);
    seen_ = false;
    const Stmt* then_case = rewrite(i->then_case);
    const int deepest = std::exchange(depth_, 0);
    const Stmt* else_case = i->else_case ? rewrite(i->else_case) : nullptr;
    depth_ = std::max(depth_, deepest);
    if (cond == i->cond && then_case == i->then_case && else_case == i->else_case) return i;
    return ctx_.if_stmt(cond, then_case ? then_case : no_op(ctx_), else_case);
  }

  // A variable that depends on the thread is repeated together with all that may use it.
  const Stmt* sequence(const SeqStmt* seq) {
    std::vector<const Stmt*> out;
    bool changed = false;
    for (std::size_t i = 0; i < seq->stmts.size(); ++i) {
      const int deepest = std::exchange(depth_, 0);
      if (const auto* bind = as<BindStmt>(seq->stmts[i]); bind && !inside_) {
        rewrite(bind->value);
        const bool depends = std::exchange(seen_, false);
        if (depends) {
          out.push_back(per_thread(ctx_.seq_stmt(seq->stmts.subspan(i)), true));
          depth_ = std::max(depth_, deepest);
          changed = true;
          break;
        }
      }
      const Stmt* made = rewrite(seq->stmts[i]);
      depth_ = std::max(depth_, deepest);
      changed = changed || made != seq->stmts[i];
      if (made) out.push_back(made);
    }
    return changed ? ctx_.seq_stmt(out) : seq;
  }

  const Stmt* allocation(const AllocBuffer* a) {
    for (const Expr* dim : a->buffer->shape) rewrite(dim);
    if (seen_ && !inside_) return per_thread(a, true);
    seen_ = false;
    if (!touched_.contains(a->buffer->data) && shares_) return a;
    if (a->buffer->shape.size() != 1) {
      refuse(fmt::format("`{}` has several dims: run FlattenBuffer first", a->buffer->name));
      return a;
    }
    parts_[a->buffer->data] = {a->buffer->shape[0]};
    return ctx_.alloc_buffer(whole(a->buffer, parts_.at(a->buffer->data)), a->annotations);
  }

  // ---- memory ----

  const Parts* parts_of(const Buffer* b) const {
    const auto it = parts_.find(b->data);
    return it == parts_.end() ? nullptr : &it->second;
  }
  const Buffer* whole(const Buffer* b, const Parts& parts) {
    const auto [it, fresh] = whole_.try_emplace(b);
    if (!fresh) return it->second;
    Buffer fields = *b;
    fields.shape =
        ctx_.list(std::vector<const Expr*>{mul(ctx_, parts.size, ctx_.int_imm(parts.size->dtype(), count_))});
    it->second = ctx_.buffer(fields);
    ctx_.set_origin(it->second, b);
    return it->second;
  }
  const Expr* own(const Expr* index, const Expr* size) {
    return analyzer_.simplify(add(ctx_, index, mul(ctx_, var_, size)));
  }
  std::vector<const Expr*> own(Span<const Expr*> indices, const Parts& parts) { return {own(indices[0], parts.size)}; }

  // Null: the pointer is one of memory that all threads share.
  const Expr* pointer(const Call* c) {
    const auto it = parts_.find(as<Var>(c->args[1]));
    if (it == parts_.end()) return nullptr;
    seen_ = true;
    const Expr* offset = rewrite(c->args[2]);
    const Expr* size = floor_div(ctx_, it->second.size, ctx_.int_imm(offset->dtype(), c->args[0]->dtype().lanes));
    const Expr* const args[] = {c->args[0], c->args[1], own(offset, size), rewrite(c->args[3]), c->args[4]};
    return ctx_.call_typed(c->callee, args, c->type);
  }

  // ---- repetition ----

  const Stmt* per_thread(const Stmt* s, bool not_yet_rewritten) {
    seen_ = base_ = false;
    inside_ = true;
    if (not_yet_rewritten) s = rewrite(s);
    inside_ = false;
    seen_ = base_ = false;
    if (!s) return s;
    if (depth_ == 0 && count_ < kMaxCopies) {
      std::vector<const Stmt*> copies;
      for (std::int64_t i = 0; i < count_; ++i)
        copies.push_back(substitute(ctx_, s, {{var_, ctx_.int_imm(var_->dtype(), i)}}));
      return ctx_.seq_stmt(copies);
    }
    const Var* turn = ctx_.var(std::string(var_->name) + ".s", var_->type);
    ctx_.set_origin(turn, var_);
    return ctx_.for_stmt(turn, ctx_.int_imm(turn->dtype(), 0), ctx_.int_imm(turn->dtype(), count_), ForKind::Serial,
                         substitute(ctx_, s, {{var_, turn}}));
  }

  void refuse(std::string why) {
    if (refused.empty()) refused = std::move(why);
  }

  Analyzer analyzer_;
  const Var* var_;
  std::int64_t count_;
  const Vars& touched_;
  const bool shares_;    // threads share what does not depend on their number
  bool inside_ = false;  // of a statement that is repeated already
  bool seen_ = false;    // something that depends on the thread, since it was reset
  bool base_ = false;    // a statement that each thread executes
  int depth_ = 0;        // of loops in what was rewritten
  std::unordered_map<const Var*, Parts> parts_;
  std::unordered_map<const Buffer*, const Buffer*> whole_;
};

class VirtualThreads : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::string refused;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const Stmt* made = default_stmt(s);
    const auto* a = as<AttrStmt>(made);
    if (!a || a->key != kVirtualThread || !a->thread_var) return made;
    const auto count = const_int(a->value);
    if (!count || *count < 0 || *count > kMaxThreads) {
      refused = fmt::format("the number of virtual threads `{}` must be a constant of at most {}", a->thread_var->name,
                            kMaxThreads);
      return made;
    }
    const Vars touched = Touched().find(a->body, a->thread_var);
    ThreadLoops loops(ctx_, a, *count, touched);
    const Stmt* body = loops.rewrite(a->body);
    if (!loops.refused.empty()) refused = fmt::format("`{}`: {}", a->thread_var->name, loops.refused);
    return body;
  }
};

}  // namespace

Result<const Module*> inject_virtual_thread(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    VirtualThreads threads(env.ctx);
    const Stmt* body = threads.rewrite(f->body);
    if (!threads.refused.empty())
      return support::Failure(
          source::message(diag::PassUnsupported, fmt::format("the virtual threads of `{}`", name), threads.refused));
    return with_body(env.ctx, f, single_definitions(env.ctx, f, body));
  });
}

}  // namespace rldb::passes
