#include "rldb/runtime/clear.h"

#include <cstring>

#include "rldb/runtime/shared_memory.h"

namespace rldb::runtime {

using Current = DeviceCopy::Current;

Result<support::Unit> clear(const Tensor& t) {
  const std::size_t bytes = t.byte_size();
  if (bytes == 0) return support::Unit{};
  Storage& s = *t.storage();
  if (s.is_untouched()) return support::Unit{};
  RLDB_TRY_VOID(own(s));
  auto* copy = is_pinned(s) ? nullptr : dynamic_cast<ClearableCopy*>(s.device_copy());
  const bool is_whole = bytes == s.size();
  if (!copy || (copy->current() == Current::Host && !is_whole) || !copy->clear(t.byte_offset(), bytes)) {
    std::memset(t.data(), 0, bytes);
    return support::Unit{};
  }
  if (copy->current() == Current::Device) return support::Unit{};
  std::memset(s.host_memory() + t.byte_offset(), 0, bytes);
  copy->set_current(Current::Both);
  return support::Unit{};
}

}  // namespace rldb::runtime
