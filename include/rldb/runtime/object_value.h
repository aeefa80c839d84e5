// Objects of the C ABI as values: what a plugin can return, keep and take besides numbers, texts, tensors and tuples.
//
// Each is a Value of kind Object that describes itself. Immutable; a ForeignObject owns a reference to an object of a
// plugin and keeps the plugin loaded. Used by runtime/ffi and runtime/plugin; made by text literals (`device(cuda:0)`).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rldb/runtime/described.h"
#include "rldb/runtime/value.h"

namespace rldb::runtime {

class DeviceValue : public Object, public Described {
 public:
  explicit DeviceValue(Device device) : device(device) {}
  std::string description(std::size_t width) const override;
  const Device device;
};

class BytesValue : public Object, public Described {
 public:
  explicit BytesValue(std::string bytes) : bytes(std::move(bytes)) {}
  std::string description(std::size_t width) const override;
  const std::string bytes;
};

// An address that only the plugin understands.
class PointerValue : public Object, public Described {
 public:
  explicit PointerValue(void* pointer) : pointer(pointer) {}
  std::string description(std::size_t width) const override;
  void* const pointer;
};

// In the order of its insertions.
class MapValue : public Object, public Described {
 public:
  explicit MapValue(std::vector<std::pair<Value, Value>> items) : items(std::move(items)) {}
  std::string description(std::size_t width) const override;
  const std::vector<std::pair<Value, Value>> items;
};

// The object of that class in a value, or null.
template <class T>
const T* object_in(const Value& v) {
  return v.is(ValueKind::Object) ? dynamic_cast<const T*>(v.object()) : nullptr;
}

}  // namespace rldb::runtime
