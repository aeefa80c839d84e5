// ForwardKernel: a walk through the iterations of a kernel that read or overwrite marked bytes.
#include "debug/provenance/kernel_reach.h"

#include <fmt/format.h>

#include <algorithm>

#include "debug/provenance/kernel_scope.h"
#include "debug/provenance/sorting_kernel.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using ir::as;
using runtime::ErrorKind;
using runtime::Result;
using runtime::Value;
using support::Unit;

namespace {

constexpr std::uint64_t kMaxStores = 2'000'000;  // that are looked at one by one

// Of a buffer of vectors, the lanes are written one by one.
std::int64_t width_of(const ir::Buffer* b) { return std::int64_t(b->dtype.element().bytes()); }

void mark(const MemoryPlace& place, std::int64_t width, bool is_marked, KernelReach& reach) {
  for (MemorySet* set : {&reach.marked, &reach.written})
    if (is_marked)
      set->add(place.memory, place.byte, place.byte + width);
    else
      set->remove(place.memory, place.byte, place.byte + width);
}

// Marks or unmarks what a write has written.
void apply(const MemoryPlace& place, std::int64_t width, const std::vector<KernelRead>& reads, KernelReach& reach) {
  bool own = false, other = false;
  for (const KernelRead& r : reads) {
    const bool marked = r.at ? r.was_marked : reach.marked.overlaps(r.place.memory, r.place.byte, r.place.byte + 1);
    if (r.place == place && r.role == ReadRole::Value && !r.at)
      own = own || marked;
    else
      other = other || marked;
  }
  mark(place, width, own || other, reach);
}

// Does the store add to its own element? Then it leaves the mark on it as it was.
bool is_own(const ir::BufferLoad* load, const ir::BufferStore* store) {
  if (load->buffer != store->buffer || load->indices.size() != store->indices.size()) return false;
  for (std::size_t i = 0; i < load->indices.size(); ++i)
    if (load->indices[i] != store->indices[i] && !ir::expr_equal(load->indices[i], store->indices[i])) return false;
  return true;
}

class ForwardKernel : private KernelScope {
 public:
  using KernelScope::KernelScope;
  using KernelScope::prepare;

  Result<KernelReach> run(const MemorySet& marked) {
    before_ = marked;
    reach_.marked = marked;
    walk(f_->body);
    if (problem_) return support::Failure(*std::move(problem_));
    return std::move(reach_);
  }

 private:
  // ---- whether a statement may read or overwrite marked bytes, with loop variables in intervals ----
  bool may_hit(const MemorySet& marked, const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const {
    constexpr std::size_t kFew = 4;
    const void* memory = memory_of(b);
    const Interval at = bytes_of(b, indices);
    const std::vector<MemorySet::Piece> pieces = marked.in(memory, at.low, at.high + width_of(b), kFew + 1);
    if (pieces.size() > kFew) return true;
    return std::any_of(pieces.begin(), pieces.end(), [&](const MemorySet::Piece& p) {
      return p.end - p.begin != width_of(b) || may_be({memory, p.begin}, b, indices);
    });
  }
  bool may_read(const ir::Expr* e, const ir::BufferStore* of = nullptr) const {
    bool hit = false;
    ir::walk(e, [&](const ir::Node* n) {
      const auto* load = as<ir::BufferLoad>(n);
      const auto* v = as<ir::Var>(n);
      if (load && !(of && is_own(load, of))) hit = hit || may_hit(reach_.marked, load->buffer, load->indices);
      if (const auto let = v ? lets_.find(v) : lets_.end(); let != lets_.end()) hit = hit || may_read(let->second, of);
      return !hit;
    });
    return hit;
  }
  bool adds_to_own(const ir::BufferStore* store) const {
    bool own = false;
    ir::walk(store->value, [&](const ir::Node* n) {
      const auto* load = as<ir::BufferLoad>(n);
      own = own || (load && is_own(load, store));
      return !own;
    });
    return own;
  }
  bool concerns_store(const ir::BufferStore* s) const {
    if (decided_by_marked_ > 0) return true;
    if (may_read(s->value, s)) return true;
    for (const ir::Expr* i : s->indices)
      if (may_read(i)) return true;
    // A store that adds to its own element leaves it as it was: it has to be seen only once.
    return may_hit(adds_to_own(s) ? before_ : reach_.marked, s->buffer, s->indices);
  }
  bool concerns(const ir::Stmt* s) {
    if (const auto* store = as<ir::BufferStore>(s)) return concerns_store(store);
    if (const auto* seq = as<ir::SeqStmt>(s)) return concerns_seq(seq);
    if (const auto* loop = as<ir::ForStmt>(s)) return in_loop(loop->var, loop->min, loop->extent, loop->body);
    if (const auto* attr = as<ir::AttrStmt>(s))
      return attr->thread_var ? in_loop(attr->thread_var, nullptr, attr->value, attr->body) : concerns(attr->body);
    if (const auto* branch = as<ir::IfThenElse>(s)) {
      if (may_read(branch->cond)) return true;
      const Interval c = range_of(branch->cond);
      return (c.high > 0 && concerns(branch->then_case)) ||
             (c.low <= 0 && branch->else_case && concerns(branch->else_case));
    }
    if (const auto* realize = as<ir::SBlockRealize>(s)) {
      set_axes(realize);
      if (may_read(realize->predicate)) return true;
      if (range_of(realize->predicate).high <= 0) return false;
      const bool begins = realize->block->init && may_start_reduction(realize);
      return (begins && concerns(realize->block->init)) || concerns(realize->block->body);
    }
    return false;
  }
  bool concerns_seq(const ir::SeqStmt* seq) {
    for (const ir::Stmt* child : seq->stmts) {
      note_let(child);
      if (concerns(child)) return true;
    }
    return false;
  }
  void note_let(const ir::Stmt* s) {
    const auto* let = as<ir::BindStmt>(s);
    if (!let) return;
    known_[let->var] = range_of(let->value);
    lets_[let->var] = let->value;
  }
  bool in_loop(const ir::Var* v, const ir::Expr* min, const ir::Expr* extent, const ir::Stmt* body) {
    if ((min && may_read(min)) || may_read(extent)) return true;
    const auto all = whole_loop(min, extent);
    if (!all) return false;
    known_[v] = *all;
    return concerns(body);
  }

  // ---- forwards ----
  void walk(const ir::Stmt* s) {
    if (problem_) return;
    if (const auto* store = as<ir::BufferStore>(s)) return at_store(store);
    if (const auto* seq = as<ir::SeqStmt>(s)) {
      for (const ir::Stmt* child : seq->stmts) {
        note_let(child);
        walk(child);
      }
    } else if (const auto* loop = as<ir::ForStmt>(s)) {
      const std::int64_t first = needed(loop->min);
      const std::size_t outer = bounds_.size();
      for (const ir::Expr* e : {loop->min, loop->extent})
        if (has_loads(e)) bounds_.push_back(e);
      const bool marked = may_read(loop->min) || may_read(loop->extent);
      decided_by_marked_ += marked;
      walk_loop({loop->var, first, loop->body}, needed(loop->extent));
      decided_by_marked_ -= marked;
      bounds_.resize(outer);
    } else if (const auto* attr = as<ir::AttrStmt>(s)) {
      if (attr->thread_var)
        walk_loop({attr->thread_var, 0, attr->body}, needed(attr->value));
      else
        walk(attr->body);
    } else if (const auto* branch = as<ir::IfThenElse>(s)) {
      walk_if(branch);
    } else if (const auto* realize = as<ir::SBlockRealize>(s)) {
      walk_block(realize);
    }
  }
  struct Loop {
    const ir::Var* var;
    std::int64_t first;
    const ir::Stmt* body;
  };
  void walk_loop(const Loop& loop, std::int64_t count) {
    if (problem_) return;
    if (ir::threads_wait(loop.body) || inside_.contains(loop.var)) return fail("its threads");
    inside_.insert(loop.var);
    walk_range(loop, 0, count - 1);
    inside_.erase(loop.var);
  }
  void walk_range(const Loop& loop, std::int64_t low, std::int64_t high) {
    support::poll();
    if (low > high || problem_) return;
    known_[loop.var] = {loop.first + low, loop.first + high};
    if (!concerns(loop.body)) return;
    known_[loop.var] = {loop.first + low, loop.first + high};
    if (low == high) return walk(loop.body);
    const std::int64_t middle = low + (high - low) / 2;
    walk_range(loop, low, middle);
    walk_range(loop, middle + 1, high);
  }
  void walk_if(const ir::IfThenElse* branch) {
    if (!concerns(branch)) return;
    const ir::Stmt* taken = needed(branch->cond) != 0 ? branch->then_case : branch->else_case;
    if (!taken || problem_) return;
    const bool marked = may_read(branch->cond);
    decided_by_marked_ += marked;
    conditions_.push_back(branch->cond);
    walk(taken);
    conditions_.pop_back();
    decided_by_marked_ -= marked;
  }
  void walk_block(const ir::SBlockRealize* r) {
    set_axes(r);
    if (!concerns(r)) return;
    set_axes(r);
    if (needed(r->predicate) == 0 || problem_) return;
    const bool marked = may_read(r->predicate);
    decided_by_marked_ += marked;
    conditions_.push_back(r->predicate);
    if (r->block->init && starts_reduction(r)) walk(r->block->init);
    set_axes(r);
    walk(r->block->body);
    conditions_.pop_back();
    decided_by_marked_ -= marked;
  }
  void at_store(const ir::BufferStore* s) {
    if (++stores_ > kMaxStores) {
      problem_ = runtime::Error{
          ErrorKind::Unsupported, fmt::format("more than {} of its stores are concerned", kMaxStores), {}};
      return;
    }
    const auto place = place_of(s->buffer, s->indices);
    std::vector<KernelRead> read;
    bool all = place.has_value() && collect_reads(s->value, ReadRole::Value, nullptr, reads(), read);
    all = all && collect_indices(s->indices, reads(), read);
    for (const ir::Expr* c : conditions_) all = all && collect_reads(c, ReadRole::Condition, c, reads(), read);
    for (const ir::Expr* e : bounds_) all = all && collect_reads(e, ReadRole::Bound, e, reads(), read);
    if (!all) return fail("what it reads depends on what it writes");
    apply(*place, width_of(s->buffer), read, reach_);
  }

  std::set<const ir::Var*> inside_;
  std::vector<const ir::Expr*> conditions_, bounds_;
  int decided_by_marked_ = 0;  // conditions and bounds around that read marked bytes: every store below is concerned
  MemorySet before_;
  KernelReach reach_;
  std::uint64_t stores_ = 0;
};

// A row of an output along the axis depends on the same elements throughout: those of its first one.
Result<KernelReach> sorting_reach(const ir::PrimFunc* f, const SortingCall& sorting, const std::vector<Value>& args,
                                  const MemorySet& marked) {
  KernelReach reach{marked, {}};
  const auto kernel = sorting_kernel(f, args);
  for (std::size_t a = sorting.first_output; kernel && a < sorting.arrays.size(); ++a) {
    const runtime::Tensor& t = args[sorting.arrays[a]].as_tensor();
    const std::int64_t width = std::int64_t(t.dtype().bytes()), extent = t.shape()[std::size_t(sorting.axis)];
    std::int64_t inner = 1;
    for (std::size_t d = std::size_t(sorting.axis) + 1; d < t.shape().size(); ++d) inner *= t.shape()[d];
    const auto place_at = [&](std::int64_t i) {
      return MemoryPlace{t.storage().get(), std::int64_t(t.byte_offset()) + i * width};
    };
    for (std::int64_t first = 0; extent > 0 && first < t.element_count(); ++first) {
      if (first / inner % extent != 0) continue;
      support::poll();
      const auto seen = kernel->visit(place_at(first), nullptr, [&](const KernelWrite& w) {
        const bool depends = std::any_of(w.reads.begin(), w.reads.end(), [&](const KernelRead& r) {
          return marked.overlaps(r.place.memory, r.place.byte, r.place.byte + 1);
        });
        for (std::int64_t k = 0; k < extent; ++k) mark(place_at(first + k * inner), width, depends, reach);
        return false;
      });
      if (!seen.ok()) return support::Failure(seen.error());
    }
  }
  return reach;
}

}  // namespace

Result<KernelReach> sliced_reach(const ir::PrimFunc* f, const std::vector<Value>& args, const MemorySet& marked) {
  ForwardKernel kernel(f, args);
  RLDB_TRY_VOID(kernel.prepare());
  return kernel.run(marked);
}

Result<KernelReach> recorded_reach(const ir::PrimFunc* f, const std::vector<Value>& args, const MemorySet& marked) {
  KernelReach reach{marked, {}};
  const auto see = [&](const MemoryPlace& place, const KernelWrite& w) {
    apply(place, width_of(w.store->buffer), w.reads, reach);
  };
  RLDB_TRY_VOID(each_write(f, args, see, [&](std::vector<KernelRead>& reads) {
    for (KernelRead& r : reads)
      if (r.at) r.was_marked = r.was_marked || reach.marked.overlaps(r.place.memory, r.place.byte, r.place.byte + 1);
  }));
  return reach;
}

Result<KernelReach> kernel_reach(const ir::PrimFunc* f, const std::vector<Value>& args, const MemorySet& marked) {
  if (const auto sorting = sorting_call(f)) return sorting_reach(f, *sorting, args, marked);
  auto sliced = sliced_reach(f, args, marked);
  if (sliced.ok()) return sliced;
  auto recorded = recorded_reach(f, args, marked);
  return recorded.ok() ? std::move(recorded) : std::move(sliced);
}

}  // namespace rldb::debug
