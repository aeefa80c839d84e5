#include "rldb/support/memory.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "rldb/support/cancel.h"

namespace rldb::support {

namespace {

constexpr std::size_t kMegabyte = std::size_t(1) << 20;

// Restores the limit.
struct Limit {
  explicit Limit(std::size_t bytes) : before(memory_limit()) { set_memory_limit(bytes); }
  ~Limit() { set_memory_limit(before); }
  std::size_t before;
};

}  // namespace

TEST_CASE("what is allocated is counted, and no longer when it is given back") {
  const std::size_t before = memory_in_use();
  {
    const std::vector<char> block(64 * kMegabyte);
    CHECK(memory_in_use() >= before + 63 * kMegabyte);
  }
  CHECK(memory_in_use() < before + kMegabyte);
}

TEST_CASE("over the limit operator new throws, and memory is there again afterwards") {
  const Limit limit(memory_in_use() + 32 * kMegabyte);
  CHECK_THROWS_AS(std::vector<char>(64 * kMegabyte), MemoryLimitExceeded);
  // Many small ones as well.
  const auto hoard = [] {
    std::vector<std::unique_ptr<char[]>> blocks;
    for (;;) blocks.push_back(std::make_unique<char[]>(1000));
  };
  CHECK_THROWS_AS(hoard(), std::bad_alloc);
  CHECK(std::vector<char>(8 * kMegabyte).size() == 8 * kMegabyte);
}

TEST_CASE("an exempt thread may go over the limit") {
  const Limit limit(memory_in_use() + kMegabyte);
  const MemoryLimitExempt exempt;
  CHECK(std::vector<char>(16 * kMegabyte).size() == 16 * kMegabyte);
}

TEST_CASE("reserve_memory counts all or nothing") {
  const Limit limit(memory_in_use() + 8 * kMegabyte);
  const std::size_t before = memory_in_use();
  CHECK(reserve_memory(4 * kMegabyte));
  CHECK_FALSE(reserve_memory(6 * kMegabyte));
  CHECK(memory_in_use() == before + 4 * kMegabyte);
  CHECK_FALSE(reserve_memory(~std::size_t(0)));
  release_memory(4 * kMegabyte);
  CHECK(memory_in_use() == before);
}

TEST_CASE("a C library gets its memory and the work is cancelled") {
  clear_cancel();
  const Limit limit(memory_in_use() + kMegabyte);
  void* block = counted_malloc(4 * kMegabyte);
  CHECK(block != nullptr);
  CHECK(cancel_cause() == CancelCause::Memory);
  CHECK_THROWS_AS(poll(), Cancelled);
  counted_free(block);
  clear_cancel();
}

TEST_CASE("the n-th allocation fails when a test wants it") {
  fail_allocation(2);
  auto first = std::make_unique<int>(1);
  CHECK(first);
  CHECK_THROWS_AS(std::make_unique<int>(2), std::bad_alloc);
  CHECK(std::make_unique<int>(3));
}

}  // namespace rldb::support
