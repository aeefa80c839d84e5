// Pages that storages leave are used again: cleared, within the limits.
#include "runtime/value/pages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "rldb/runtime/any_contents.h"
#include "rldb/runtime/unused_contents.h"
#include "rldb/runtime/value.h"
#include "rldb/support/memory.h"

using namespace rldb::runtime;

namespace {

constexpr std::size_t kLarge = 4 << 20;

std::byte* address_of_one(std::size_t bytes) { return Storage::allocate(bytes).value()->data(); }

bool is_zero(const Storage& s) {
  return std::all_of(s.data(), s.data() + s.size(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

TEST_CASE("pages: a large storage gets those of one that is gone, cleared") {
  if (!has_pages(kLarge)) return;  // AddressSanitizer
  release_kept_pages();
  std::byte* first = nullptr;
  {
    const auto s = Storage::allocate(kLarge).value();
    first = s->data();
    CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
    std::memset(first, 7, kLarge);
    CHECK(kept_pages() == 0);
  }
  CHECK(kept_pages() > kLarge);
  const auto again = Storage::allocate(kLarge - 100).value();
  CHECK(again->data() == first);
  CHECK(is_zero(*again));
  CHECK(kept_pages() == 0);
  // One that is in use is not given away.
  const auto other = Storage::allocate(kLarge).value();
  CHECK(other->data() != first);
  CHECK(is_zero(*other));
}

TEST_CASE("pages: not cleared for who fills them") {
  if (!has_pages(kLarge)) return;
  release_kept_pages();
  {
    const auto s = Storage::allocate(kLarge).value();
    std::memset(s->data(), 7, kLarge);
  }
  {
    const AnyContents any;
    const auto s = Storage::allocate(kLarge).value();
    CHECK(!is_zero(*s));
  }
  CHECK(is_zero(*Storage::allocate(kLarge).value()));
}

TEST_CASE("pages: memory that will not be used is new, and not kept") {
  if (!has_pages(kLarge)) return;
  release_kept_pages();
  const std::byte* kept = address_of_one(kLarge);
  const std::size_t bytes = kept_pages();
  {
    const UnusedContents unused;
    const auto s = Storage::allocate(kLarge).value();
    CHECK(s->data() != kept);
    CHECK(kept_pages() == bytes);
  }
  CHECK(kept_pages() == bytes);
  CHECK(Storage::allocate(kLarge).value()->data() == kept);
}

TEST_CASE("pages: a much smaller storage does not get them, small ones have none") {
  release_kept_pages();
  const std::byte* large = address_of_one(kLarge);
  CHECK(Storage::allocate(kLarge / 2).value()->data() != large);
  const std::size_t before = kept_pages();
  for (int i = 0; i < 100; ++i) (void)Storage::allocate(1000).value();
  CHECK(kept_pages() == before);
}

TEST_CASE("pages: what is kept is bounded") {
  if (!has_pages(kLarge)) return;
  release_kept_pages();
  {
    std::vector<Ref<Storage>> many;
    for (std::size_t i = 0; i < kMostKept / kLarge * 3 / 4; ++i) many.push_back(Storage::allocate(kLarge).value());
  }
  CHECK(kept_pages() <= kMostKept);
  CHECK(kept_pages() >= kMostKept / 2);
  // None beyond the memory limit.
  const std::size_t limit = rldb::support::memory_limit();
  rldb::support::set_memory_limit(rldb::support::memory_in_use() + 3 * kLarge);
  (void)Storage::allocate(kLarge + kLarge / 2).value();
  CHECK(kept_pages() <= 3 * kLarge);
  rldb::support::set_memory_limit(limit);
  release_kept_pages();
  CHECK(kept_pages() == 0);
}
