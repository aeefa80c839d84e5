// Memory that is shared until it is written: contents, identity, what is copied and what is not.
#include "rldb/runtime/shared_memory.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace rldb;
using namespace rldb::runtime;

namespace {

constexpr std::size_t kSize = 1 << 17;

Ref<Storage> filled(int byte) {
  auto s = Storage::allocate(kSize);
  REQUIRE(s.ok());
  std::memset((*s)->data(), byte, kSize);
  return *s;
}

int byte_of(const Storage& s, std::size_t at = 0) { return int(s.data()[at]); }

}  // namespace

TEST_CASE("a shared copy costs no memory and keeps its contents when the other side is written") {
  const Ref<Storage> a = filled(1);
  const std::size_t used = memory_in_use();
  const std::byte* data = a->data();
  Ref<Storage> b = share(a).value();
  CHECK(memory_in_use() == used);
  CHECK(a->data() == data);
  CHECK(b->data() == data);
  CHECK(shared_block(*a) == shared_block(*b));
  REQUIRE(own(*a).ok());
  CHECK(shared_block(*a) == nullptr);
  CHECK(a->data() != b->data());
  CHECK(byte_of(*a) == 1);
  a->data()[0] = std::byte(7);
  CHECK(byte_of(*b) == 1);
  CHECK(memory_in_use() == used + kSize);
  // The last one that is left has the memory for itself.
  REQUIRE(own(*b).ok());
  CHECK(b->data() == data);
  CHECK(shared_block(*b) == nullptr);
  b = nullptr;
  CHECK(memory_in_use() == used);
}

TEST_CASE("copies of copies share one block, whoever is written first") {
  const Ref<Storage> a = filled(3);
  const Ref<Storage> b = share(a).value(), c = share(b).value();
  CHECK(shared_block(*a) == shared_block(*c));
  REQUIRE(own(*b).ok());
  std::memset(b->data(), 9, kSize);
  CHECK(byte_of(*a) == 3);
  CHECK(byte_of(*c, kSize - 1) == 3);
  REQUIRE(own(*a).ok());
  REQUIRE(own(*c).ok());
  CHECK(byte_of(*a) == 3);
  CHECK(byte_of(*c) == 3);
}

TEST_CASE("small, pinned and foreign memory is copied") {
  const auto small = Storage::allocate(64).value();
  CHECK(share(small).value()->data() != small->data());
  const Ref<Storage> a = filled(1);
  const Value tensor(Tensor::view(a, 0, {std::int64_t(kSize)}, DType::UInt(8)).value());
  {
    const Pinned pinned(std::span(&tensor, 1));
    CHECK_FALSE(can_share(*a));
    CHECK(share(a).value()->data() != a->data());
  }
  CHECK(can_share(*a));
  const auto foreign = Storage::borrow(a->data(), kSize, {}, a);
  CHECK_FALSE(can_share(*foreign));
  CHECK(own(*foreign).ok());
  CHECK(foreign->data() == a->data());
}

TEST_CASE("a storage that may grow still may after it was shared and written") {
  const auto s = Storage::of_shape({std::int64_t(kSize)}, DType::Float(32)).value();
  const Ref<Storage> copy = share(s).value();
  REQUIRE(own(*s).ok());
  CHECK(Tensor::view(s, 0, {std::int64_t(kSize / 2)}, DType::Float(32)).ok());
  REQUIRE(own(*copy).ok());
  CHECK(Tensor::view(copy, 0, {std::int64_t(kSize / 2)}, DType::Float(32)).ok());
}

TEST_CASE("without memory for a copy, others give theirs up") {
  const Ref<Storage> a = filled(1);
  Ref<Storage> b = share(a).value();
  const std::size_t before = memory_limit();
  set_memory_limit(memory_in_use() + kSize / 2);
  CHECK_FALSE(own(*a).ok());
  int asked = 0;
  const Reclaimer reclaimer([&] {
    ++asked;
    const bool had = bool(b);
    b = nullptr;
    return had;
  });
  CHECK(own(*a).ok());
  CHECK(asked == 1);
  CHECK(shared_block(*a) == nullptr);
  set_memory_limit(before);
}
