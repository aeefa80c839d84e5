// Where barriers go, by the accesses of statements in sequence.
//
// Two accesses of one buffer do not meet when their indices are the same expression of the innermost thread's variable.
// The statements of a loop are checked against those of its next turn too.
#include "rldb/ir/thread_barriers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/nested_threads.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::ir {

namespace {

constexpr std::string_view kHandThreaded = "hand_threaded";  // the kernel has its own barriers
constexpr std::string_view kDoubleBufferWrite = "double_buffer_write";
constexpr std::string_view kSharedMemory = "shared", kDynamicMemory = "shared.dyn", kWarpMemory = "warp";

enum class ThreadForm : std::uint8_t { Launches, Loops };  // Loops: also thread-bound loops, and blocks
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
  // `apart`: whether two accesses are known to be of one thread each.
  template <class Apart>
  bool conflicts(const Access& next, bool next_turn, Apart apart) const {
    const auto found = by_memory_.find(next.memory);
    if (found == by_memory_.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(),
                       [&](const Access& a) { return conflict(a, next, next_turn) && !apart(a, next); });
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
  Planner(Context& ctx, std::string_view scope, ThreadForm form)
      : ctx_(ctx), scope_(scope), loops_(form == ThreadForm::Loops) {}
  BarrierPlan found;

  void plan(const Stmt* s) { visit(s); }
  // Of the loop form: which kernels (their outermost statements of threads) would give other values, if one thread ran
  // after the other. `plan` is about these.
  void look_for_waiting(const Stmt* s) {
    probing_ = true;
    visit(s);
    probing_ = false;
  }
  std::unordered_set<const Stmt*> waiting;

 private:
  using Entries = std::vector<Entry>;

  void visit(const Stmt* s) {
    support::poll();
    if (!s) return;
    if (const auto* seq = as<SeqStmt>(s)) {
      for (const Stmt* inner : seq->stmts) visit(inner);
      return;
    }
    if (loops_ && !thread_tag(s).empty()) return threads(s);
    if (const auto* a = as<AttrStmt>(s)) return attribute(a);
    if (const auto* f = as<ForStmt>(s)) return loop(f);
    if (const auto* w = as<WhileStmt>(s)) return branches(s, w->cond, w->body, nullptr);
    if (const auto* i = as<IfThenElse>(s)) return branches(s, i->cond, i->then_case, i->else_case);
    if (const auto* r = as<SBlockRealize>(s)) return loops_ ? realize(r) : visit(r->block);
    if (const auto* b = as<SBlock>(s)) return visit(b->body);
    if (const auto* d = as<DeclBuffer>(s); loops_ && d && d->data)
      if (const auto* memory = as<Var>(d->data); memory && memory != d->buffer->data) views_[d->buffer->data] = memory;
    if (const auto* b = as<BindStmt>(s)) bound_.insert(b->var);
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
    if (scope && scope->value == kWarpMemory && scope_ != kWarpMemory) return;
    entry.accesses.push_back({AccessKind::Sync, nullptr, {}, thread_, false});
  }

  void note(Entry& entry, AccessKind kind, const Buffer* b, Span<const Expr*> indices) {
    if (!in_kernel_ || b->scope != scope_) return;
    Access a{kind, shared_memory(b->data), {}, thread_, false};
    for (const Expr* i : indices)
      a.at.push_back(i->dtype().is_scalar() && !parts_.contains(b->data) ? seen(i) : nullptr);
    entry.accesses.push_back(std::move(a));
  }

  // Dynamic shared memory is one block of memory.
  const Var* shared_memory(const Var* data) {
    for (auto it = views_.find(data); it != views_.end(); it = views_.find(data)) data = it->second;
    if (scope_ != kDynamicMemory || loops_) return data;
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
    if (in_kernel_) bound_.insert(f->var);
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

  // ---- loops over threads, and blocks ----

  // Loops over the same threads have one variable.
  const Var* thread_of(const Stmt* s) {
    const auto* f = as<ForStmt>(s);
    const Var* v = thread_var(s);
    const Expr* extent = f ? f->extent : as<AttrStmt>(s)->value;
    const auto [it, fresh] = threads_.try_emplace(thread_tag(s), v, extent);
    const auto& [first, first_extent] = it->second;
    if (fresh || first == v || !expr_equal(extent, first_extent) || (f && !is_const(f->min, 0))) return v;
    values_[v] = first->dtype() == v->dtype() ? first : cast_to(ctx_, v->dtype(), first);
    return first;
  }

  void threads(const Stmt* s) {
    const std::string_view tag = thread_tag(s);
    const auto* f = as<ForStmt>(s);
    const bool opens = !in_kernel_;
    if (opens) {
      if (!probing_ && !waiting.contains(s)) return;
      kernel_ = s;
      has_own_barriers_ = has_barrier(s);
      if (probing_ && has_own_barriers_) {
        waiting.insert(s);
        return;
      }
    }
    in_kernel_ = true;
    const Var* v = thread_of(s);
    const Var* outer = thread_;
    if (!is_vthread(tag)) thread_ = v;
    if (!is_block_idx(tag)) open_.emplace_back(v, tag);
    Entry entry{s, summary(inside(f ? f->body : as<AttrStmt>(s)->body), nullptr)};
    if (!is_block_idx(tag)) open_.pop_back();
    thread_ = outer;
    if (!opens) {
      if (!entry.accesses.empty()) entries_.push_back(std::move(entry));
      return;
    }
    in_kernel_ = false;
    threads_.clear();
  }

  // An index or value, in variables of loops and threads.
  const Expr* seen(const Expr* e) { return values_.empty() ? e : substitute(ctx_, e, values_); }

  // Whether the threads join their parts of this reduction: all that the block writes is given to an allreduce, or made
  // by one.
  bool is_joined_by_threads(const SBlock* b) const {
    std::unordered_set<const Buffer*> joined;
    walk(kernel_, [&](const Node* n) {
      const auto* part = as<Expr>(n);
      if (!part || !is_call_of(part, intrin::TvmThreadAllreduce)) return true;
      for (const Expr* e : as<Call>(part)->args)
        if (const auto* load = as<BufferLoad>(e)) joined.insert(load->buffer);
      return false;
    });
    bool all = !joined.empty();
    walk(b->body, [&](const Node* n) {
      const auto* store = as<BufferStore>(n);
      all = all && (!store || joined.contains(store->buffer));
      return all;
    });
    return all;
  }

  void realize(const SBlockRealize* r) {
    const SBlock* b = r->block;
    Entry entry{r, {}};
    read(entry, r->predicate);
    for (std::size_t i = 0; i < b->iter_vars.size(); ++i) {
      read(entry, r->iter_values[i]);
      const Expr* value = seen(r->iter_values[i]);
      values_[b->iter_vars[i].var] = value;
      if (b->iter_vars[i].kind != IterKind::Reduce) continue;
      for (const auto& [v, tag] : open_)
        if (uses(value, v) && !probing_ && !is_joined_by_threads(b)) found.reduced_over = tag;
    }
    for (const MatchBufferRegion& m : b->match_buffers) {
      if (m.buffer->data != m.source.buffer->data) views_[m.buffer->data] = m.source.buffer->data;
      parts_.insert(m.buffer->data);
    }
    const bool sometimes = !is_const(r->predicate, 1);
    conditions_ += sometimes;
    for (const Stmt* part : {b->init, b->body}) {
      if (!part) continue;
      const std::vector<Access> accesses = summary(inside(part), nullptr);
      entry.accesses.insert(entry.accesses.end(), accesses.begin(), accesses.end());
    }
    conditions_ -= sometimes;
    if (!entry.accesses.empty()) entries_.push_back(std::move(entry));
  }

  // ---- whether one thread may run after the other ----

  // The value of e differs between any two threads that differ in v, and in nothing else.
  bool tells(const Expr* e, const Var* v) const {
    if (e == v) return true;
    if (const auto* c = as<CastExpr>(e)) return tells(c->value, v);
    const auto* b = as<BinaryExpr>(e);
    if (!b) return false;
    const bool left = uses(b->a, v), right = uses(b->b, v);
    if (left == right) return false;
    const Expr *with = left ? b->a : b->b, *without = left ? b->b : b->a;
    if (b->op() == BinaryKind::Mul) {
      const auto factor = const_int(without);
      return factor && *factor != 0 && tells(with, v);
    }
    return (b->op() == BinaryKind::Add || b->op() == BinaryKind::Sub) && is_fixed(without) && tells(with, v);
  }
  // The same for all threads, and all the time.
  bool is_fixed(const Expr* e) const {
    bool fixed = true;
    walk(e, [&](const Node* n) {
      const auto* v = as<Var>(n);
      fixed = fixed && !as<BufferLoad>(n) && !as<Call>(n) && !(v && bound_.contains(v));
      for (const auto& [thread, tag] : open_) fixed = fixed && v != thread;
      return fixed;
    });
    return fixed;
  }
  // The threads that run one after another there touch elements of their own.
  bool apart(const Access& a, const Access& b) const {
    return std::all_of(open_.begin(), open_.end(), [&](const auto& thread) {
      for (std::size_t i = 0; i < std::min(a.at.size(), b.at.size()); ++i)
        if (a.at[i] && b.at[i] && expr_equal(a.at[i], b.at[i]) && tells(a.at[i], thread.first)) return true;
      return false;
    });
  }

  // ---- barriers ----

  // False: no barrier is there, only noted that one is wanted.
  bool put_before(const Stmt* s) {
    if (probing_) {
      waiting.insert(kernel_);
      return false;
    }
    // Threads of a warp may meet there already, as TVM's reductions do.
    if (loops_ && conditions_ > 0 && has_own_barriers_) return false;
    found.under_condition = found.under_condition || conditions_ > 0;
    found.before.insert(s);
    return true;
  }

  bool needs_barrier(const Entry& entry, Pending& reads, Pending& writes, bool next_turn) {
    const auto known_apart = [&](const Access& a, const Access& b) { return probing_ && apart(a, b); };
    for (const Access& a : entry.accesses) {
      if (a.kind == AccessKind::Read && writes.conflicts(a, next_turn, known_apart)) return true;
      if (a.kind == AccessKind::Write && reads.conflicts(a, next_turn, known_apart)) return true;
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
      if ((found.before.contains(entry.stmt) || needs_barrier(entry, reads, writes, false)) && put_before(entry.stmt)) {
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
      if (found.before.contains(entry.stmt) || (reads.empty() && writes.empty())) return;
      if (needs_barrier(entry, reads, writes, true) && put_before(entry.stmt)) return;
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
      if (found.before.contains(entry.stmt)) sync();
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
  const bool loops_;
  bool probing_ = false;
  Entries entries_;
  bool in_kernel_ = false;
  const Stmt* kernel_ = nullptr;
  bool has_own_barriers_ = false;                                           // the kernel
  std::vector<std::pair<const Var*, std::string_view>> open_;               // threads that run one after another
  std::map<std::string_view, std::pair<const Var*, const Expr*>> threads_;  // of the kernel: variable and extent
  VarMap values_;                                                           // of axes, and of threads that are others
  std::unordered_map<const Var*, const Var*> views_;                        // memory behind other memory
  std::unordered_set<const Var*> parts_;                                    // of these those with indices of their own
  std::unordered_set<const Var*> bound_;                                    // in a kernel: by statements and loops
  const Var* thread_ = nullptr;
  const Var* dynamic_ = nullptr;
  int conditions_ = 0;
};

class Inserter : public Rewriter {
 public:
  using Before = std::function<const Call*(const Stmt*)>;
  Inserter(Context& ctx, Before before) : Rewriter(ctx), before_(std::move(before)) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const Stmt* made = default_stmt(s);
    const Call* wait = before_(s);
    if (!wait) return made;
    const Stmt* barrier = ctx_.evaluate(wait);
    ctx_.set_origin(barrier, s);
    const Stmt* const both[] = {barrier, made};
    return ctx_.seq_stmt(both);
  }

 private:
  Before before_;
};

// The memory that threads of a block or a warp share in a function: its scopes. None where no threads are.
std::vector<std::string_view> scopes_of_threads(const Stmt* body) {
  std::set<std::string_view> used;
  bool threads = false;
  walk(body, [&](const Node* n) {
    const auto* s = as<Stmt>(n);
    if (!s) return true;
    threads = threads || !thread_tag(s).empty();
    if (const auto* b = as<SBlock>(s))
      for (const Buffer* made : b->alloc_buffers) used.insert(made->scope);
    if (const auto* a = as<AllocBuffer>(s)) used.insert(a->buffer->scope);
    if (const auto* a = as<AllocateStmt>(s)) used.insert(a->scope);
    if (const auto* d = as<DeclBuffer>(s)) used.insert(d->buffer->scope);
    return true;
  });
  std::vector<std::string_view> out;
  for (const std::string_view scope : {kSharedMemory, kDynamicMemory, kWarpMemory})
    if (threads && used.contains(scope)) out.push_back(scope);
  return out;
}

}  // namespace

BarrierPlan plan_barriers(Context& ctx, const Stmt* body, std::string_view scope) {
  Planner planner(ctx, scope, ThreadForm::Launches);
  planner.plan(body);
  return std::move(planner.found);
}

const Call* barrier_over(Context& ctx, std::string_view scope) {
  return as<Call>(ctx.intrin(DType::Int(32), intrin::TvmStorageSync, {ctx.string(scope)}));
}

const Stmt* with_barriers(Context& ctx, const Stmt* s, std::string_view scope,
                          const std::unordered_set<const Stmt*>& before) {
  const Call* barrier = barrier_over(ctx, scope);
  return Inserter(ctx, [&](const Stmt* at) { return before.contains(at) ? barrier : nullptr; }).rewrite(s);
}

// ---- PlacedBarriers ----

PlacedBarriers::PlacedBarriers(const Stmt* body) {
  const std::vector<std::string_view> scopes = scopes_of_threads(body);
  if (scopes.empty()) return;
  own_ = std::make_unique<Context>();
  std::unordered_set<const Stmt*> waiting;
  for (const std::string_view scope : scopes) {
    Planner planner(*own_, scope, ThreadForm::Loops);
    planner.look_for_waiting(body);
    waiting.merge(planner.waiting);
  }
  for (const std::string_view scope : scopes) {
    Planner planner(*own_, scope, ThreadForm::Loops);
    planner.waiting = waiting;
    planner.plan(body);
    const Call* barrier = barrier_over(*own_, scope);
    for (const Stmt* s : planner.found.before) before_.try_emplace(s, barrier);
    if (!planner.found.before.empty() && !planner.found.reduced_over.empty())
      obstacle_ = fmt::format(
          "its threads share memory, and a block reduces over `{}`: LowerCrossThreadReduction has to be run first",
          planner.found.reduced_over);
  }
}

PlacedBarriers::~PlacedBarriers() = default;

const Call* PlacedBarriers::before(const Stmt* s) const {
  const auto it = before_.find(s);
  return it == before_.end() ? nullptr : it->second;
}

bool PlacedBarriers::are_below(const Stmt* s) const {
  bool found = false;
  if (!empty())
    walk(s, [&](const Node* n) {
      found = found || (n != s && as<Stmt>(n) && before(as<Stmt>(n)));
      return !found;
    });
  return found;
}

const PrimFunc* PlacedBarriers::written(Context& ctx, const PrimFunc* f) const {
  if (empty()) return f;
  const auto made = [&](const Stmt* s) -> const Call* {
    const Call* wait = before(s);
    return wait ? barrier_over(ctx, as<StringImm>(wait->args[0])->value) : nullptr;
  };
  const PrimFunc* out = ctx.prim_func(f->params, f->ret_type, Inserter(ctx, made).rewrite(f->body), f->attrs, f->s_tir);
  ctx.set_origin(out, f);
  return out;
}

bool threads_take_turns(const Stmt* body) { return threads_wait(body) || !PlacedBarriers(body).empty(); }

}  // namespace rldb::ir
