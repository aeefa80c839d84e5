// The pool: each piece is done once, by any number of threads, also from inside of a piece and from two callers.
#include "rldb/runtime/threads.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "rldb/runtime/tensor_file.h"

using namespace rldb;

namespace {

struct Counts {
  explicit Counts(std::size_t n) : of(n) {}
  std::vector<std::atomic<int>> of;
  static void add(void* context, std::size_t piece) { ++static_cast<Counts*>(context)->of[piece]; }
  bool all_once() const {
    for (const auto& n : of)
      if (n != 1) return false;
    return true;
  }
};

bool each_once(std::size_t pieces) {
  Counts counts(pieces);
  runtime::do_pieces(pieces, Counts::add, &counts);
  return counts.all_once();
}

struct Threads {
  explicit Threads(std::size_t n) { runtime::set_thread_count(n); }
  ~Threads() { runtime::set_thread_count(0); }
};

}  // namespace

TEST_CASE("each piece is done once") {
  for (const std::size_t threads : {1, 2, 5}) {
    const Threads chosen(threads);
    CHECK(runtime::thread_count() == threads);
    for (std::size_t pieces = 0; pieces < 200; ++pieces) CHECK(each_once(pieces));
  }
  CHECK(runtime::chosen_thread_count() == 0);
}

TEST_CASE("a piece that has pieces does them itself") {
  const Threads chosen(3);
  std::atomic<int> wrong{0};
  runtime::do_pieces(
      20,
      [](void* context, std::size_t) {
        if (runtime::may_use_threads() || !each_once(7)) ++*static_cast<std::atomic<int>*>(context);
      },
      &wrong);
  CHECK(wrong == 0);
}

TEST_CASE("two callers at once") {
  const Threads chosen(3);
  std::atomic<int> wrong{0};
  const auto work = [&] {
    for (int i = 0; i < 300; ++i)
      if (!each_once(11)) ++wrong;
  };
  std::thread other(work);
  work();
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("random tensors are the same with any number of threads") {
  constexpr std::int64_t kElements = 300'001;  // several pieces, the last one short
  const auto made = [](std::size_t threads, runtime::DType t) {
    const Threads chosen(threads);
    return runtime::random_tensor({kElements}, t, 5).value();
  };
  for (const runtime::DType t : {runtime::DType::Float(32), runtime::DType::Float(16), runtime::DType::Int(64)}) {
    const runtime::Value one = made(1, t), three = made(3, t);
    CHECK(runtime::compare(one, three, {0, 0, true}) == "");
    // The last number of SplitMix64, of which a float32 has the first 24 bits.
    if (t == runtime::DType::Float(32))
      CHECK(one.as_tensor().at(kElements - 1) == double(0xe203a1dc11150f48u >> 40) / (1 << 23) - 1);
  }
}
