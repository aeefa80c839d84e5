// Values of rldb as values of the C ABI.
#include <fmt/format.h>

#include "rldb/runtime/object_value.h"
#include "runtime/ffi/call.h"
#include "runtime/ffi/foreign.h"

namespace rldb::runtime::ffi {

namespace {

constexpr std::size_t kSmallText = 7;

TVMFFIAny text_any(std::string_view text, std::int32_t small, std::int32_t large) {
  if (text.size() > kSmallText) return any_of(make_text(text, large));
  TVMFFIAny any{};
  any.type_index = small;
  any.small_str_len = std::uint32_t(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) any.v_bytes[i] = text[i];
  return any;
}

Result<TVMFFIAny> owned(const Value& value, int depth);

void drop_all(std::vector<TVMFFIAny>& items) {
  for (TVMFFIAny& any : items) drop(any);
}

Result<TVMFFIAny> owned_tuple(const Tuple& tuple, int depth) {
  if (depth > kMaxNesting)
    return fail(ErrorKind::Unsupported, fmt::format("tuples nested deeper than {}", kMaxNesting));
  std::vector<TVMFFIAny> items;
  for (const Value& field : tuple.fields) {
    auto item = owned(field, depth + 1);
    if (!item.ok()) {
      drop_all(items);
      return item;
    }
    items.push_back(*item);
  }
  return any_of(make_array(std::move(items)));
}

Result<TVMFFIAny> owned_map(const MapValue& map, int depth) {
  std::vector<TVMFFIAny> made;
  for (const auto& [key, value] : map.items) {
    for (const Value* v : {&key, &value}) {
      auto item = owned(*v, depth + 1);
      if (!item.ok()) {
        drop_all(made);
        return item;
      }
      made.push_back(*item);
    }
  }
  std::vector<std::pair<TVMFFIAny, TVMFFIAny>> items;
  for (std::size_t i = 0; i < made.size(); i += 2) items.emplace_back(made[i], made[i + 1]);
  return any_of(make_map(std::move(items)));
}

Result<TVMFFIAny> owned_object(const Value& value, int depth) {
  TVMFFIAny any{};
  if (const auto* device = object_in<DeviceValue>(value)) {
    any.type_index = kTVMFFIDevice;
    any.v_device = {device->device.type, device->device.id};
    return any;
  }
  if (const auto* pointer = object_in<PointerValue>(value)) {
    any.type_index = kTVMFFIOpaquePtr;
    any.v_ptr = pointer->pointer;
    return any;
  }
  if (const auto* bytes = object_in<BytesValue>(value)) return text_any(bytes->bytes, kTVMFFISmallBytes, kTVMFFIBytes);
  if (const auto* map = object_in<MapValue>(value)) return owned_map(*map, depth);
  if (const auto* foreign = object_in<ForeignObject>(value)) return any_of(Handle::share(foreign->object()));
  return any_of(make_value(value));
}

Result<TVMFFIAny> owned(const Value& value, int depth) {
  TVMFFIAny any{};
  switch (value.kind()) {
    case ValueKind::Null:
      return any;
    case ValueKind::Int:
      any.type_index = kTVMFFIInt;
      any.v_int64 = value.as_int();
      return any;
    case ValueKind::Bool:
      any.type_index = kTVMFFIBool;
      any.v_int64 = value.as_int();
      return any;
    case ValueKind::Float:
      any.type_index = kTVMFFIFloat;
      any.v_float64 = value.as_float();
      return any;
    case ValueKind::DType: {
      const DType t = value.as_dtype();
      any.type_index = kTVMFFIDataType;
      any.v_dtype = {std::uint8_t(t.code), t.bits, std::uint16_t(t.lanes)};
      return any;
    }
    case ValueKind::String:
      return text_any(value.as_string(), kTVMFFISmallStr, kTVMFFIStr);
    case ValueKind::Shape:
      return any_of(make_shape(value.as_shape()));
    case ValueKind::Tensor:
      return any_of(make_tensor(value));
    case ValueKind::Tuple:
      // A constructor of a Relay type has a tag besides its fields.
      if (dynamic_cast<const Described*>(value.object())) return any_of(make_value(value));
      return owned_tuple(value.as_tuple(), depth);
    case ValueKind::Function:
      if (const auto* foreign = dynamic_cast<const ForeignFunction*>(value.object()))
        if (foreign->captured.empty()) return any_of(Handle::share(foreign->object));
      return any_of(make_function(value, call_value));
    case ValueKind::Storage:
      return any_of(make_value(value));
    case ValueKind::Object:
      return owned_object(value, depth);
  }
  return any;
}

}  // namespace

Result<TVMFFIAny> to_owned(const Value& value) { return owned(value, 0); }

}  // namespace rldb::runtime::ffi
