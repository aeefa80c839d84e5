// Memory: one account of the memory that the process has requested, and one limit on it.
//
// Counted are C++ objects (the global operators new and delete are defined in memory.cc), tensor storage, and requests
// of C libraries through `counted_malloc`. An allocation over the limit fails as if the system had no more: operator
// new throws MemoryLimitExceeded (a std::bad_alloc), Storage::allocate returns its error, a C library gets its memory
// and the current work is cancelled. Used by runtime (storage), frontend (tree-sitter), ui (`--max-memory`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace rldb::support {

// 2 GiB, or 3/4 of the machine's memory when that is less.
std::size_t default_memory_limit();
std::size_t memory_limit();
void set_memory_limit(std::size_t bytes);
// Approximate within 1 MiB per thread: threads report their share in portions.
std::size_t memory_in_use();

class MemoryLimitExceeded : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "the memory limit is reached"; }
};

// For memory that does not come from operator new. False: over the limit, nothing was counted.
bool reserve_memory(std::size_t bytes);
void release_memory(std::size_t bytes);

// While it lives, operator new of this thread counts but does not fail: for libraries that do not survive an exception
// (LLVM), whose work is bounded before it begins, and for reporting that memory has run out.
class MemoryLimitExempt {
 public:
  MemoryLimitExempt();
  ~MemoryLimitExempt();
  MemoryLimitExempt(const MemoryLimitExempt&) = delete;
  MemoryLimitExempt& operator=(const MemoryLimitExempt&) = delete;
};

// malloc and its kin for C libraries. They never return null because of the limit; beyond it the work is cancelled.
void* counted_malloc(std::size_t size);
void* counted_calloc(std::size_t count, std::size_t size);
void* counted_realloc(void* block, std::size_t size);
void counted_free(void* block);

// Fault injection for tests: the n-th operator new of this thread from now on throws (0: none), and so do the
// following ones when `all` is set. Those under a MemoryLimitExempt do not count.
void fail_allocation(std::uint64_t n, bool all = false);
bool allocation_failed();  // since then

}  // namespace rldb::support
