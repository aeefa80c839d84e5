// Memory for tensors that ends at an inaccessible page, so that a kernel which runs over its end is caught.
#include "rldb/runtime/guarded.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/value/alignment.h"

namespace rldb::runtime {

namespace {

constexpr std::byte kPattern{0xC5};
// Blocks are kept for the next one: a mapping costs more than a small kernel, and its pages more than a large one.
constexpr std::size_t kKeptBytes = 64 * 1024 * 1024;
constexpr std::size_t kKeptInAll = 256 * 1024 * 1024;
constexpr std::size_t kKept = 4096;
// Each is two regions of the address space for the system, which has some 65,000 for a process.
constexpr std::size_t kMostAlive = 16'384;

std::atomic<bool> g_on{false};
std::atomic<std::size_t> g_alive{0};

struct Blocks {
  std::mutex mutex;
  std::unordered_set<const std::byte*> data;                      // of the guarded storages that are alive
  std::unordered_map<std::size_t, std::vector<std::byte*>> free;  // by size
  std::size_t free_count = 0, free_bytes = 0;
};
// Never destroyed: storages may outlive statics.
Blocks& blocks() {
  static auto* made = new Blocks();
  return *made;
}

std::size_t page() {
  static const auto size = std::size_t(sysconf(_SC_PAGESIZE));
  return size;
}
std::size_t up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

// [page] slack data slack [page]; the data begin in the first page that may be touched.
struct Layout {
  std::size_t room;   // of the pages that may be touched
  std::size_t front;  // slack before the data
  explicit Layout(std::size_t bytes) {
    const std::size_t used = up(std::max<std::size_t>(bytes, 1), kAlignment);
    room = up(used, page());
    front = room - used;
  }
  std::size_t mapped() const { return room + 2 * page(); }
};

std::byte* take(std::size_t mapped) {
  Blocks& b = blocks();
  const std::lock_guard lock(b.mutex);
  const auto it = b.free.find(mapped);
  if (it == b.free.end() || it->second.empty()) return nullptr;
  std::byte* base = it->second.back();
  it->second.pop_back();
  --b.free_count;
  b.free_bytes -= mapped;
  return base;
}

}  // namespace

bool guarded_storage() { return g_on.load(std::memory_order_relaxed); }
void set_guarded_storage(bool on) { g_on.store(on, std::memory_order_relaxed); }

std::byte* map_guarded(std::size_t bytes) {
  if (g_alive.load(std::memory_order_relaxed) >= kMostAlive) return nullptr;
  const Layout layout(bytes);
  std::byte* base = take(layout.mapped());
  if (base) {
    std::memset(base + page(), 0, layout.room);
  } else {
    void* made = mmap(nullptr, layout.mapped(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return nullptr;
    base = static_cast<std::byte*>(made);
    if (mprotect(base + page(), layout.room, PROT_READ | PROT_WRITE) != 0) {
      munmap(made, layout.mapped());
      return nullptr;
    }
  }
  std::byte* data = base + page() + layout.front;
  std::memset(base + page(), int(kPattern), layout.front);
  std::memset(data + bytes, int(kPattern), layout.room - layout.front - bytes);
  Blocks& b = blocks();
  const std::lock_guard lock(b.mutex);
  b.data.insert(data);
  g_alive.fetch_add(1, std::memory_order_relaxed);
  return data;
}

bool unmap_guarded(std::byte* data, std::size_t bytes) {
  if (g_alive.load(std::memory_order_relaxed) == 0) return false;
  const Layout layout(bytes);
  std::byte* base = data - layout.front - page();
  Blocks& b = blocks();
  const std::lock_guard lock(b.mutex);
  if (b.data.erase(data) == 0) return false;
  g_alive.fetch_sub(1, std::memory_order_relaxed);
  if (layout.room > kKeptBytes || b.free_count == kKept || b.free_bytes + layout.mapped() > kKeptInAll) {
    munmap(base, layout.mapped());
  } else {
    b.free[layout.mapped()].push_back(base);
    ++b.free_count;
    b.free_bytes += layout.mapped();
  }
  return true;
}

bool intact(const Storage& storage) {
  if (g_alive.load(std::memory_order_relaxed) == 0) return true;
  const std::byte* data = storage.data();
  {
    Blocks& b = blocks();
    const std::lock_guard lock(b.mutex);
    if (!b.data.contains(data)) return true;
  }
  const Layout layout(storage.size());
  const auto untouched = [](std::byte x) { return x == kPattern; };
  return std::all_of(data - layout.front, data, untouched) &&
         std::all_of(data + storage.size(), data - layout.front + layout.room, untouched);
}

}  // namespace rldb::runtime
