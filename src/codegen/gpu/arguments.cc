// One call's tensors: where they are on the device, and what a fault brings back.
//
// A tensor is the whole of its storage's copy on the device, a part of it, or, where no part may begin, a copy of that
// part made on the device. Tensors whose address somebody has are copied from the host and back.
#include "codegen/gpu/call.h"
#include "rldb/runtime/shared_memory.h"

namespace rldb::codegen {

using runtime::Result;
using Current = runtime::DeviceCopy::Current;

GpuCall::~GpuCall() {
  for (auto& [at, shared] : tensors_)
    if (shared.resident) shared.resident->unuse();
}

void GpuCall::reside(Shared& shared) {
  if (shared.resident || runtime::is_pinned(*shared.storage)) return;
  shared.is_new = shared.storage->is_untouched();
  shared.resident = ResidentCopy::of(device_, *shared.storage);
  shared.on_host = shared.resident->current() != Current::Device;
  shared.resident->use();
}

Result<support::Unit> GpuCall::copy_in() {
  for (const std::byte* at : order_) RLDB_TRY_VOID(copy_in(tensors_.at(at)));
  return Unit{};
}

Result<support::Unit> GpuCall::copy_in(Shared& shared) {
  if (!shared.resident) {
    RLDB_TRY_VOID(own_copy(shared));
    if (!shared.read) return Unit{};
    return shared.own->write(shared.storage->peek() + shared.at, shared.bytes);
  }
  // A kernel may write only a part: the rest stays as it is.
  const bool is_whole = shared.at == 0 && shared.bytes >= shared.storage->size();
  if (shared.read || !is_whole) RLDB_TRY_VOID(shared.resident->update(shared.is_new));
  RLDB_TRY(GpuMemory* const all, shared.resident->memory());
  shared.address = all->address();
  if (is_whole || shared.bytes == 0) return Unit{};
  if (shared.at % device_.part_alignment == 0) return place(shared);
  RLDB_TRY_VOID(own_copy(shared));
  return device_.copy(all->address(), shared.at, shared.own->address(), 0, shared.bytes);
}

Result<support::Unit> GpuCall::place(Shared& shared) {
  if (!shared.part) {
    RLDB_TRY(const GpuAddress part, device_.part(shared.address, shared.at, shared.bytes));
    shared.part = std::make_unique<GpuPart>(device_, part);
  }
  shared.address = shared.part->address();
  return Unit{};
}

Result<support::Unit> GpuCall::own_copy(Shared& shared) {
  if (!shared.own) {
    RLDB_TRY(shared.own, GpuMemory::allocate(device_, shared.bytes));
  }
  shared.address = shared.own->address();
  return Unit{};
}

Result<support::Unit> GpuCall::copy_out() {
  for (auto& [at, shared] : tensors_) {
    if (!shared.written || !shared.own) continue;
    if (!shared.resident) {
      RLDB_TRY_VOID(shared.own->read(shared.storage->data() + shared.at, shared.bytes));
      continue;
    }
    RLDB_TRY(GpuMemory* const all, shared.resident->memory());
    RLDB_TRY_VOID(device_.copy(shared.own->address(), 0, all->address(), shared.at, shared.bytes));
    shared.resident->set_current(Current::Device);
  }
  return Unit{};
}

// Of what only the device has, and a kernel with a fault may overwrite. Without tests for faults, a kernel can still be
// interrupted: what it reads has to be there when the call is repeated.
Result<support::Unit> GpuCall::keep_originals() {
  for (auto& [at, shared] : tensors_) {
    if (program_.sites.empty() && !shared.read) continue;
    if (!shared.written || !shared.resident || shared.own || shared.bytes == 0) continue;
    if (shared.resident->current() != Current::Device) continue;
    RLDB_TRY(shared.original, GpuMemory::allocate(device_, shared.bytes));
    RLDB_TRY(GpuMemory* const all, shared.resident->memory());
    RLDB_TRY_VOID(device_.copy(all->address(), shared.at, shared.original->address(), 0, shared.bytes));
  }
  return Unit{};
}

// A call that fails changes nothing: the host still has what it had, and what only the device had is brought back.
// All of it, whatever happens; the error is the first.
Result<support::Unit> GpuCall::restore() {
  Result<Unit> done = Unit{};
  for (auto& [at, shared] : tensors_)
    if (auto restored = restore(shared); !restored.ok() && done.ok()) done = std::move(restored);
  return done;
}

Result<support::Unit> GpuCall::restore(Shared& shared) {
  if (!shared.written || !shared.resident || shared.own) return Unit{};
  if (shared.original) {
    RLDB_TRY(GpuMemory* const all, shared.resident->memory());
    return device_.copy(shared.original->address(), 0, all->address(), shared.at, shared.bytes);
  }
  if (shared.on_host) shared.resident->set_current(Current::Host);
  return Unit{};
}

void GpuCall::note_written(const Launch& made) {
  for (const LaunchArgument& a : made.arguments) {
    const auto given = arguments_.find(a.var);
    if (a.kind != LaunchArgument::Kind::Memory || given == arguments_.end() || !program_.written.contains(a.var))
      continue;
    const Shared& shared = tensors_.at(given->second);
    if (shared.resident && !shared.own) shared.resident->set_current(Current::Device);
  }
}

}  // namespace rldb::codegen
