// The pages that are kept between storages, in the order in which they were given back.
#include "runtime/value/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "rldb/support/memory.h"

namespace rldb::runtime {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

constexpr std::size_t kMostBlocks = 256;
constexpr std::size_t kHugePage = 2 * 1024 * 1024;

struct Kept {
  std::mutex mutex;
  std::vector<Pages> blocks;  // the newest last
  std::size_t bytes = 0;

  // A block that is at most a quarter larger than needed.
  Pages find(std::size_t bytes_needed) {
    for (std::size_t i = blocks.size(); i-- > 0;) {
      const Pages found = blocks[i];
      if (found.bytes < bytes_needed || found.bytes - bytes_needed > bytes_needed / 4) continue;
      blocks.erase(blocks.begin() + std::ptrdiff_t(i));
      bytes -= found.bytes;
      return found;
    }
    return {};
  }
  void shrink_to(std::size_t most) {
    while (bytes > most) {
      munmap(blocks.front().base, blocks.front().bytes);
      bytes -= blocks.front().bytes;
      blocks.erase(blocks.begin());
    }
  }
};
// Never destroyed: storages may outlive statics.
Kept& kept() {
  static auto* made = new Kept();
  return *made;
}

std::size_t pages_of(std::size_t bytes) {
  static const auto page = std::size_t(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// The bytes that may be kept beside the memory that is in use.
std::size_t allowed() {
  const std::size_t used = support::memory_in_use(), limit = support::memory_limit();
  return used >= limit ? 0 : std::min(limit - used, kMostKept);
}

}  // namespace

bool has_pages(std::size_t bytes) { return !kSanitized && bytes >= kPagesFrom; }

Pages take_pages(std::size_t bytes, bool any_contents, bool fresh_ones) {
  const std::size_t whole = pages_of(bytes);
  if (whole < bytes) return {};
  Pages made;
  {
    Kept& k = kept();
    const std::lock_guard lock(k.mutex);
    if (!fresh_ones) made = k.find(whole);
    if (!made.base && !fresh_ones) k.shrink_to(allowed());
  }
  if (made.base) {
    if (!any_contents) std::memset(made.base, 0, bytes);
    return made;
  }
  void* fresh = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) {
    release_kept_pages();
    fresh = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) return {};
  }
#if defined(MADV_HUGEPAGE)
  if (whole >= 2 * kHugePage) madvise(fresh, whole, MADV_HUGEPAGE);  // a hint
#endif
  return {static_cast<std::byte*>(fresh), whole, fresh_ones};
}

void give_pages(Pages pages) {
  const std::size_t most = allowed();
  Kept& k = kept();
  const std::lock_guard lock(k.mutex);
  if (pages.is_new || pages.bytes > most || pages.bytes > kMostKept / 2) {
    munmap(pages.base, pages.bytes);
    return;
  }
  k.shrink_to(most - pages.bytes);
  if (k.blocks.size() == kMostBlocks) k.shrink_to(k.bytes - 1);
  k.blocks.push_back(pages);
  k.bytes += pages.bytes;
}

std::size_t kept_pages() {
  Kept& k = kept();
  const std::lock_guard lock(k.mutex);
  return k.bytes;
}

void release_kept_pages() {
  Kept& k = kept();
  const std::lock_guard lock(k.mutex);
  k.shrink_to(0);
}

}  // namespace rldb::runtime
