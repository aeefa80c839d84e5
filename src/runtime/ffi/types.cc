// Types of objects: a tree by single inheritance. Children get numbers from slots that their parent reserved, so that
// "is it one of these" is a comparison for most types; the rest look at the list of ancestors.
#include "runtime/ffi/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/ffi/export.h"

namespace rldb::runtime::ffi {

namespace {

struct TypeEntry {
  TVMFFITypeInfo info{};
  std::string key;
  std::vector<const TVMFFITypeInfo*> ancestors;
  std::int32_t next_slot = 0, slots_end = 0;
  bool can_overflow = true;
};

struct StaticType {
  std::int32_t index;
  std::string_view key;
};
constexpr std::array kStaticTypes = {StaticType{kTVMFFINone, "None"},
                                     StaticType{kTVMFFIInt, "int"},
                                     StaticType{kTVMFFIBool, "bool"},
                                     StaticType{kTVMFFIFloat, "float"},
                                     StaticType{kTVMFFIOpaquePtr, "void*"},
                                     StaticType{kTVMFFIDataType, "DataType"},
                                     StaticType{kTVMFFIDevice, "Device"},
                                     StaticType{kTVMFFIDLTensorPtr, "DLTensor*"},
                                     StaticType{kTVMFFIRawStr, "const char*"},
                                     StaticType{kTVMFFIByteArrayPtr, "TVMFFIByteArray*"},
                                     StaticType{kTVMFFIObjectRValueRef, "ObjectRValueRef"},
                                     StaticType{kTVMFFISmallStr, "ffi.SmallStr"},
                                     StaticType{kTVMFFISmallBytes, "ffi.SmallBytes"},
                                     StaticType{kTVMFFIObject, "ffi.Object"},
                                     StaticType{kTVMFFIStr, "ffi.String"},
                                     StaticType{kTVMFFIBytes, "ffi.Bytes"},
                                     StaticType{kTVMFFIError, "ffi.Error"},
                                     StaticType{kTVMFFIFunction, "ffi.Function"},
                                     StaticType{kTVMFFIShape, "ffi.Shape"},
                                     StaticType{kTVMFFITensor, "ffi.Tensor"},
                                     StaticType{kTVMFFIArray, "ffi.Array"},
                                     StaticType{kTVMFFIMap, "ffi.Map"},
                                     StaticType{kTVMFFIModule, "ffi.Module"},
                                     StaticType{kTVMFFIOpaquePyObject, "ffi.OpaquePyObject"},
                                     StaticType{kTVMFFIList, "ffi.List"},
                                     StaticType{kTVMFFIDict, "ffi.Dict"}};

class TypeTable {
 public:
  TypeTable() {
    for (const StaticType& t : kStaticTypes)
      add(t.key, t.index, t.index > kTVMFFIObject ? by_index_.at(kTVMFFIObject) : nullptr, 0, true);
  }

  std::int32_t get_or_add(std::string_view key, std::int32_t static_index, std::int32_t slots, bool can_overflow,
                          std::int32_t parent_index) {
    const std::lock_guard lock(mutex_);
    if (const auto it = by_key_.find(key); it != by_key_.end()) return it->second->info.type_index;
    const auto parent = by_index_.find(parent_index);
    TypeEntry* above = parent == by_index_.end() ? nullptr : parent->second;
    slots = std::max(slots, 0);
    std::int32_t index = static_index;
    if (index < 0) index = take_slot(above, slots + 1);
    if (index < 0 || by_index_.contains(index)) return -1;
    return add(key, index, above, slots, can_overflow)->info.type_index;
  }
  const TypeEntry* find(std::int32_t index) {
    const std::lock_guard lock(mutex_);
    const auto it = by_index_.find(index);
    return it == by_index_.end() ? nullptr : it->second;
  }
  std::int32_t find(std::string_view key) {
    const std::lock_guard lock(mutex_);
    const auto it = by_key_.find(key);
    return it == by_key_.end() ? -1 : it->second->info.type_index;
  }

 private:
  std::int32_t take_slot(TypeEntry* parent, std::int32_t count) {
    if (parent && parent->slots_end - parent->next_slot >= count) {
      const std::int32_t first = parent->next_slot;
      parent->next_slot += count;
      return first;
    }
    if (parent && !parent->can_overflow) return -1;
    const std::int32_t first = next_;
    if (__builtin_add_overflow(next_, count, &next_)) return -1;
    return first;
  }
  TypeEntry* add(std::string_view key, std::int32_t index, const TypeEntry* parent, std::int32_t slots,
                 bool can_overflow) {
    TypeEntry& e = entries_.emplace_back();
    e.key = key;
    if (parent) {
      e.ancestors = parent->ancestors;
      e.ancestors.push_back(&parent->info);
    }
    e.next_slot = index + 1;
    e.slots_end = index + 1 + slots;
    e.can_overflow = can_overflow;
    e.info.type_index = index;
    e.info.type_depth = std::int32_t(e.ancestors.size());
    e.info.type_key = {e.key.data(), e.key.size()};
    e.info.type_ancestors = e.ancestors.data();
    e.info.type_key_hash = std::hash<std::string_view>()(key);
    by_index_[index] = &e;
    by_key_[e.key] = &e;
    return &e;
  }
  std::mutex mutex_;
  std::deque<TypeEntry> entries_;
  std::map<std::int32_t, TypeEntry*> by_index_;
  std::map<std::string_view, TypeEntry*, std::less<>> by_key_;
  std::int32_t next_ = kTVMFFIDynObjectBegin;
};

// Never destroyed: a plugin's code may run at exit.
TypeTable& types() {
  static auto* made = new TypeTable();
  return *made;
}

std::string_view view_of_bytes(const TVMFFIByteArray* bytes) { return {bytes->data, bytes->size}; }

}  // namespace

std::int32_t type_index_of(std::string_view key) { return types().get_or_add(key, -1, 0, true, kTVMFFIObject); }

std::string type_name(std::int32_t index) {
  const TypeEntry* e = types().find(index);
  return e ? e->key : fmt::format("type {}", index);
}

extern "C" {

RLDB_FFI_EXPORT std::int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray* key, std::int32_t static_index,
                                                       std::int32_t, std::int32_t child_slots,
                                                       std::int32_t can_overflow, std::int32_t parent_index) {
  return types().get_or_add(view_of_bytes(key), static_index, child_slots, can_overflow != 0, parent_index);
}

RLDB_FFI_EXPORT const TVMFFITypeInfo* TVMFFIGetTypeInfo(std::int32_t index) {
  const auto* e = types().find(index);
  return e ? &e->info : nullptr;
}

RLDB_FFI_EXPORT int TVMFFITypeKeyToIndex(const TVMFFIByteArray* key, std::int32_t* out) {
  *out = types().find(view_of_bytes(key));
  if (*out >= 0) return 0;
  const std::string message = fmt::format("no type is called `{}`", view_of_bytes(key));
  TVMFFIErrorSetRaisedFromCStr("KeyError", message.c_str());
  return -1;
}

RLDB_FFI_EXPORT int TVMFFITypeRegisterField(std::int32_t, const void*) { return 0; }
RLDB_FFI_EXPORT int TVMFFITypeRegisterMethod(std::int32_t, const TVMFFIMethodInfo*) { return 0; }
RLDB_FFI_EXPORT int TVMFFITypeRegisterMetadata(std::int32_t, const void*) { return 0; }
RLDB_FFI_EXPORT int TVMFFITypeRegisterAttr(std::int32_t, const TVMFFIByteArray*, const TVMFFIAny*) { return 0; }
RLDB_FFI_EXPORT const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(const TVMFFIByteArray*) { return nullptr; }
}

}  // namespace rldb::runtime::ffi
