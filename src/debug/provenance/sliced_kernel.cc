// SlicedKernel: a walk backwards through the iterations of a kernel that can write one element.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "debug/provenance/interval.h"
#include "debug/provenance/reads.h"
#include "rldb/ir/intrinsic.h"
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

runtime::Error cannot_slice(std::string_view why) {
  return {ErrorKind::Unsupported, fmt::format("iterations cannot be left out: {}", why), {}};
}

// The part of a kernel that the walk cannot follow; empty: it follows all.
std::string_view foreign_part(const ir::Node* n) {
  if (const auto* b = as<ir::SBlock>(n); b && !b->match_buffers.empty()) return "a block matches a part of a buffer";
  if (const auto* d = as<ir::DeclBuffer>(n); d && d->data && d->data != d->buffer->data) return "a computed pointer";
  if (as<ir::WhileStmt>(n)) return "a `while` loop";
  if (as<ir::LetExpr>(n)) return "a let inside an expression";
  if (const auto* loop = as<ir::ForStmt>(n); loop && loop->step) return "a loop with a step";
  const auto* store = as<ir::BufferStore>(n);
  if (store && (store->predicate || store->value->dtype().lanes != 1)) return "stores of vectors";
  const auto* load = as<ir::BufferLoad>(n);
  if (load && (load->predicate || load->dtype().lanes != 1)) return "loads of vectors";
  const ir::Buffer* buffer = store ? store->buffer : load ? load->buffer : nullptr;
  if (buffer && (!buffer->strides.empty() || (buffer->elem_offset && !as<ir::IntImm>(buffer->elem_offset) &&
                                              as<ir::Var>(buffer->elem_offset) == nullptr)))
    return "a buffer with strides";
  const auto* call = as<ir::Call>(n);
  const ir::IntrinsicInfo* row = call ? ir::called_intrinsic(call) : nullptr;
  if (call && (!row || row->purity == ir::IntrinsicPurity::Effect)) return "a call with effects";
  return {};
}

class SlicedKernel : public KernelWrites {
 public:
  SlicedKernel(const ir::PrimFunc* f, const std::vector<Value>& args) : f_(f), args_(args) {}

  Result<Unit> prepare() {
    std::string_view foreign;
    std::set<std::string_view> tags;
    ir::walk(f_->body, [&](const ir::Node* n) {
      if (foreign.empty()) foreign = foreign_part(n);
      if (const auto* store = as<ir::BufferStore>(n)) written_.insert(store->buffer->data);
      return foreign.empty();
    });
    if (foreign.empty() && ir::threads_wait(f_->body)) foreign = "threads wait for each other";
    if (!foreign.empty()) return support::Failure(cannot_slice(foreign));
    eval::TirMachine machine(f_, nullptr);
    RLDB_TRY_VOID(machine.start(args_));
    for (auto& [v, value] : machine.variables())
      if (value.is(ValueKind::Int) || value.is(ValueKind::Bool)) known_[v] = Interval::of(value.as_int());
    for (auto& [b, value] : machine.buffers())
      if (value.is(ValueKind::Tensor)) tensors_.emplace(b->data, value);
    return arguments_apart();
  }

  Result<Unit> visit(const MemoryPlace& place, const Moment* before, const Visit& f) override {
    target_ = place;
    before_ = before;
    visit_ = &f;
    moment_.clear();
    conditions_.clear();
    problem_.reset();
    (void)walk(f_->body, before != nullptr);
    if (problem_) return support::Failure(*std::move(problem_));
    return Unit{};
  }

 private:
  // An argument that is written and lies over another one would have two names.
  Result<Unit> arguments_apart() const {
    for (const ir::PrimParam& p : f_->params)
      if (p.buffer && !tensors_.contains(p.buffer->data)) return support::Failure(cannot_slice("an argument"));
    for (const auto& [data, value] : tensors_) {
      if (!written_.contains(data)) continue;
      for (const auto& [other, with] : tensors_) {
        const Tensor &a = value.as_tensor(), &b = with.as_tensor();
        if (data != other && a.storage() == b.storage() && a.byte_offset() < b.byte_offset() + b.byte_size() &&
            b.byte_offset() < a.byte_offset() + a.byte_size())
          return support::Failure(cannot_slice("arguments share memory"));
      }
    }
    return Unit{};
  }

  // ---- values ----
  Interval range_of(const ir::Expr* e) const {
    return interval_of(e, known_, [this](const ir::Expr* x) { return exactly(x); });
  }
  // By the evaluator, from variables with one value and memory that the kernel leaves alone.
  std::optional<std::int64_t> exactly(const ir::Expr* e) const {
    if (e->dtype().is_float() || e->dtype().lanes != 1) return std::nullopt;
    bool possible = true;
    ir::walk(e, [&](const ir::Node* n) {
      const auto* v = as<ir::Var>(n);
      const auto* load = as<ir::BufferLoad>(n);
      if (load) possible = possible && !written_.contains(load->buffer->data) && tensors_.contains(load->buffer->data);
      if (v && v->dtype().is_integral()) {
        const auto it = known_.find(v);
        possible = possible && it != known_.end() && it->second.is_point();
      } else if (v && v->dtype().is_float()) {
        possible = false;  // a let
      }
      return possible;
    });
    if (!possible) return std::nullopt;
    const auto value = eval::eval_scalar(e, {[this](const ir::Var* v) -> std::optional<Value> {
                                               const auto it = known_.find(v);
                                               if (it == known_.end()) return std::nullopt;
                                               return Value::of_int(it->second.low);
                                             },
                                             [this](const ir::Buffer* b) -> std::optional<Value> {
                                               const auto it = tensors_.find(b->data);
                                               return it == tensors_.end() ? std::nullopt : std::optional(it->second);
                                             }});
    if (!value.ok()) return std::nullopt;
    return value->as_int();
  }
  std::optional<std::int64_t> point(const ir::Expr* e) const {
    const Interval i = range_of(e);
    return i.is_point() ? std::optional(i.low) : std::nullopt;
  }
  std::int64_t needed(const ir::Expr* e) {
    const auto value = point(e);
    if (!value) fail("an index or condition depends on what it writes");
    return value.value_or(0);
  }
  void fail(std::string_view why) {
    if (!problem_) problem_ = cannot_slice(why);
  }

  // The element's first byte, as an interval.
  Interval bytes_of(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const {
    Interval at = Interval::of(0);
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const Interval extent = d < b->shape.size() ? range_of(b->shape[d]) : Interval{};
      const Interval i = range_of(indices[d]);
      if (d > 0 && (!extent.is_point() || at.low < 0)) return {};
      if (i.low <= Interval::kLow || i.high >= Interval::kHigh) return {};
      at = d == 0 ? i : Interval{at.low * extent.low + i.low, at.high * extent.low + i.high};
    }
    const std::int64_t width = std::int64_t(b->dtype.bytes());
    const std::int64_t base = base_of(b);
    return {at.low * width + base, at.high * width + base};
  }
  std::int64_t base_of(const ir::Buffer* b) const {
    const auto it = tensors_.find(b->data);
    const auto* offset = b->elem_offset ? as<ir::IntImm>(b->elem_offset) : nullptr;
    return (it == tensors_.end() ? 0 : std::int64_t(it->second.as_tensor().byte_offset())) +
           (offset ? offset->value * std::int64_t(b->dtype.bytes()) : 0);
  }
  const void* memory_of(const ir::Buffer* b) const {
    const auto it = tensors_.find(b->data);
    return it == tensors_.end() ? static_cast<const void*>(b->data) : it->second.as_tensor().storage().get();
  }
  std::optional<MemoryPlace> place_of(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const {
    const Interval at = bytes_of(b, indices);
    return at.is_point() ? std::optional(MemoryPlace{memory_of(b), at.low}) : std::nullopt;
  }
  // Each index by itself: the interval of the position alone would keep every row.
  bool may_be_target(const ir::BufferStore* s) const {
    if (memory_of(s->buffer) != target_.memory || !bytes_of(s->buffer, s->indices).contains(target_.byte)) return false;
    std::int64_t rest = (target_.byte - base_of(s->buffer)) / std::int64_t(s->buffer->dtype.bytes());
    for (std::size_t d = s->indices.size(); d-- > 1;) {
      const Interval extent = range_of(s->buffer->shape[d]);
      if (!extent.is_point() || extent.low <= 0) return true;
      if (!range_of(s->indices[d]).contains(rest % extent.low)) return false;
      rest /= extent.low;
    }
    return s->indices.empty() || range_of(s->indices[0]).contains(rest);
  }

  // ---- whether a statement may write the element, with loop variables in intervals ----
  bool may_write(const ir::Stmt* s) {
    if (const auto* store = as<ir::BufferStore>(s)) return may_be_target(store);
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
      const Interval c = range_of(branch->cond);
      return (c.high > 0 && may_write(branch->then_case)) ||
             (c.low <= 0 && branch->else_case && may_write(branch->else_case));
    }
    if (const auto* realize = as<ir::SBlockRealize>(s)) {
      set_axes(realize);
      if (range_of(realize->predicate).high <= 0) return false;
      return (realize->block->init && may_write(realize->block->init)) || may_write(realize->block->body);
    }
    return false;
  }
  bool in_loop(const ir::Var* v, const ir::Expr* min, const ir::Expr* extent, const ir::Stmt* body) {
    const Interval first = min ? range_of(min) : Interval::of(0), count = range_of(extent);
    if (count.high <= 0) return false;
    known_[v] = count.high >= Interval::kHigh || first.high >= Interval::kHigh
                    ? Interval{first.low, Interval::kHigh}
                    : Interval{first.low, first.high + count.high - 1};
    return may_write(body);
  }
  void set_axes(const ir::SBlockRealize* r) {
    for (std::size_t i = 0; i < r->iter_values.size(); ++i)
      known_[r->block->iter_vars[i].var] = range_of(r->iter_values[i]);
  }

  // ---- backwards; true: the visitor has seen enough, or there is a problem. `tight`: the moment so far is a prefix of
  // the one before which to look ----
  bool walk(const ir::Stmt* s, bool tight) {
    if (problem_) return true;
    if (const auto* store = as<ir::BufferStore>(s)) return !tight && at_store(store);
    if (const auto* seq = as<ir::SeqStmt>(s)) return walk_seq(seq, tight);
    if (const auto* loop = as<ir::ForStmt>(s)) {
      const std::int64_t first = needed(loop->min);
      return walk_loop({loop->var, first, loop->body}, needed(loop->extent), tight);
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
    if (needed(r->predicate) == 0) return problem_.has_value();
    conditions_.push_back(r->predicate);
    bool done = at(1, tight, [&](bool still) { return walk(r->block->body, still); });
    set_axes(r);
    if (!done && r->block->init && starts_reduction(r))
      done = at(0, tight, [&](bool still) { return walk(r->block->init, still); });
    conditions_.pop_back();
    return done;
  }
  bool starts_reduction(const ir::SBlockRealize* r) {
    for (const ir::IterVar& axis : r->block->iter_vars)
      if (axis.kind == ir::IterKind::Reduce && needed(axis.var) != needed(axis.dom.min)) return false;
    return true;
  }

  bool at_store(const ir::BufferStore* s) {
    if (memory_of(s->buffer) != target_.memory) return false;
    const auto place = place_of(s->buffer, s->indices);
    if (!place) fail("an index depends on what it writes");
    if (problem_ || place->byte != target_.byte) return problem_.has_value();
    KernelWrite write;
    write.moment = moment_;
    write.store = s;
    for (const ir::Var* v : loops_) write.loops.emplace_back(v, known_[v].low);
    const ReadScope scope{[this](const ir::Buffer* b, ir::Span<const ir::Expr*> i) { return place_of(b, i); },
                          [this](const ir::Var* v) -> const ir::Expr* {
                            const auto it = lets_.find(v);
                            return it == lets_.end() ? nullptr : it->second;
                          },
                          [this](const ir::Expr* e) { return point(e); }};
    bool all = collect_reads(s->value, ReadRole::Value, nullptr, scope, write.reads);
    all = collect_indices(s->indices, scope, write.reads) && all;
    for (const ir::Expr* c : conditions_) all = collect_reads(c, ReadRole::Condition, c, scope, write.reads) && all;
    if (!all) fail("what it reads depends on what it writes");
    return problem_ || !(*visit_)(write);
  }

  const ir::PrimFunc* f_;
  const std::vector<Value>& args_;
  std::set<const ir::Var*> written_;                   // pointers of buffers that are stored to
  std::unordered_map<const ir::Var*, Value> tensors_;  // of arguments, by the buffer's pointer
  Intervals known_;
  std::unordered_map<const ir::Var*, const ir::Expr*> lets_;
  std::vector<const ir::Var*> loops_;
  std::set<const ir::Var*> inside_;
  std::vector<const ir::Expr*> conditions_;
  MemoryPlace target_;
  const Moment* before_ = nullptr;
  const Visit* visit_ = nullptr;
  Moment moment_;
  std::optional<runtime::Error> problem_;
};

}  // namespace

Result<std::unique_ptr<KernelWrites>> sliced_kernel(const ir::PrimFunc* f, const std::vector<Value>& args) {
  auto kernel = std::make_unique<SlicedKernel>(f, args);
  RLDB_TRY_VOID(kernel->prepare());
  return std::unique_ptr<KernelWrites>(std::move(kernel));
}

}  // namespace rldb::debug
