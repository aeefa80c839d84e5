// Objects of the C ABI: references to them, and those that rldb makes. Room-private.
//
// An object made here is known by its address until its memory is freed, which waits for the end of the outermost call
// of a plugin: a plugin that releases too much is then found, and reads stale bytes instead of somebody else's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/runtime/ffi_abi.h"
#include "rldb/runtime/value.h"

namespace rldb::runtime::ffi {

// Whether these bytes of this process can be read.
bool readable(const void* data, std::size_t bytes);

// Empty, or why `object` is none: null, not aligned, not readable, freed, of another type than `type_index` (if >= 0).
std::string why_not_object(const TVMFFIObject* object, std::int32_t type_index = -1);

void retain(TVMFFIObject* object);
void release(TVMFFIObject* object);
std::uint32_t strong_count(const TVMFFIObject* object);

// An owned reference.
class Handle {
 public:
  Handle() = default;
  static Handle adopt(TVMFFIObject* object) { return Handle(object); }
  static Handle share(TVMFFIObject* object) {
    if (object) retain(object);
    return Handle(object);
  }
  Handle(Handle&& o) noexcept : object_(std::exchange(o.object_, nullptr)) {}
  Handle(const Handle& o) : Handle(share(o.object_)) {}
  Handle& operator=(Handle o) noexcept {
    std::swap(object_, o.object_);
    return *this;
  }
  ~Handle() {
    if (object_) release(object_);
  }
  TVMFFIObject* get() const { return object_; }
  TVMFFIObject* give() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Handle(TVMFFIObject* object) : object_(object) {}
  TVMFFIObject* object_ = nullptr;
};

template <class Cell>
Cell& cell_of(TVMFFIObject* object) {
  return *static_cast<Cell*>(TVMFFICellOf(object));
}
template <class Cell>
const Cell& cell_of(const TVMFFIObject* object) {
  return *reinterpret_cast<const Cell*>(object + 1);
}

inline TVMFFIAny any_of(Handle object) {
  TVMFFIAny any{};
  any.type_index = object.get()->type_index;
  any.v_obj = object.give();
  return any;
}
// Releases what it owns.
void drop(TVMFFIAny& any);

// ---- made here ----

Handle make_text(std::string_view bytes, std::int32_t type_index);  // Str or Bytes
Handle make_shape(std::vector<std::int64_t> dims);
Handle make_tensor(const Value& tensor);
// Another shape of the memory of `source`, which stays alive.
Handle make_view(Handle source, const DLTensor& prototype);
Handle make_array(std::vector<TVMFFIAny> items);  // owned
Handle make_map(std::vector<std::pair<TVMFFIAny, TVMFFIAny>> items);
Handle make_function(const Value& function, TVMFFISafeCallType code);
Handle make_c_function(void* self, TVMFFISafeCallType code, void (*deleter)(void*));
// The code that a function object runs, of one that was made here from foreign code too.
TVMFFISafeCallType code_of(TVMFFIObject* function);
Handle make_error(std::string_view kind, std::string_view message, std::string_view backtrace, Handle cause = {},
                  Handle context = {});
Handle make_opaque(void* handle, std::int32_t type_index, void (*deleter)(void*));
Handle make_managed(DLManagedTensor* tensor);
Handle make_managed(DLManagedTensorVersioned* tensor);
// Any other value of rldb: opaque for a plugin.
Handle make_value(const Value& value);

// The value that an object was made from; null for objects of other origin.
const Value* value_in(const TVMFFIObject* object);
// Made here and freed, as far as is still known.
bool is_freed(const void* object);

// While one exists on any thread, memory of freed objects is kept.
class KeepFreed {
 public:
  KeepFreed();
  ~KeepFreed();
  KeepFreed(const KeepFreed&) = delete;
  KeepFreed& operator=(const KeepFreed&) = delete;
};

}  // namespace rldb::runtime::ffi
