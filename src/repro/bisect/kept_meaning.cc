#include "repro/bisect/kept_meaning.h"

#include <algorithm>

#include "repro/bisect/numbers.h"
#include "repro/cpu_clock.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

// For the pairs of calls of one kernel; where they take longer, nothing is known of it.
constexpr std::chrono::seconds kForPairs{5};

// A read of memory that holds something else by then says nothing about the kernel.
const runtime::Value* operand(const Trace& t, const Reading& r) {
  return r.event == kNoEvent || r.overwritten ? nullptr : &t.events[r.event].value;
}

bool reads_the_same(const Trace& before, const Event& a, const Trace& now, const Event& b, const Tolerances& t) {
  return !a.inputs.empty() && std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                                         [&](const Reading& x, const Reading& y) {
                                           const auto *one = operand(before, x), *other = operand(now, y);
                                           return one && other && !difference(*one, *other, t);
                                         });
}

}  // namespace

bool keeps_its_meaning(const Trace& before, const Trace& now, const std::string& kernel, const Tolerances& tolerances) {
  bool met = false;
  const auto until = CpuClock::now() + kForPairs;
  for (const Event& b : now.events) {
    if (b.callee != kernel) continue;
    for (const Event& a : before.events) {
      if (a.callee != kernel) continue;
      support::poll();
      if (CpuClock::now() > until) return false;
      if (!reads_the_same(before, a, now, b, tolerances)) continue;
      if (difference(a.value, b.value, tolerances)) return false;
      met = true;
    }
  }
  return met;
}

bool is_one_in_both(const AloneChecker::Found& f, const Trace& before, const Trace& now, const Tolerances& tolerances) {
  // A tensor that a callee computed belongs to the callee.
  const auto value_of = [&](const Trace& t, const std::string& name) -> const runtime::Value* {
    const runtime::Value* of_callee = nullptr;
    for (const Event& e : t.events) {
      if (std::find(e.names.begin(), e.names.end(), name) == e.names.end()) continue;
      if (e.function == f.bad.function) return &e.value;
      if (!of_callee) of_callee = &e.value;
    }
    return of_callee;
  };
  const auto same = [&](const std::string& name) {
    const runtime::Value *a = value_of(before, name), *b = value_of(now, name);
    return a && b && !difference(*a, *b, tolerances);
  };
  // Its own value too, or the name may mean another tensor; but where results are NaN, it may be what is wrong.
  const bool is_lost = f.related && not_finite(before.result) > 0;
  return std::all_of(f.reads.begin(), f.reads.end(), same) && (is_lost || same(f.binding));
}

}  // namespace rldb::repro
