// Copies of storages on a device: their bytes both ways, and memory that is given up for others.
#include "codegen/gpu/residence.h"

#include "codegen/gpu/wait.h"
#include "rldb/runtime/device_error.h"
#include "rldb/runtime/shared_memory.h"
#include "rldb/support/cancel.h"

namespace rldb::codegen {

using runtime::Result;
using support::Ref;
using support::Unit;

namespace {

// Those that were not used for longest first.
std::list<ResidentCopy*>& residents() {
  static auto* all = new std::list<ResidentCopy*>();
  // The host may need the memory of a device that is a CPU.
  static const auto* reclaimer = new runtime::Reclaimer([] { return ResidentCopy::give_up_one(nullptr); });
  (void)reclaimer;
  return *all;
}

}  // namespace

ResidentCopy::ResidentCopy(GpuDevice& device, std::byte* host, std::size_t bytes)
    : device_(device), host_(host), bytes_(bytes) {
  const std::lock_guard lock(account_mutex());
  place_ = residents().insert(residents().end(), this);
}

ResidentCopy::~ResidentCopy() {
  const std::lock_guard lock(account_mutex());
  residents().erase(place_);
}

void ResidentCopy::use() {
  const std::lock_guard lock(account_mutex());
  ++uses_;
}

void ResidentCopy::unuse() {
  const std::lock_guard lock(account_mutex());
  --uses_;
}

Ref<ResidentCopy> ResidentCopy::of(GpuDevice& device, const runtime::Storage& storage) {
  if (auto* known = static_cast<ResidentCopy*>(storage.device_copy())) {
    if (&known->device_ == &device) return Ref<ResidentCopy>(known);
    (void)storage.data();
  }
  Ref<ResidentCopy> made(new ResidentCopy(device, storage.host_memory(), storage.size()));
  storage.set_device_copy(made);
  return made;
}

Result<GpuMemory*> ResidentCopy::memory() {
  const std::lock_guard lock(account_mutex());
  residents().splice(residents().end(), residents(), place_);
  if (!memory_) {
    RLDB_TRY(memory_, GpuMemory::allocate(device_, bytes_));
  }
  return memory_.get();
}

Result<Unit> ResidentCopy::update(bool is_untouched) {
  if (current() != Current::Host) return Unit{};
  RLDB_TRY(GpuMemory* const to, memory());
  RLDB_TRY_VOID(is_untouched ? to->clear() : to->write(host_, bytes_));
  set_current(Current::Both);
  return Unit{};
}

bool ResidentCopy::fetch() {
  const std::lock_guard lock(account_mutex());
  if (current() != Current::Device) return false;  // it was given up meanwhile: the host has the bytes
  auto done = wait_for_abandoned(device_, &support::cancel_flag(), "a tensor is copied from the device");
  if (done.ok()) done = memory_->read(host_, bytes_);
  if (!done.ok()) runtime::note_device_error(std::move(done).error());
  return done.ok();
}

bool ResidentCopy::clear(std::size_t at, std::size_t bytes) {
  const std::lock_guard lock(account_mutex());
  return !device_.abandoned && memory_ && memory_->clear(at, bytes).ok();
}

bool ResidentCopy::give_up_one(const GpuDevice* device) {
  const std::lock_guard lock(account_mutex());
  for (ResidentCopy* r : residents()) {
    if (r->uses_ > 0 || !r->memory_ || (device ? &r->device_ != device : !r->device_.is_cpu)) continue;
    if (r->current() == Current::Device && !r->fetch()) continue;
    r->set_current(Current::Host);
    r->memory_.reset();
    return true;
  }
  return false;
}

}  // namespace rldb::codegen
