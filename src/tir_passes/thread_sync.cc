// ThreadSync: a barrier before each statement that reads what another thread may have written since the last one, or
// writes what another may still read, in memory of the given scope.
//
// Two accesses of one buffer do not meet when their indices are the same expression of the innermost thread's variable.
// The statements of a loop are checked against those of its next turn too.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/memory_scope.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/async_attrs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kHandThreaded = "hand_threaded";  // the kernel has its own barriers
constexpr std::string_view kDoubleBufferWrite = "double_buffer_write";

enum class AccessKind : std::uint8_t { Read, Write, Sync };

struct Access {
  AccessKind kind = AccessKind::Sync;
  const Var* memory = nullptr;
  std::vector<const Expr*> at;     // one index per dim; null: several
  const Var* thread = nullptr;     // the innermost
  bool writes_other_half = false;  // of a double buffer
};

// A statement and what it accesses, in order; barriers of its parts included.
struct Entry {
  const Stmt* stmt;
  std::vector<Access> accesses;
};

bool uses(const Expr* e, const Var* v) {
  bool found = false;
  walk(e, [&](const Node* n) {
    found = found || n == v;
    return !found;
  });
  return found;
}

bool touches_same(const Access& a, const Access& b) {
  if (a.at.size() != b.at.size()) return false;
  for (std::size_t i = 0; i < a.at.size(); ++i)
    if (!a.at[i] || !b.at[i] || !expr_equal(a.at[i], b.at[i])) return false;
  return true;
}

// Accesses since the last barrier, by memory. Equal ones in a row are one.
class Pending {
 public:
  void add(const Access& a) {
    std::vector<Access>& list = by_memory_[a.memory];
    if (!list.empty() && list.back().writes_other_half == a.writes_other_half && touches_same(list.back(), a)) return;
    list.push_back(a);
  }
  void clear() { by_memory_.clear(); }
  bool empty() const { return by_memory_.empty(); }
  bool conflicts(const Access& next, bool next_turn) const {
    const auto found = by_memory_.find(next.memory);
    if (found == by_memory_.end()) return false;
    for (const Access& before : found->second)
      if (conflict(before, next, next_turn)) return true;
    return false;
  }

 private:
  static bool conflict(const Access& before, const Access& next, bool next_turn) {
    bool own = true;  // each thread touches an element of its own
    for (std::size_t i = 0; own && i < before.at.size(); ++i) {
      const Expr *a = before.at[i], *b = i < next.at.size() ? next.at[i] : nullptr;
      own = a && b && expr_equal(a, b) && (!next.thread || (uses(a, next.thread) && uses(b, next.thread)));
    }
    if (own) return false;
    return !(before.writes_other_half && next.kind == AccessKind::Read && !next_turn);
  }

  std::unordered_map<const Var*, std::vector<Access>> by_memory_;
};

class Planner {
 public:
  Planner(Context& ctx, std::string_view scope) : ctx_(ctx), scope_(scope) {}
  std::unordered_set<const Stmt*> before;  // statements that a barrier goes before
  bool under_condition = false;            // one would be needed where not all threads come by

  void plan(const Stmt* s) { visit(s); }

 private:
  using Entries = std::vector<Entry>;

  void visit(const Stmt* s) {
    support::poll();
    if (!s) return;
    if (const auto* seq = as<SeqStmt>(s)) {
      for (const Stmt* inner : seq->stmts) visit(inner);
      return;
    }
    if (const auto* a = as<AttrStmt>(s)) return attribute(a);
    if (const auto* f = as<ForStmt>(s)) return loop(f);
    if (const auto* w = as<WhileStmt>(s)) return branches(s, w->cond, w->body, nullptr);
    if (const auto* i = as<IfThenElse>(s)) return branches(s, i->cond, i->then_case, i->else_case);
    if (const auto* r = as<SBlockRealize>(s)) return visit(r->block);
    if (const auto* b = as<SBlock>(s)) return visit(b->body);
    leaf(s);
  }

  void leaf(const Stmt* s) {
    Entry entry{s, {}};
    if (const auto* store = as<BufferStore>(s)) note(entry, AccessKind::Write, store->buffer, store->indices);
    for_each_use(s, [&](const Node* n) {
      if (const auto* e = as<Expr>(n)) read(entry, e);
    });
    if (!entry.accesses.empty()) entries_.push_back(std::move(entry));
  }

  void read(Entry& entry, const Expr* e) {
    walk(e, [&](const Node* n) {
      if (const auto* load = as<BufferLoad>(n)) note(entry, AccessKind::Read, load->buffer, load->indices);
      const auto* part = as<Expr>(n);
      if (part && is_call_of(part, intrin::AddressOf)) {  // the value is not read, its index may read
        const auto* load = as<BufferLoad>(as<Call>(part)->args[0]);
        if (load)
          for (const Expr* i : load->indices) read(entry, i);
        return load == nullptr;
      }
      if (part && is_call_of(part, intrin::TvmAccessPtr)) pointer(entry, as<Call>(part));
      if (part && is_call_of(part, intrin::TvmStorageSync)) barrier(entry, as<Call>(part));
      return true;
    });
  }

  void pointer(Entry& entry, const Call* c) {
    const auto* data = c->args.size() == 5 ? as<Var>(c->args[1]) : nullptr;
    const auto* pointed = data ? as<PointerType>(data->type) : nullptr;
    const auto mode = data ? const_int(c->args[4]) : std::nullopt;
    if (!pointed || !mode || !in_kernel_ || pointed->scope != scope_) return;
    for (const auto& [bit, kind] : {std::pair(1, AccessKind::Read), std::pair(2, AccessKind::Write)})
      if (*mode & bit) entry.accesses.push_back({kind, shared_memory(data), {nullptr}, thread_, false});
  }

  void barrier(Entry& entry, const Call* c) {
    const auto* scope = c->args.empty() ? nullptr : as<StringImm>(c->args[0]);
    if (scope && scope->value == memory_scope::kWarp) return;
    entry.accesses.push_back({AccessKind::Sync, nullptr, {}, thread_, false});
  }

  void note(Entry& entry, AccessKind kind, const Buffer* b, Span<const Expr*> indices) {
    if (!in_kernel_ || b->scope != scope_) return;
    Access a{kind, shared_memory(b->data), {}, thread_, false};
    for (const Expr* i : indices) a.at.push_back(i->dtype().is_scalar() ? i : nullptr);
    entry.accesses.push_back(std::move(a));
  }

  // Dynamic shared memory is one block of memory.
  const Var* shared_memory(const Var* data) {
    if (scope_ != memory_scope::kSharedDynamic) return data;
    if (!dynamic_) dynamic_ = data;
    return dynamic_;
  }

  // ---- scopes ----

  Entries inside(const Stmt* body) {
    Entries outer = std::exchange(entries_, {});
    visit(body);
    return std::exchange(entries_, std::move(outer));
  }

  void attribute(const AttrStmt* a) {
    if (a->key == kHandThreaded) return;
    if (a->key == kDoubleBufferWrite) {
      const auto* written = a->node ? as<Var>(a->node->node) : nullptr;
      Entry entry{a, summary(inside(a->body), nullptr)};
      for (Access& e : entry.accesses)
        e.writes_other_half = e.writes_other_half || (e.kind == AccessKind::Write && e.memory == written);
      if (!entry.accesses.empty()) entries_.push_back(std::move(entry));
      return;
    }
    if (a->key != kThreadExtent) return visit(a->body);
    const Var* outer = std::exchange(thread_, a->thread_var);
    if (in_kernel_) {
      visit(a->body);
    } else {
      in_kernel_ = true;
      summary(inside(a->body), nullptr);  // the end of a kernel is a barrier
      in_kernel_ = false;
      dynamic_ = nullptr;
    }
    thread_ = outer;
  }

  void loop(const ForStmt* f) {
    Entry entry{f, {}};
    read(entry, f->min);
    read(entry, f->extent);
    std::vector<Access> accesses = summary(inside(f->body), f);
    for (Access& a : accesses)
      for (const Expr*& at : a.at)
        if (at && uses(at, f->var)) at = is_const(f->extent, 1) ? substitute(ctx_, at, {{f->var, f->min}}) : nullptr;
    entry.accesses.insert(entry.accesses.end(), accesses.begin(), accesses.end());
    if (!entry.accesses.empty()) entries_.push_back(std::move(entry));
  }

  void branches(const Stmt* s, const Expr* cond, const Stmt* yes, const Stmt* no) {
    const bool common = is_call_of(cond, intrin::TvmThreadInvariant);
    Entry entry{s, {}};
    read(entry, cond);
    conditions_ += !common;
    for (const Stmt* body : {yes, no}) {
      if (!body) continue;
      const std::vector<Access> accesses = summary(inside(body), nullptr);
      entry.accesses.insert(entry.accesses.end(), accesses.begin(), accesses.end());
    }
    conditions_ -= !common;
    entries_.push_back(std::move(entry));
  }

  // ---- barriers ----

  void put_before(const Stmt* s) {
    under_condition = under_condition || conditions_ > 0;
    before.insert(s);
  }

  bool needs_barrier(const Entry& entry, Pending& reads, Pending& writes, bool next_turn) {
    for (const Access& a : entry.accesses) {
      if (a.kind == AccessKind::Read && writes.conflicts(a, next_turn)) return true;
      if (a.kind == AccessKind::Write && reads.conflicts(a, next_turn)) return true;
      if (a.kind == AccessKind::Sync) {
        reads.clear();
        writes.clear();
      }
    }
    return false;
  }

  // Decides where barriers go, and returns what statements around have to know.
  std::vector<Access> summary(const Entries& entries, const ForStmt* loop) {
    Pending reads, writes;
    for (const Entry& entry : entries) {
      if (before.contains(entry.stmt) || needs_barrier(entry, reads, writes, false)) {
        put_before(entry.stmt);
        reads.clear();
        writes.clear();
      }
      for (const Access& a : entry.accesses) {
        if (a.kind == AccessKind::Read) reads.add(a);
        if (a.kind == AccessKind::Write) writes.add(a);
        if (a.kind != AccessKind::Sync) continue;
        reads.clear();
        writes.clear();
      }
    }
    if (loop) next_turn(entries, reads, writes);
    std::vector<Access> out = exposed(entries);
    if (loop)
      for (Access& a : out) a.writes_other_half = false;
    return out;
  }

  void next_turn(const Entries& entries, Pending& reads, Pending& writes) {
    for (const Entry& entry : entries) {
      if (before.contains(entry.stmt) || (reads.empty() && writes.empty())) return;
      if (needs_barrier(entry, reads, writes, true)) return put_before(entry.stmt);
    }
  }

  // Accesses before the first barrier and after the last.
  std::vector<Access> exposed(const Entries& entries) {
    std::vector<Access> head, tail;
    bool synced = false;
    const auto sync = [&] {
      if (synced)
        tail.clear();
      else
        head.push_back({AccessKind::Sync, nullptr, {}, thread_, false});
      synced = true;
    };
    for (const Entry& entry : entries) {
      if (before.contains(entry.stmt)) sync();
      for (const Access& a : entry.accesses) {
        if (a.kind == AccessKind::Sync)
          sync();
        else
          (synced ? tail : head).push_back(a);
      }
    }
    head.insert(head.end(), tail.begin(), tail.end());
    return head;
  }

  Context& ctx_;
  std::string_view scope_;
  Entries entries_;
  bool in_kernel_ = false;
  const Var* thread_ = nullptr;
  const Var* dynamic_ = nullptr;
  int conditions_ = 0;
};

const Stmt* barrier_of(Context& ctx, std::string_view scope) {
  return ctx.evaluate(ctx.intrin(DType::Int(32), intrin::TvmStorageSync, {ctx.string(scope)}));
}

class Inserter : public Rewriter {
 public:
  Inserter(Context& ctx, std::string_view scope, const std::unordered_set<const Stmt*>& before)
      : Rewriter(ctx), scope_(scope), before_(before) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const Stmt* made = default_stmt(s);
    if (!before_.contains(s)) return made;
    const Stmt* barrier = barrier_of(ctx_, scope_);
    ctx_.set_origin(barrier, s);
    const Stmt* const both[] = {barrier, made};
    return ctx_.seq_stmt(both);
  }

 private:
  std::string_view scope_;
  const std::unordered_set<const Stmt*>& before_;
};

// Other threads see the memory that asynchronous copies filled after a barrier only.
class AfterWait : public Rewriter {
 public:
  AfterWait(Context& ctx, std::string_view scope) : Rewriter(ctx), scope_(scope) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* outer = as<AttrStmt>(s);
    const auto* inner = outer && outer->key == kWaitQueue ? as<AttrStmt>(outer->body) : nullptr;
    if (!inner || inner->key != kWaitCount) return default_stmt(s);
    const Stmt* const both[] = {barrier_of(ctx_, scope_), inner->body};
    return ctx_.attr_stmt(outer->node, outer->key, outer->value,
                          ctx_.attr_stmt(inner->node, inner->key, inner->value, ctx_.seq_stmt(both)));
  }

 private:
  std::string_view scope_;
};

}  // namespace

Result<const Module*> thread_sync(PassEnv& env, const Module* module, const ThreadSyncOptions& options) {
  const std::string& scope = options.storage_scope;
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    const auto refuse = [&](std::string why) {
      return support::Failure(
          source::message(diag::PassUnsupported, fmt::format("the barriers of `{}`", name), std::move(why)));
    };
    const Stmt* body = scope == memory_scope::kShared ? AfterWait(env.ctx, scope).rewrite(f->body) : f->body;
    Planner planner(env.ctx, scope);
    planner.plan(body);
    if (planner.under_condition) return refuse("one is needed below a condition, where not all threads come by");
    if (planner.before.empty()) return with_body(env.ctx, f, body);
    if (scope == memory_scope::kGlobal) return refuse("threads of different blocks would have to wait for each other");
    return with_body(env.ctx, f, Inserter(env.ctx, scope, planner.before).rewrite(body));
  });
}

}  // namespace rldb::passes
