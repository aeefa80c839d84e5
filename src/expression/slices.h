// Loops over the elements of large tensors, in slices that the threads of the pool work on.
//
// Where slices begin depends on the number of threads, so what they find must be combined exactly (counts, places,
// elements), or be found by `fixed parts` of the elements, which are the same on every machine. A slice ends
// when the work is cancelled, and the caller's thread throws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>

#include "rldb/expression/array.h"
#include "rldb/runtime/threads.h"
#include "rldb/support/cancel.h"

namespace rldb::expression {

inline bool cancelled() { return support::cancel_flag().load(std::memory_order_relaxed); }

// f(i) for each i below `count`, on several threads. The caller throws in the end what one of them has thrown.
template <class F>
void on_threads(std::size_t count, F f) {
  if (count == 1) {
    f(std::size_t(0));
  } else {
    struct Work {
      F& f;
      std::mutex mutex;
      std::exception_ptr thrown;
    } work{f, {}, {}};
    const runtime::PieceFn piece = [](void* context, std::size_t i) {
      auto& w = *static_cast<Work*>(context);
      try {
        w.f(i);
      } catch (...) {
        const std::lock_guard lock(w.mutex);
        w.thrown = std::current_exception();
      }
    };
    runtime::do_pieces(count, piece, &work);
    if (work.thrown) std::rethrow_exception(work.thrown);
  }
  support::poll();
}

// How many slices `count` elements are worth.
inline std::size_t slice_count(std::int64_t count) {
  constexpr std::int64_t kLeast = 1 << 18;  // elements of one
  constexpr std::size_t kMost = 16;
  const auto worth = std::size_t(std::max<std::int64_t>(1, count / kLeast));
  return runtime::may_use_threads() ? std::min({worth, kMost, 2 * runtime::thread_count()}) : 1;
}

struct Slice {
  std::int64_t begin, end;
};
// The i-th of `of`, at multiples of `unit`.
inline Slice slice_of(std::int64_t count, std::size_t i, std::size_t of, std::int64_t unit) {
  const std::int64_t units = (count + unit - 1) / unit, n = std::int64_t(of), k = std::int64_t(i);
  return {std::min(count, units * k / n * unit), std::min(count, units * (k + 1) / n * unit)};
}

// Broadcast::runs on several threads: f works on its own buffers.
template <class F>
void runs_on_threads(const Broadcast& shape, F f) {
  const std::size_t slices = slice_count(shape.count());
  on_threads(slices, [&](std::size_t i) {
    const Slice s = slice_of(shape.count(), i, slices, kChunk);
    shape.runs(s.begin, s.end,
               [&](std::int64_t at, const std::int64_t* starts, const std::int64_t* steps, std::int64_t n) {
                 if (cancelled()) return false;
                 f(at, starts, steps, n);
                 return true;
               });
  });
}

}  // namespace rldb::expression
