// SlicedKernel: a walk backwards through the iterations of a kernel that can write one element.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "debug/provenance/kernel_scope.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using ir::as;
using runtime::ErrorKind;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

namespace {

class SlicedKernel : public KernelWrites, private KernelScope {
 public:
  using KernelScope::KernelScope;
  using KernelScope::prepare;

  Result<Unit> visit(const MemoryPlace& place, const Moment* before, const Visit& f) override {
    target_ = place;
    before_ = before;
    visit_ = &f;
    prevented_ = nullptr;
    return walk_all();
  }

  Result<Unit> visit_prevented(const MemoryPlace& place, const VisitPrevented& f) override {
    if (!has_conditions(f_)) return Unit{};
    target_ = place;
    before_ = nullptr;
    prevented_ = &f;
    blocked_by_ = nullptr;
    steps_ = 0;
    return walk_all();
  }

 private:
  Result<Unit> walk_all() {
    moment_.clear();
    conditions_.clear();
    bounds_.clear();
    problem_.reset();
    (void)walk(f_->body, before_ != nullptr);
    if (problem_) return support::Failure(*std::move(problem_));
    return Unit{};
  }

  // ---- whether a statement may write the element, with loop variables in intervals ----
  bool may_write(const ir::Stmt* s) {
    if (const auto* store = as<ir::BufferStore>(s)) return may_be(target_, store->buffer, store->indices);
    if (const auto* seq = as<ir::SeqStmt>(s)) {
      for (const ir::Stmt* child : seq->stmts) {
        if (const auto* let = as<ir::BindStmt>(child)) known_[let->var] = range_of(let->value);
        if (may_write(child)) return true;
      }
      return false;
    }
    if (const auto* loop = as<ir::ForStmt>(s)) return in_loop(loop->var, loop->min, loop->extent, loop->body);
    if (const auto* attr = as<ir::AttrStmt>(s))
      return attr->thread_var ? in_loop(attr->thread_var, nullptr, attr->value, attr->body) : may_write(attr->body);
    if (const auto* branch = as<ir::IfThenElse>(s)) {
      const Interval c = condition(branch->cond);
      return (c.high > 0 && may_write(branch->then_case)) ||
             (c.low <= 0 && branch->else_case && may_write(branch->else_case));
    }
    if (const auto* realize = as<ir::SBlockRealize>(s)) {
      set_axes(realize);
      if (condition(realize->predicate).high <= 0) return false;
      return (realize->block->init && may_write(realize->block->init)) || may_write(realize->block->body);
    }
    return false;
  }
  // A store that was prevented is behind one that did not hold.
  Interval condition(const ir::Expr* e) const { return prevented_ ? Interval{0, 1} : range_of(e); }
  bool in_loop(const ir::Var* v, const ir::Expr* min, const ir::Expr* extent, const ir::Stmt* body) {
    const auto all = whole_loop(min, extent);
    if (!all) return false;
    known_[v] = *all;
    return may_write(body);
  }

  // ---- backwards; true: the visitor has seen enough, or there is a problem. `tight`: the moment so far is a prefix of
  // the one before which to look ----
  bool walk(const ir::Stmt* s, bool tight) {
    if (problem_) return true;
    if (const auto* store = as<ir::BufferStore>(s)) return !tight && at_store(store);
    if (const auto* seq = as<ir::SeqStmt>(s)) return walk_seq(seq, tight);
    if (const auto* loop = as<ir::ForStmt>(s)) {
      const std::int64_t first = needed(loop->min);
      const std::size_t outer = bounds_.size();
      for (const ir::Expr* e : {loop->min, loop->extent})
        if (has_loads(e)) bounds_.push_back(e);
      const bool done = walk_loop({loop->var, first, loop->body}, needed(loop->extent), tight);
      bounds_.resize(outer);
      return done;
    }
    if (const auto* attr = as<ir::AttrStmt>(s))
      return attr->thread_var ? walk_loop({attr->thread_var, 0, attr->body}, needed(attr->value), tight)
                              : walk(attr->body, tight);
    if (const auto* branch = as<ir::IfThenElse>(s)) return walk_if(branch, tight);
    if (const auto* realize = as<ir::SBlockRealize>(s)) return walk_block(realize, tight);
    return false;
  }
  bool walk_seq(const ir::SeqStmt* seq, bool tight) {
    for (const ir::Stmt* child : seq->stmts)
      if (const auto* let = as<ir::BindStmt>(child)) {
        known_[let->var] = range_of(let->value);
        lets_[let->var] = let->value;
      }
    for (std::size_t i = seq->stmts.size(); i-- > 0;)
      if (at(std::int64_t(i), tight, [&](bool still) { return walk(seq->stmts[i], still); })) return true;
    return false;
  }
  // Follows a part of the moment, unless it is not before the one asked about.
  template <class F>
  bool at(std::int64_t part, bool tight, F follow) {
    const std::size_t depth = moment_.size();
    if (tight && depth < before_->size() && part > (*before_)[depth]) return false;
    const bool still = tight && depth < before_->size() && part == (*before_)[depth];
    moment_.push_back(part);
    const bool done = follow(still);
    moment_.pop_back();
    return done;
  }
  struct Loop {
    const ir::Var* var;
    std::int64_t first;
    const ir::Stmt* body;
  };
  bool walk_loop(const Loop& loop, std::int64_t count, bool tight) {
    if (problem_) return true;
    const auto outer = known_.find(loop.var);
    if (ir::threads_wait(loop.body) || (outer != known_.end() && inside_.contains(loop.var))) fail("its threads");
    inside_.insert(loop.var);
    loops_.push_back(loop.var);
    const bool done = walk_range(loop, 0, count - 1, tight);
    loops_.pop_back();
    inside_.erase(loop.var);
    return done;
  }
  bool walk_range(const Loop& loop, std::int64_t low, std::int64_t high, bool tight) {
    support::poll();
    constexpr std::uint64_t kMostSteps = 50'000;
    if (prevented_ && ++steps_ > kMostSteps) fail("too many iterations");
    if (tight && moment_.size() < before_->size()) high = std::min(high, (*before_)[moment_.size()]);
    if (low > high || problem_) return problem_.has_value();
    known_[loop.var] = {loop.first + low, loop.first + high};
    if (!may_write(loop.body)) return false;
    known_[loop.var] = {loop.first + low, loop.first + high};
    if (low == high) return at(low, tight, [&](bool still) { return walk(loop.body, still); });
    const std::int64_t middle = low + (high - low) / 2;
    return walk_range(loop, middle + 1, high, tight) || walk_range(loop, low, middle, tight);
  }
  bool walk_if(const ir::IfThenElse* branch, bool tight) {
    if (!may_write(branch)) return false;
    if (prevented_) return walk_sides(branch->cond, branch->then_case, branch->else_case, tight);
    const bool yes = needed(branch->cond) != 0;
    const ir::Stmt* taken = yes ? branch->then_case : branch->else_case;
    if (!taken || problem_) return problem_.has_value();
    conditions_.push_back(branch->cond);
    const bool done = walk(taken, tight);
    conditions_.pop_back();
    return done;
  }
  bool walk_block(const ir::SBlockRealize* r, bool tight) {
    set_axes(r);
    if (!may_write(r)) return false;
    set_axes(r);
    if (prevented_)
      return at(1, tight, [&](bool still) { return walk_sides(r->predicate, r->block->body, nullptr, still); });
    if (needed(r->predicate) == 0) return problem_.has_value();
    conditions_.push_back(r->predicate);
    bool done = at(1, tight, [&](bool still) { return walk(r->block->body, still); });
    set_axes(r);
    if (!done && r->block->init && starts_reduction(r))
      done = at(0, tight, [&](bool still) { return walk(r->block->init, still); });
    conditions_.pop_back();
    return done;
  }
  // Both sides of a condition: the one that was not executed is blocked. Behind a blocked one, values of other
  // conditions mean little (`i < n and a[i] > 0`): only those that are known are looked at.
  bool walk_sides(const ir::Expr* c, const ir::Stmt* yes, const ir::Stmt* no, bool tight) {
    const Interval value = range_of(c);
    if (!blocked_by_ && !value.is_point() && value.low <= 0 && value.high > 0) (void)needed(c);
    if (problem_) return true;
    const bool may_hold = value.high > 0, may_fail = value.low <= 0;
    if (blocked_by_) return (may_fail && no && walk(no, tight)) || (may_hold && yes && walk(yes, tight));
    const ir::Stmt *taken = may_fail ? no : yes, *other = may_fail ? yes : no;
    bool done = false;
    // Where each side stores the element, nothing is left out: the condition is one of the write that is made.
    if (other && !(taken && may_write(taken))) {
      blocked_by_ = c;
      done = walk(other, tight);
      blocked_by_ = nullptr;
    }
    return done || (taken && walk(taken, tight));
  }
  bool at_prevented(const ir::BufferStore* s) {
    const auto place = blocked_by_ ? place_of(s->buffer, s->indices) : std::nullopt;
    if (!place || place->byte != target_.byte) return false;
    PreventedStore store{moment_, s, {}, blocked_by_, {}};
    for (const ir::Var* v : loops_) store.loops.emplace_back(v, known_[v].low);
    if (!collect_reads(blocked_by_, ReadRole::Condition, blocked_by_, reads(), store.reads))
      fail("what it reads depends on what it writes");
    // One of loop variables alone (`if k == 0`) is the program's, whatever the data.
    if (!problem_ && store.reads.empty()) return false;
    return problem_ || !(*prevented_)(store);
  }
  bool at_store(const ir::BufferStore* s) {
    if (memory_of(s->buffer) != target_.memory) return false;
    if (prevented_) return at_prevented(s);
    const auto place = place_of(s->buffer, s->indices);
    if (!place) fail("an index depends on what it writes");
    if (problem_ || place->byte != target_.byte) return problem_.has_value();
    KernelWrite write;
    write.moment = moment_;
    write.store = s;
    for (const ir::Var* v : loops_) write.loops.emplace_back(v, known_[v].low);
    const ReadScope scope = reads();
    bool all = collect_reads(s->value, ReadRole::Value, nullptr, scope, write.reads);
    all = collect_indices(s->indices, scope, write.reads) && all;
    for (const ir::Expr* c : conditions_) all = collect_reads(c, ReadRole::Condition, c, scope, write.reads) && all;
    for (const ir::Expr* e : bounds_) all = collect_reads(e, ReadRole::Bound, e, scope, write.reads) && all;
    if (!all) fail("what it reads depends on what it writes");
    return problem_ || !(*visit_)(write);
  }

  std::vector<const ir::Var*> loops_;
  std::set<const ir::Var*> inside_;
  std::vector<const ir::Expr*> conditions_, bounds_;
  MemoryPlace target_;
  const Moment* before_ = nullptr;
  const Visit* visit_ = nullptr;
  const VisitPrevented* prevented_ = nullptr;  // null: the stores that are made are visited
  const ir::Expr* blocked_by_ = nullptr;       // the first condition on the way that did not hold
  std::uint64_t steps_ = 0;
  Moment moment_;
};

}  // namespace

Result<std::unique_ptr<KernelWrites>> sliced_kernel(const ir::PrimFunc* f, const std::vector<Value>& args) {
  auto kernel = std::make_unique<SlicedKernel>(f, args);
  RLDB_TRY_VOID(kernel->prepare());
  return std::unique_ptr<KernelWrites>(std::move(kernel));
}

}  // namespace rldb::debug
