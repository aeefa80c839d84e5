// Long loops of functions that a running program calls (sorting, distinct elements): cancellation ends them with an
// error. An exception carries it out of the loop (a comparison within a sort has no other way) and no further: machine
// code that calls such a function must see none. Users: runtime, vm.
#pragma once

#include <string>
#include <utility>

#include "rldb/runtime/error.h"
#include "rldb/support/cancel.h"

namespace rldb::runtime {

namespace detail {
struct Stopped {};
}  // namespace detail

// Called in each round of a loop; checks the flag now and then.
class Watch {
 public:
  void look() {
    constexpr unsigned kEvery = 4096;
    if (++rounds_ % kEvery == 0 && support::cancel_flag().load(std::memory_order_relaxed)) throw detail::Stopped{};
  }

 private:
  unsigned rounds_ = 0;
};

// The result of `work(watch)`, or the error that it was interrupted in `what`.
template <class Work>
auto stoppable(const char* what, Work&& work) -> decltype(work(std::declval<Watch&>())) {
  Watch watch;
  try {
    return work(watch);
  } catch (const detail::Stopped&) {
    return fail(ErrorKind::Interrupted, std::string("interrupted in ") + what);
  }
}

}  // namespace rldb::runtime
