#include "rldb/runtime/tensor_place.h"

#include <fmt/format.h>

namespace rldb::runtime {

std::string place_of(const Value& v) {
  if (!v.is(ValueKind::Tensor) && !v.is(ValueKind::Storage)) return {};
  const Ref<Storage> storage = v.is(ValueKind::Tensor) ? v.as_tensor().storage() : v.storage_ref();
  const std::string host = to_string(storage->device());
  const DeviceCopy* copy = storage->device_copy();
  if (!copy || copy->current() == DeviceCopy::Current::Host) return host;
  const std::string device = to_string(copy->device());
  return copy->current() == DeviceCopy::Current::Device ? device : fmt::format("{} and {}", host, device);
}

}  // namespace rldb::runtime
