// From an element that a call wrote to the elements of its arguments.
#include <algorithm>
#include <deque>
#include <set>
#include <tuple>

#include "debug/provenance/kernel_writes.h"
#include "debug/provenance/sorting_kernel.h"
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
