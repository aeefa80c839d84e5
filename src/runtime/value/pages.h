// Memory of large storages: whole pages from the system, kept when a storage ends and given to a later one, so that a
// call in a loop does not take each page from the system anew. Room-private; users: value.cc and the tests.
//
// Kept are at most kMostKept bytes, and none beyond the memory limit: the block that was unused for longest goes back
// first. Under AddressSanitizer storages come from its own malloc instead, which sees every access past their end.
#pragma once

#include <cstddef>

namespace rldb::runtime {

inline constexpr std::size_t kPagesFrom = 64 * 1024;         // bytes of a storage that is made of pages
inline constexpr std::size_t kUnusedFrom = 1024 * 1024;      // smaller ones are used in any case: UnusedContents
inline constexpr std::size_t kMostKept = 256 * 1024 * 1024;  // also while nothing runs

bool has_pages(std::size_t bytes);

struct Pages {
  std::byte* base = nullptr;  // null: the system has none
  std::size_t bytes = 0;
  bool is_new = false;  // not kept before, and not to be kept
};
// At least that many bytes, all zero unless `any_contents`. `fresh`: new ones, which go back to the system.
Pages take_pages(std::size_t bytes, bool any_contents, bool fresh = false);
void give_pages(Pages pages);

std::size_t kept_pages();  // bytes
void release_kept_pages();

}  // namespace rldb::runtime
