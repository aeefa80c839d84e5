// Arena: a bump allocator for data that lives as long as its owner (IR nodes, interned strings).
//
// Invariants: addresses are stable; destructors are never run, so only trivially destructible types may be made in
// it; memory is freed all at once; requesting another block may throw
// Cancelled. Used by ir::Context and by phases that build short-lived trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rldb/support/cancel.h"

namespace rldb::support {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(std::size_t size, std::size_t align) {
    std::uintptr_t p = (cursor_ + align - 1) & ~(std::uintptr_t(align) - 1);
    if (p + size > limit_ || cursor_ == 0) {
      grow(size + align);
      p = (cursor_ + align - 1) & ~(std::uintptr_t(align) - 1);
    }
    cursor_ = p + size;
    return reinterpret_cast<void*>(p);
  }

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "the arena never runs destructors");
    return ::new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  template <class T>
  std::span<const T> copy(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    auto* to = static_cast<T*>(allocate(items.size_bytes(), alignof(T)));
    std::memcpy(static_cast<void*>(to), items.data(), items.size_bytes());
    return {to, items.size()};
  }
  template <class T>
  std::span<const T> copy(const std::vector<T>& items) {
    return copy(std::span<const T>(items));
  }

  std::string_view copy_string(std::string_view text) {
    if (text.empty()) return {};
    auto* to = static_cast<char*>(allocate(text.size(), 1));
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }

  // Bytes requested from the system so far.
  std::size_t bytes_reserved() const { return reserved_; }

 private:
  void grow(std::size_t at_least) {
    poll();  // whatever builds a lot can be cancelled
    std::size_t size = blocks_.empty() ? kFirstBlock : kBlock;
    if (size < at_least) size = at_least;
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    cursor_ = reinterpret_cast<std::uintptr_t>(blocks_.back().get());
    limit_ = cursor_ + size;
    reserved_ += size;
  }

  // The first block is small: a prompt that never sees a module should not pay for a big one.
  static constexpr std::size_t kFirstBlock = 16 * 1024;
  static constexpr std::size_t kBlock = 1024 * 1024;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::uintptr_t cursor_ = 0;
  std::uintptr_t limit_ = 0;
  std::size_t reserved_ = 0;
};

}  // namespace rldb::support
