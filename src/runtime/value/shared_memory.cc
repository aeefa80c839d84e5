// Shared memory: a block owns it, the storages borrow it from the block.
#include "rldb/runtime/shared_memory.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <vector>

#include "rldb/runtime/object_value.h"
#include "runtime/value/exposed.h"

namespace rldb::runtime {

namespace {

// Its storage is what the first of those that share it was: it frees the memory, and knows how far it may grow.
class SharedBlock final : public Object {
 public:
  explicit SharedBlock(Ref<Storage> m) : memory(std::move(m)) {}
  Ref<Storage> memory;
};

SharedBlock* block_of(const Storage& s) { return dynamic_cast<SharedBlock*>(s.owner().get()); }

Ref<Storage> view_of_block(SharedBlock& block) {
  const Storage& m = *block.memory;
  Ref<Storage> view = Storage::borrow(m.host_memory(), m.size(), m.device(), Ref<Object>(&block));
  if (m.device_copy()) view->set_device_copy(Ref<DeviceCopy>(m.device_copy()));
  return view;
}

// `to` becomes what `from` was, with its memory; `from` is left with none.
void hand_over(Storage& from, Storage& to) {
  to = from;
  from = *Storage::borrow(nullptr, 0, from.device(), support::make_ref<Object>());
}

// A plugin may let go of a tensor on a thread of its own.
struct PinnedStorages {
  std::mutex mutex;
  std::multiset<const Storage*> all;
};
PinnedStorages& pinned() {
  static auto* storages = new PinnedStorages();
  return *storages;
}

std::vector<Reclaimer*>& reclaimers() {
  static auto* all = new std::vector<Reclaimer*>();
  return *all;
}

thread_local std::uint64_t t_owning_time = 0;
std::size_t g_shared_from = 64 * 1024;

std::uint64_t nanoseconds() {
  return std::uint64_t(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace

bool is_pinned(const Storage& s) {
  PinnedStorages& p = pinned();
  const std::scoped_lock lock(p.mutex);
  return s.is_exposed() || p.all.contains(&s);
}

bool is_pinned_besides(const Storage& s, const Pinned* these) {
  PinnedStorages& p = pinned();
  const std::scoped_lock lock(p.mutex);
  return s.is_exposed() || p.all.count(&s) > (these ? these->times(s) : 0);
}

bool any_pinned() {
  PinnedStorages& p = pinned();
  const std::scoped_lock lock(p.mutex);
  return any_exposed() || !p.all.empty();
}

bool reclaim() {
  const std::vector<Reclaimer*> all = reclaimers();
  return std::any_of(all.begin(), all.end(), [](Reclaimer* r) { return r->give_up_(); });
}

Reclaimer::Reclaimer(std::function<bool()> give_up) : give_up_(std::move(give_up)) { reclaimers().push_back(this); }
Reclaimer::~Reclaimer() { std::erase(reclaimers(), this); }

Pinned::Pinned(std::span<const Value> values) {
  for (const Value& v : values)
    if (v.is(ValueKind::Tensor)) storages_.push_back(v.as_tensor().storage());
  const std::scoped_lock lock(pinned().mutex);
  for (const Ref<Storage>& s : storages_) {
    (void)s->data();  // from the device
    pinned().all.insert(s.get());
  }
}

std::size_t Pinned::times(const Storage& s) const {
  return std::size_t(
      std::count_if(storages_.begin(), storages_.end(), [&](const auto& own) { return own.get() == &s; }));
}

Pinned::~Pinned() {
  const std::scoped_lock lock(pinned().mutex);
  for (const Ref<Storage>& s : storages_) pinned().all.erase(pinned().all.find(s.get()));
}

std::uint64_t owning_time() { return t_owning_time; }

void set_shared_from(std::size_t bytes) { g_shared_from = bytes; }

bool can_share(const Storage& s) {
  return s.size() >= g_shared_from && s.device().is_host() && (!s.owner() || block_of(s)) && !is_pinned(s);
}

const Object* shared_block(const Storage& s) { return s.owner() ? block_of(s) : nullptr; }

Result<Ref<Storage>> share(const Ref<Storage>& s) {
  if (!can_share(*s)) return s->clone();
  if (SharedBlock* block = block_of(*s)) return view_of_block(*block);
  const auto block = support::make_ref<SharedBlock>(support::make_ref<Storage>(*s));
  *s = *view_of_block(*block);
  return view_of_block(*block);
}

Result<support::Unit> own(Storage& s) {
  const Ref<SharedBlock> block(block_of(s));
  if (!block) return support::Unit{};
  const std::uint64_t begin = nanoseconds();
  constexpr std::uint32_t kAlone = 2;  // this storage, and the reference above
  while (block->use_count() > kAlone) {
    auto made = block->memory->clone();
    if (made.ok()) {
      hand_over(**made, s);
      break;
    }
    if (!reclaim()) return support::Failure(std::move(made).error());
  }
  if (shared_block(s)) hand_over(*block->memory, s);
  t_owning_time += nanoseconds() - begin;
  return support::Unit{};
}

Result<support::Unit> own_all(const Value& v) {
  std::vector<Value> open{v};  // tuples nest as deep as a program made them
  while (!open.empty()) {
    const Value part = std::move(open.back());
    open.pop_back();
    if (part.is(ValueKind::Tensor)) RLDB_TRY_VOID(own(*part.as_tensor().storage()));
    if (part.is(ValueKind::Storage)) RLDB_TRY_VOID(own(*part.storage_ref()));
    if (const auto* map = object_in<MapValue>(part))
      for (const auto& [key, item] : map->items) open.push_back(item);
    if (!part.is(ValueKind::Tuple)) continue;
    const std::vector<Value>& fields = part.as_tuple().fields;
    open.insert(open.end(), fields.begin(), fields.end());
  }
  return support::Unit{};
}

}  // namespace rldb::runtime
