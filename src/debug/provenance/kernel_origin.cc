// From an element that a call wrote to the elements of its arguments.
#include <algorithm>
#include <deque>
#include <set>
#include <tuple>

#include "debug/provenance/kernel_writes.h"
#include "debug/provenance/reads.h"
#include "debug/provenance/sorting_kernel.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using runtime::Result;
using support::Unit;

namespace {

class Follow {
 public:
  explicit Follow(KernelWrites& kernel) : kernel_(kernel) {}

  Result<KernelOrigin> run(const MemoryPlace& place) {
    RLDB_TRY_VOID(follow({place}, nullptr, [this](const KernelWrite& w) {
      if (!found_.written) found_.last = w;
      found_.written = true;
      found_.first = w.moment;
      ++found_.writes;
    }));
    while (!open_.empty()) {
      support::poll();
      const Question q = std::move(open_.front());
      open_.pop_front();
      bool written = false;
      RLDB_TRY_VOID(follow(q.read, &q.before, [&](const KernelWrite&) { written = true; }));
      if (!written) sources_.insert({q.read.place, q.read.role, q.read.condition});
    }
    found_.sources.assign(sources_.begin(), sources_.end());
    return std::move(found_);
  }

 private:
  struct Question {
    KernelRead read;
    Moment before;
  };

  // A write that reads the element itself adds to the one before it. The elements from which the kernel computed an
  // index or a condition in memory of its own have their role.
  template <class F>
  Result<Unit> follow(const KernelRead& read, const Moment* before, F met) {
    bool again = false;
    RLDB_TRY_VOID(kernel_.visit(read.place, before, [&](const KernelWrite& w) {
      met(w);
      again = false;
      if (!done_.emplace(read.place, read.role, read.condition, w.moment).second) return false;
      for (KernelRead r : w.reads) {
        const Moment before = r.at ? Moment{*r.at} : w.moment;
        if (r.role == ReadRole::Value) {
          r.role = read.role;
          r.condition = read.condition;
        }
        if (r.place == read.place && !r.at)
          again = true;
        else if (asked_.emplace(r.place, r.role, r.condition, before).second)
          open_.push_back({r, before});
      }
      return again;
    }));
    // The first write of the element in the call read what was there before.
    if (again) sources_.insert({read.place, read.role, read.condition});
    return Unit{};
  }

  KernelWrites& kernel_;
  KernelOrigin found_;
  std::deque<Question> open_;
  using Step = std::tuple<MemoryPlace, ReadRole, const ir::Expr*, Moment>;
  std::set<Step> done_, asked_;
  std::set<KernelSource> sources_;
};

}  // namespace

Result<Unit> KernelWrites::visit_prevented(const MemoryPlace&, const VisitPrevented&) {
  return runtime::fail(runtime::ErrorKind::Unsupported, "its conditions depend on memory that it writes");
}

bool has_conditions(const ir::PrimFunc* f) {
  bool found = false;
  std::set<const ir::Var*> bound;  // to something that is read
  const auto on_data = [&](const ir::Expr* e) {
    bool reads = has_loads(e);
    ir::walk(e, [&](const ir::Node* n) {
      if (const auto* v = ir::as<ir::Var>(n)) reads = reads || bound.contains(v);
      return !reads;
    });
    return reads;
  };
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* let = ir::as<ir::BindStmt>(n); let && on_data(let->value)) bound.insert(let->var);
    const auto* branch = ir::as<ir::IfThenElse>(n);
    const auto* realize = ir::as<ir::SBlockRealize>(n);
    for (std::size_t i = 0; realize && i < realize->iter_values.size(); ++i)
      if (on_data(realize->iter_values[i])) bound.insert(realize->block->iter_vars[i].var);
    found = found || (branch && on_data(branch->cond)) || (realize && on_data(realize->predicate));
    return !found;
  });
  return found;
}

Result<KernelOrigin> origin_in(KernelWrites& kernel, const MemoryPlace& place) { return Follow(kernel).run(place); }

Result<KernelOrigin> kernel_origin(const ir::PrimFunc* f, const std::vector<runtime::Value>& args,
                                   const MemoryPlace& place) {
  if (const auto sorting = sorting_kernel(f, args)) return origin_in(*sorting, place);
  auto sliced = sliced_kernel(f, args);
  if (sliced.ok()) {
    auto origin = origin_in(**sliced, place);
    if (origin.ok()) return origin;
  }
  RLDB_TRY(const auto recorded, recorded_kernel(f, args));
  return origin_in(*recorded, place);
}

}  // namespace rldb::debug
