// Accounting of memory, and the global operators new and delete that maintain it.
#include "rldb/support/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "rldb/support/cancel.h"

namespace rldb::support {

namespace {

constexpr std::int64_t kPortion = std::int64_t(1) << 19;

std::atomic<std::int64_t> g_in_use{0};
std::atomic<std::size_t> g_limit{0};  // 0: not set, the default

// Trivial, so that they can be used before main and after it.
thread_local std::int64_t t_portion = 0;  // not yet in g_in_use
thread_local int t_exempt = 0;
thread_local std::uint64_t t_fail_after = 0;
thread_local bool t_fail_all = false;
thread_local bool t_failed = false;

bool over_limit(std::int64_t more) {
  const std::int64_t total = g_in_use.load(std::memory_order_relaxed) + more;
  return total > 0 && std::size_t(total) > memory_limit();
}

void tell(std::int64_t bytes) {
  t_portion += bytes;
  if (t_portion < kPortion && t_portion > -kPortion) return;
  g_in_use.fetch_add(t_portion, std::memory_order_relaxed);
  t_portion = 0;
}

bool may_have(std::size_t bytes) {
  if (std::int64_t(bytes) + t_portion < kPortion || t_exempt > 0) return true;
  return !over_limit(t_portion + std::int64_t(bytes));
}

[[gnu::noinline]] void inject_failure() {
  if (t_fail_after > 1) {
    --t_fail_after;
    return;
  }
  if (!t_fail_all) t_fail_after = 0;
  t_failed = true;
  throw MemoryLimitExceeded();
}

void* allocate(std::size_t size, std::size_t align) {
  if (t_fail_after > 0 && t_exempt == 0) [[unlikely]]
    inject_failure();
  if (size > std::size_t(1) << 60) throw std::bad_alloc();
  if (!may_have(size)) throw MemoryLimitExceeded();
  if (size == 0) size = 1;
  void* block = align <= alignof(std::max_align_t) ? std::malloc(size)
                                                   : std::aligned_alloc(align, (size + align - 1) / align * align);
  if (!block) throw std::bad_alloc();
  tell(std::int64_t(::malloc_usable_size(block)));
  return block;
}

void* allocate_or_null(std::size_t size, std::size_t align) noexcept {
  try {
    return allocate(size, align);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void deallocate(void* block) {
  if (!block) return;
  tell(-std::int64_t(::malloc_usable_size(block)));
  std::free(block);
}

}  // namespace

std::size_t default_memory_limit() {
  constexpr std::size_t kDefault = std::size_t(2) << 30;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return kDefault;
  const std::size_t most = std::size_t(pages) / 4 * 3 * std::size_t(page);
  return most < kDefault ? most : kDefault;
}

std::size_t memory_limit() {
  std::size_t limit = g_limit.load(std::memory_order_relaxed);
  if (limit == 0) {
    limit = default_memory_limit();
    g_limit.store(limit, std::memory_order_relaxed);
  }
  return limit;
}

void set_memory_limit(std::size_t bytes) { g_limit.store(bytes, std::memory_order_relaxed); }

std::size_t memory_in_use() {
  const std::int64_t bytes = g_in_use.load(std::memory_order_relaxed) + t_portion;
  return bytes > 0 ? std::size_t(bytes) : 0;
}

bool reserve_memory(std::size_t bytes) {
  if (bytes > std::size_t(1) << 60 || over_limit(t_portion + std::int64_t(bytes))) return false;
  g_in_use.fetch_add(std::int64_t(bytes), std::memory_order_relaxed);
  return true;
}

void release_memory(std::size_t bytes) { g_in_use.fetch_sub(std::int64_t(bytes), std::memory_order_relaxed); }

MemoryLimitExempt::MemoryLimitExempt() { ++t_exempt; }
MemoryLimitExempt::~MemoryLimitExempt() { --t_exempt; }

namespace {

void count(void* block) {
  if (!block) return;
  const auto size = std::int64_t(::malloc_usable_size(block));
  if (!may_have(std::size_t(size))) request_cancel(CancelCause::Memory);
  tell(size);
}

}  // namespace

void* counted_malloc(std::size_t size) {
  void* block = std::malloc(size);
  count(block);
  return block;
}

void* counted_calloc(std::size_t n, std::size_t size) {
  void* block = std::calloc(n, size);
  count(block);
  return block;
}

void* counted_realloc(void* block, std::size_t size) {
  const auto before = block ? std::int64_t(::malloc_usable_size(block)) : 0;
  void* moved = std::realloc(block, size);
  if (!moved && size > 0) return nullptr;
  tell(-before);
  count(moved);
  return moved;
}

void counted_free(void* block) { deallocate(block); }

void fail_allocation(std::uint64_t n, bool all) {
  t_fail_after = n;
  t_fail_all = all;
  t_failed = false;
}

bool allocation_failed() { return t_failed; }

}  // namespace rldb::support

// The replaceable allocation functions ([new.delete]); the array forms of the standard library call these.
void* operator new(std::size_t size) { return rldb::support::allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t align) {
  return rldb::support::allocate(size, static_cast<std::size_t>(align));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return rldb::support::allocate_or_null(size, 0);
}
void* operator new(std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return rldb::support::allocate_or_null(size, static_cast<std::size_t>(align));
}
void operator delete(void* block) noexcept { rldb::support::deallocate(block); }
void operator delete(void* block, std::size_t) noexcept { rldb::support::deallocate(block); }
void operator delete(void* block, std::align_val_t) noexcept { rldb::support::deallocate(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { rldb::support::deallocate(block); }
