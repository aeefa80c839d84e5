// Instrumenter: a PrimFunc rewritten so that it counts statements and returns at a count or a probe.
#include "debug/kernel/instrument.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_barriers.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"

namespace rldb::debug {

using ir::as;
using ir::Expr;
using ir::Stmt;
using ir::Var;
using runtime::DType;

namespace {

// Thrown to abandon making the function.
struct Refused {
  std::string why;
};

bool reads_memory(const Expr* e) {
  bool found = false;
  ir::walk(e, [&](const ir::Node* n) {
    found = found || ir::isa<ir::BufferLoad>(n) || ir::isa<ir::Call>(n);
    return !found;
  });
  return found;
}

class Instrumenter {
 public:
  Instrumenter(ir::Context& ctx, const ir::PrimFunc* f, std::span<const Probe> probes)
      : ctx_(ctx), f_(f), probes_(probes) {
    for (const Probe& p : probes) groups_ = std::max(groups_, p.group + 1), asks_ = asks_ || p.asks;
    if (asks_ && probes.size() > Instrumented::kMostProbes) throw Refused{"it has too many breakpoints"};
    if (groups_ > kMaxGroups) throw Refused{"it has too many breakpoints"};
    out_.ints = Instrumented::group_word(groups_, Instrumented::Pass);
    const Expr* words = ctx.i64(Instrumented::kMaxWords);
    ints_ = ctx.buffer("rldb_ints", std::vector{words}, DType::Int(64));
    floats_ = ctx.buffer("rldb_floats", std::vector{words}, DType::Float(64));
    local_ =
        ctx.buffer("rldb_local", std::vector<const Expr*>{i64(probe_local(probes.size()))}, DType::Int(64), "local");
    for (const ir::PrimParam& p : f->params) {
      if (p.var) outer_.insert(p.var);
      if (!p.buffer) continue;
      for (const Expr* d : p.buffer->shape)
        if (const auto* v = as<Var>(d)) outer_.insert(v);
    }
  }

  Instrumented make() {
    std::vector<const Stmt*> body{ctx_.alloc_buffer(local_)};
    for (std::size_t i = 0; i < probe_local(probes_.size()); ++i) body.push_back(set(i, ctx_.i64(0)));
    for (const Probe& p : probes_)
      for (const ir::Buffer* word : p.condition.memory) {
        if (!is_first(word)) continue;  // two breakpoints may have one condition
        body.push_back(ctx_.alloc_buffer(word));
        body.push_back(ctx_.store(word, ctx_.literal(word->dtype, 0), std::vector<const Expr*>{ctx_.i64(0)}));
      }
    for (const auto& [to, from] : kCopied) body.push_back(set(to, word(from)));
    for (std::size_t g = 0; g < groups_; ++g) {
      body.push_back(set(group_local(g, Instrumented::Pass), word(Instrumented::group_word(g, Instrumented::Pass))));
      body.push_back(set(group_local(g, Instrumented::Last), ctx_.i64(Instrumented::kNever)));
    }
    if (ir::threads_take_turns(f_->body)) throw Refused{"its threads wait for each other"};
    body.push_back(visit(f_->body));
    body.push_back(report());
    std::vector<ir::PrimParam> params(f_->params.begin(), f_->params.end());
    for (const ir::PrimParam& p : extra_) params.push_back(p);
    for (const Probe& p : probes_)
      for (const auto& [buffer, value] : p.condition.given) {
        if (!is_first(buffer)) continue;
        params.push_back({buffer->data, buffer});
        out_.given.push_back(value);
      }
    params.push_back({ints_->data, ints_});
    params.push_back({floats_->data, floats_});
    // Whoever is asked reads the kernel's memory.
    const auto attrs = asks_ ? ctx_.with_attr(f_->attrs, attr_name::NoAlias, ctx_.attr(false)) : f_->attrs;
    out_.function = ctx_.prim_func(params, f_->ret_type, ctx_.seq_stmt(body), attrs, f_->s_tir);
    return std::move(out_);
  }

 private:
  // Indices into the local words, which are in registers. After them: three for each group, as in Instrumented, and two
  // for each probe (was there a previous value, and which).
  enum Local : std::size_t { kSteps, kStopAt, kAfter, kBefore, kAsking, kFirst };
  static constexpr std::pair<Local, Instrumented::Word> kCopied[] = {
      {kStopAt, Instrumented::StopAt}, {kAfter, Instrumented::After}, {kBefore, Instrumented::Before}};
  static constexpr std::size_t kGroupWords = Instrumented::kGroupWords;
  std::size_t group_local(std::size_t group, Instrumented::GroupWord w) { return kFirst + kGroupWords * group + w; }
  std::size_t probe_local(std::size_t probe) { return kFirst + kGroupWords * groups_ + 2 * probe; }

  // ---- small parts ----

  bool is_first(const ir::Buffer* of_condition) { return seen_.insert(of_condition).second; }
  const Expr* i64(std::size_t v) { return ctx_.i64(std::int64_t(v)); }
  const Expr* get(std::size_t local) { return ctx_.load(local_, std::vector<const Expr*>{i64(local)}); }
  const Stmt* set(std::size_t local, const Expr* v) {
    return ctx_.store(local_, v, std::vector<const Expr*>{i64(local)});
  }
  const Expr* word(std::size_t w) { return ctx_.load(ints_, std::vector<const Expr*>{i64(w)}); }
  const Stmt* set_word(std::size_t w, const Expr* v) { return ctx_.store(ints_, v, std::vector<const Expr*>{i64(w)}); }
  const Expr* binary(ir::BinaryKind kind, const Expr* a, const Expr* b) { return ctx_.binary(kind, a, b); }
  const Expr* both(const Expr* a, const Expr* b) { return b ? binary(ir::BinaryKind::And, a, b) : a; }
  const Stmt* count_up(std::size_t local) { return set(local, binary(ir::BinaryKind::Add, get(local), ctx_.i64(1))); }
  const Stmt* seq(std::vector<const Stmt*> parts) {
    std::erase(parts, nullptr);
    return ctx_.seq_stmt(parts);
  }
  // A statement that does nothing, where one is required.
  const Stmt* nothing() { return ctx_.evaluate(ctx_.i32(0)); }

  std::size_t slot_of(const ir::Node* key, bool is_float) {
    const auto [it, fresh] = out_.slots.try_emplace(key, is_float ? out_.floats : out_.ints);
    if (fresh) ++(is_float ? out_.floats : out_.ints);
    if (it->second >= std::size_t(Instrumented::kMaxWords)) throw Refused{"it has too many variables"};
    return it->second;
  }

  const Stmt* record(const Var* v, const Expr* value) {
    const bool is_float = v->dtype().is_float();
    const Expr* wide = ir::cast_to(ctx_, is_float ? DType::Float(64) : DType::Int(64), value);
    return ctx_.store(is_float ? floats_ : ints_, wide, std::vector<const Expr*>{i64(slot_of(v, is_float))});
  }

  // Reports the local words to the caller.
  const Stmt* report() {
    std::vector<const Stmt*> parts{set_word(Instrumented::Steps, get(kSteps))};
    for (std::size_t g = 0; g < groups_; ++g)
      for (const auto w : {Instrumented::Hits, Instrumented::Last})
        parts.push_back(set_word(Instrumented::group_word(g, w), get(group_local(g, w))));
    return seq(std::move(parts));
  }

  // The moment before a statement's step: reports the place if it is the one to stop at.
  const Stmt* site(const Stmt* s, bool init_done, const Var* instead = nullptr, const Expr* value = nullptr) {
    std::vector<const Stmt*> stop{report(), set_word(Instrumented::Stopped, ctx_.i64(1)),
                                  set_word(Instrumented::Site, i64(out_.sites.size()))};
    for (const Var* v : scope_) stop.push_back(record(v, v == instead ? value : v));
    std::vector<const ir::ForStmt*> loops;
    for (const auto& [loop, end] : ends_) {
      loops.push_back(loop);
      stop.push_back(set_word(slot_of(loop, false), ir::cast_to(ctx_, DType::Int(64), end)));
    }
    recorded_ += stop.size();
    if (recorded_ > kMaxRecorded) throw Refused{"it has too many statements"};
    const Stmt* leave = ctx_.evaluate(ctx_.intrin(DType::Int(32), ir::intrin::Ret, {}));
    stop.push_back(asks_ ? unless_refused(leave) : leave);
    out_.sites.push_back({s, init_done, scope_, std::move(loops)});
    return seq(
        {ctx_.if_stmt(binary(ir::BinaryKind::EQ, get(kSteps), get(kStopAt)), seq(std::move(stop))), count_up(kSteps)});
  }

  // Asks, if a probe does; if nobody stops here it goes on, with the arrivals that were counted.
  const Stmt* unless_refused(const Stmt* leave) {
    const Expr* name = ctx_.string(Instrumented::kAsk);
    const Var* stops = ctx_.var("rldb_stops", ctx_.prim(DType::Int(32)));
    std::vector<const Stmt*> go_on{set(kStopAt, word(Instrumented::StopAt)), set(kAsking, ctx_.i64(0)),
                                   set_word(Instrumented::Stopped, ctx_.i64(0))};
    for (std::size_t g = 0; g < groups_; ++g)
      for (const auto w : {Instrumented::Hits, Instrumented::Last})
        go_on.push_back(set(group_local(g, w), word(Instrumented::group_word(g, w))));
    const Stmt* ask = seq({set_word(Instrumented::Asking, get(kAsking)),
                           ctx_.bind(stops, ctx_.intrin(DType::Int(32), ir::intrin::TvmCallPacked, {name})),
                           ctx_.if_stmt(binary(ir::BinaryKind::NE, stops, ctx_.i32(0)), leave, seq(std::move(go_on)))});
    return ctx_.if_stmt(binary(ir::BinaryKind::EQ, get(kAsking), ctx_.i64(0)), leave, ask);
  }
  const Stmt* mark(std::int64_t bit) {
    return set(kAsking, ctx_.intrin(DType::Int(64), ir::intrin::BitwiseOr, {get(kAsking), ctx_.i64(bit)}));
  }

  // ---- probes ----

  const Stmt* arrival(std::size_t probe) {
    const Probe& p = probes_[probe];
    const Expr* counts = both(binary(ir::BinaryKind::GT, get(kSteps), get(kAfter)),
                              binary(ir::BinaryKind::LT, get(kSteps), get(kBefore)));
    const std::size_t pass = group_local(p.group, Instrumented::Pass), hits = group_local(p.group, Instrumented::Hits);
    const Stmt* here = set(kStopAt, get(kSteps));
    const Stmt* stop = ctx_.if_stmt(binary(ir::BinaryKind::EQ, get(hits), get(pass)),
                                    asks_ ? seq({here, mark(Instrumented::kCodeStops)}) : here);
    const Stmt* hit = seq({stop, count_up(hits), set(group_local(p.group, Instrumented::Last), get(kSteps))});
    if (p.condition) hit = seq({p.condition.before, ctx_.if_stmt(p.condition.holds, hit)});
    if (p.asks) hit = seq({here, mark(std::int64_t(1) << probe)});
    hit = ctx_.if_stmt(counts, hit);
    if (p.arrival != Probe::Arrival::NewValue) return hit;
    const std::size_t known = probe_local(probe), last = known + 1;
    const Expr* now = ir::cast_to(ctx_, DType::Int(64), p.axis);
    const Expr* differs = binary(ir::BinaryKind::Or, binary(ir::BinaryKind::EQ, get(known), ctx_.i64(0)),
                                 binary(ir::BinaryKind::NE, get(last), now));
    return ctx_.if_stmt(differs, seq({set(known, ctx_.i64(1)), set(last, now), hit}));
  }

  const Stmt* arrivals(const Stmt* at, std::initializer_list<Probe::Arrival> kinds) {
    std::vector<const Stmt*> parts;
    for (std::size_t i = 0; i < probes_.size(); ++i)
      if (probes_[i].at == at && std::find(kinds.begin(), kinds.end(), probes_[i].arrival) != kinds.end())
        parts.push_back(arrival(i));
    return parts.empty() ? nullptr : seq(std::move(parts));
  }
  const Stmt* before(const Stmt* at) { return arrivals(at, {Probe::Arrival::Statement}); }

  // ---- statements ----

  const Stmt* visit(const Stmt* s) {
    if (!s) return nullptr;
    if (const auto* st = as<ir::SeqStmt>(s)) return sequence(st);
    if (const auto* st = as<ir::ForStmt>(s)) return loop(st);
    if (const auto* st = as<ir::SBlockRealize>(s)) return block(st, st->block, st);
    if (const auto* st = as<ir::SBlock>(s)) return block(st, st, nullptr);
    if (const auto* st = as<ir::IfThenElse>(s)) {
      const Stmt* yes = visit(st->then_case);
      const Stmt* no = visit(st->else_case);
      return seq({before(s), site(s, false), ctx_.if_stmt(st->cond, yes ? yes : nothing(), no)});
    }
    if (const auto* st = as<ir::WhileStmt>(s)) return while_loop(st);
    if (const auto* st = as<ir::AttrStmt>(s)) return attribute(st);
    if (const auto* st = as<ir::AllocBuffer>(s)) return allocation(s, st->buffer);
    if (const auto* st = as<ir::DeclBuffer>(s); st && !st->data && !outer_.contains(st->buffer->data))
      return allocation(s, st->buffer);
    if (const auto* st = as<ir::AllocateStmt>(s)) return allocation(st);
    if (const auto* st = as<ir::Evaluate>(s); st && ir::is_call_of(st->value, ir::intrin::Ret))
      return seq({before(s), site(s, false), report(), s});
    return seq({before(s), site(s, false), s});
  }

  const Stmt* sequence(const ir::SeqStmt* s) {
    const std::size_t outside = scope_.size();
    std::vector<const Stmt*> parts;
    for (const Stmt* part : s->stmts) {
      parts.push_back(visit(part));
      const auto* b = as<ir::BindStmt>(part);
      if (!b) continue;
      if (as<ir::PointerType>(b->var->type)) {
        outer_.insert(b->var);
        continue;
      }
      if (b->var->dtype().lanes != 1) throw Refused{"it binds vectors"};
      scope_.push_back(b->var);
    }
    scope_.resize(outside);
    return parts.empty() ? nothing() : seq(std::move(parts));
  }

  const Stmt* loop(const ir::ForStmt* s) {
    const Stmt* begins = before(s);
    std::vector<const Stmt*> parts{begins};
    const Expr *min = s->min, *extent = s->extent;
    const bool from_memory = reads_memory(min) || reads_memory(extent);
    if (from_memory) {
      min = once(parts, "rldb_min", min);
      extent = once(parts, "rldb_extent", extent);
    }
    const std::size_t loops = ends_.size();
    if (from_memory) ends_.emplace_back(s, binary(ir::BinaryKind::Add, min, extent));
    // No iteration: the loop itself is a step.
    scope_.push_back(s->var);
    const Expr* none = binary(ir::BinaryKind::LE, extent, ctx_.int_imm(extent->dtype(), 0));
    parts.push_back(ctx_.if_stmt(none, site(s, false, s->var, min)));
    const Stmt* head = site(s, false);
    ++loop_depth_;
    const Stmt* body = seq({head, arrivals(s, {Probe::Arrival::Iteration}), visit(s->body)});
    --loop_depth_;
    scope_.pop_back();
    ends_.resize(loops);
    parts.push_back(ctx_.for_stmt(s->var, min, extent, ir::ForKind::Serial, body, {}, {}, s->step));
    return seq(std::move(parts));
  }

  const Expr* once(std::vector<const Stmt*>& parts, std::string_view name, const Expr* e) {
    const Var* v = ctx_.var(name, e->type);
    parts.push_back(ctx_.bind(v, e));
    return v;
  }

  const Stmt* while_loop(const ir::WhileStmt* s) {
    const Stmt* leave =
        ctx_.if_stmt(ctx_.not_(s->cond), ctx_.evaluate(ctx_.intrin(DType::Int(32), ir::intrin::BreakLoop, {})));
    ++loop_depth_;
    const Stmt* body = visit(s->body);
    --loop_depth_;
    return seq({before(s), ctx_.while_stmt(ctx_.bool_imm(true), seq({site(s, false), leave, body}))});
  }

  const Stmt* attribute(const ir::AttrStmt* s) {
    const Stmt* head = seq({before(s), site(s, false)});
    if (!s->thread_var) return seq({head, visit(s->body)});
    const Stmt* body = seq({arrivals(s, {Probe::Arrival::Iteration}), visit(s->body)});
    if (!ir::is_const(s->value, 1)) throw Refused{fmt::format("it launches threads `{}`", ir::thread_tag(s))};
    return seq({head, ctx_.attr_stmt(s->node, s->key, s->value, body ? body : nothing(), s->thread_var)});
  }

  const Stmt* block(const Stmt* s, const ir::SBlock* b, const ir::SBlockRealize* realize) {
    std::vector<const Stmt*> head{before(s), site(s, false)};
    const std::size_t outside = scope_.size();
    std::vector<const Stmt*> parts;
    const Expr* first = nullptr;  // every reduction axis is at its start
    if (realize) {
      for (std::size_t i = 0; i < b->iter_vars.size(); ++i) {
        const ir::IterVar& axis = b->iter_vars[i];
        parts.push_back(ctx_.bind(axis.var, ir::cast_to(ctx_, axis.var->dtype(), realize->iter_values[i])));
        scope_.push_back(axis.var);
        if (axis.kind != ir::IterKind::Reduce) continue;
        const Expr* start = ir::cast_to(ctx_, axis.var->dtype(), axis.dom.min);
        first = both(binary(ir::BinaryKind::EQ, axis.var, start), first);
      }
    }
    for (const ir::Buffer* buffer : b->alloc_buffers) hoist(buffer);
    parts.push_back(arrivals(s, {Probe::Arrival::Block, Probe::Arrival::NewValue}));
    if (b->init) {
      const Stmt* init = seq({visit(b->init), site(s, true)});
      parts.push_back(first ? ctx_.if_stmt(first, init) : init);
    }
    parts.push_back(visit(b->body));
    scope_.resize(outside);
    const Stmt* inside = seq(std::move(parts));
    if (!b->match_buffers.empty()) {
      ir::SBlock fields{};
      fields.name = b->name;
      fields.match_buffers = b->match_buffers;
      fields.body = inside;
      inside = ctx_.realize({}, ctx_.bool_imm(true), ctx_.sblock(fields));
    }
    const bool always = !realize || ir::is_const(realize->predicate, 1);
    head.push_back(always ? inside : ctx_.if_stmt(realize->predicate, inside));
    return seq(std::move(head));
  }

  // ---- allocations ----

  // Turns it into a parameter. Its shape has to be known before the kernel runs.
  void hoist(const ir::Buffer* b) {
    if (!b->strides.empty() || (b->elem_offset && !ir::is_const(b->elem_offset, 0)))
      throw Refused{fmt::format("its allocation `{}` is not compact", b->name)};
    need_outer(b->shape, b->name);
    extra_.push_back({b->data, b});
    out_.memory.push_back({b, {b->shape.begin(), b->shape.end()}, b->dtype});
    outer_.insert(b->data);
  }

  void need_outer(ir::Span<const Expr*> shape, std::string_view name) {
    std::vector<const Var*> vars;
    for (const Expr* d : shape) {
      ir::collect_vars(d, vars);
      if (reads_memory(d)) throw Refused{fmt::format("the size of `{}` comes from memory", name)};
    }
    for (const Var* v : vars)
      if (!outer_.contains(v)) throw Refused{fmt::format("the size of `{}` depends on `{}`", name, v->name)};
  }

  const Stmt* allocation(const Stmt* s, const ir::Buffer* b) {
    const Stmt* head = seq({before(s), site(s, false)});
    hoist(b);
    return loop_depth_ == 0 ? head : seq({head, zeros(b)});
  }

  const Stmt* allocation(const ir::AllocateStmt* s) {
    const Stmt* head = seq({before(s), site(s, false)});
    need_outer(s->extents, s->var->name);
    if (loop_depth_ > 0) throw Refused{fmt::format("`{}` is allocated in a loop", s->var->name)};
    extra_.push_back({s->var, nullptr});
    out_.memory.push_back({s->var, {s->extents.begin(), s->extents.end()}, s->dtype});
    outer_.insert(s->var);
    return head;
  }

  // An allocation inside a loop is new in each iteration, and new memory is zero.
  const Stmt* zeros(const ir::Buffer* b) {
    if (b->dtype.lanes != 1) throw Refused{fmt::format("`{}` holds vectors", b->name)};
    std::vector<const Var*> at;
    std::vector<const Expr*> indices;
    for (const Expr* d : b->shape) {
      at.push_back(ctx_.var("rldb_at", d->type));
      indices.push_back(at.back());
    }
    const Stmt* body = ctx_.store(b, ctx_.literal(b->dtype, 0), indices);
    for (std::size_t i = at.size(); i-- > 0;)
      body = ctx_.for_stmt(at[i], ctx_.int_imm(at[i]->dtype(), 0), b->shape[i], ir::ForKind::Serial, body);
    return body;
  }

  static constexpr std::size_t kMaxRecorded = 100'000;
  static constexpr std::size_t kMaxGroups = 32;

  ir::Context& ctx_;
  const ir::PrimFunc* f_;
  std::span<const Probe> probes_;
  std::size_t groups_ = 0;
  Instrumented out_;
  const ir::Buffer *ints_, *floats_, *local_;
  std::vector<ir::PrimParam> extra_;
  std::unordered_set<const ir::Buffer*> seen_;
  std::unordered_set<const Var*> outer_;  // variables known before the kernel runs
  std::vector<const Var*> scope_;
  std::vector<std::pair<const ir::ForStmt*, const Expr*>> ends_;
  int loop_depth_ = 0;
  bool asks_ = false;  // some probe
  std::size_t recorded_ = 0;
};

}  // namespace

support::Result<Instrumented, std::string> instrument(ir::Context& ctx, const ir::PrimFunc* f,
                                                      std::span<const Probe> probes) {
  try {
    return Instrumenter(ctx, f, probes).make();
  } catch (const Refused& refused) {
    return support::Failure(refused.why);
  }
}

}  // namespace rldb::debug
