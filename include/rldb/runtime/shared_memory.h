// Memory that several storages share until one of them is written, so that a copy of a run's state costs nothing and
// keeps only what was written since.
//
// `share` makes such a copy; from then on, whoever is about to write a storage calls `own` first, which moves that
// storage alone to memory of its own. Its identity stays, and so does what refers to it. The shared memory itself never
// changes. Users: vm (snapshots, and before each call that writes), debug, eval.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "rldb/runtime/value.h"

namespace rldb::runtime {

// Smaller storages are copied at once: 64 KiB, unless a test sets it.
void set_shared_from(std::size_t bytes);

// Whether `share` copies nothing: memory of the host that belongs to a storage or is shared already, and is not pinned.
bool can_share(const Storage& s);
// A storage with the same contents, whatever happens to either of them later. Errors: OutOfMemory, of a copy.
Result<Ref<Storage>> share(const Ref<Storage>& s);
// The same for all storages that share their memory; null: it is this storage's alone.
const Object* shared_block(const Storage& s);

// To be called before a write: the storage's memory is its own afterwards, with its contents: a kernel that is said to
// overwrite all of them may still fault or leave before it has. Errors: OutOfMemory.
Result<support::Unit> own(Storage& s);
// All tensors and storages in a value.
Result<support::Unit> own_all(const Value& v);

// While one lives, the memory of these tensors stays where it is. May end on any thread.
class Pinned {
 public:
  explicit Pinned(std::span<const Value> values);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  std::size_t times(const Storage& s) const;  // how often it is among them

 private:
  std::vector<Ref<Storage>> storages_;
};

// While one lives, what this thread allocates is a debugger's: it does not count as memory that the program uses on a
// device.
class ForHistory {
 public:
  ForHistory();
  ~ForHistory();
  ForHistory(const ForHistory&) = delete;
  ForHistory& operator=(const ForHistory&) = delete;

 private:
  bool before_;
};

// Whether somebody has the address of its memory, so that a device may not keep its bytes.
bool is_pinned(const Storage& s);
// Whether somebody else than these has it.
bool is_pinned_besides(const Storage& s, const Pinned* these);
// False: nobody has that of any memory.
bool any_pinned();

// Nanoseconds that this thread has spent in `own`.
std::uint64_t owning_time();

// Called when there is no memory for a copy: gives up something that shares memory; false: there is nothing left.
class Reclaimer {
 public:
  explicit Reclaimer(std::function<bool()> give_up);
  ~Reclaimer();
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;

 private:
  std::function<bool()> give_up_;
  friend bool reclaim();
};
// Asks the reclaimers, one after the other, until one gave something up. False: none did.
bool reclaim();

}  // namespace rldb::runtime
