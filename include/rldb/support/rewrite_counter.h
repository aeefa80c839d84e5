// The counter that passes query before each rewrite they make: a fused group, a merged expression, a reused storage.
//
// A pass that generates wrong code is narrowed down to one rewrite by running it with a limit, beyond which it leaves
// the program unchanged (LLVM's debug counters). While nobody counts, a query is a test of a pointer. One counter at a
// time in a process, just as there is one cancellation: a pass need not pass it down to where the rewrites are
// made. Users: the passes of Relax and of Relay, repro.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace rldb::support {

class RewriteCounter {
 public:
  // Counts as long as it lives. `limit`: the number of rewrites that are made, the others are left out; -1: all.
  explicit RewriteCounter(std::int64_t limit = -1);
  ~RewriteCounter();
  RewriteCounter(const RewriteCounter&) = delete;
  RewriteCounter& operator=(const RewriteCounter&) = delete;

  std::int64_t asked() const { return asked_; }
  // Of the last rewrite that was made: "merges `lv3` into `lv1`".
  const std::string& last() const { return last_; }

  static RewriteCounter* current() { return current_; }
  bool next(std::string what);

 private:
  static RewriteCounter* current_;
  RewriteCounter* outer_;
  std::int64_t limit_;
  std::int64_t asked_ = 0;
  std::string last_;
};

// A pass is about to make a rewrite; false: it must not. `what` gives its description, and is only called while
// somebody counts.
template <class Text>
bool may_rewrite(const Text& what) {
  RewriteCounter* counter = RewriteCounter::current();
  return !counter || counter->next(what());
}

}  // namespace rldb::support
