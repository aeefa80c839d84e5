// The rest of the C ABI that plugins may call: objects, texts, dtypes, tensors by DLPack, one-time initialisation.
#include <fmt/format.h>

#include <mutex>

#include "runtime/ffi/backend.h"
#include "runtime/ffi/call.h"
#include "runtime/ffi/export.h"

namespace rldb::runtime::ffi {

namespace {

thread_local DLPackManagedTensorAllocator t_allocator = nullptr;
DLPackManagedTensorAllocator g_allocator = nullptr;

// -1 with an error set, if it is no object.
int check_object(const char* what, const TVMFFIObject* object, std::int32_t type_index = -1) {
  const std::string why = why_not_object(object, type_index);
  if (why.empty()) return 0;
  raise("TypeError", fmt::format("{}: {}", what, why));
  return -1;
}

int give_text(const TVMFFIByteArray* input, std::int32_t small, std::int32_t large, TVMFFIAny* out) {
  if (!input || !out || !readable(input->data, input->size)) {
    raise("ValueError", "a text that cannot be read");
    return -1;
  }
  const std::string_view text(input->data ? input->data : "", input->size);
  *out = {};
  if (text.size() > 7) {
    *out = any_of(make_text(text, large));
    return 0;
  }
  out->type_index = small;
  out->small_str_len = std::uint32_t(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) out->v_bytes[i] = text[i];
  return 0;
}

int check_layout(const DLTensor& t, std::int32_t alignment, std::int32_t contiguous) {
  const auto address = reinterpret_cast<std::uintptr_t>(t.data) + t.byte_offset;
  if (alignment > 0 && address % std::uintptr_t(alignment) != 0) {
    raise("RuntimeError", fmt::format("the tensor is not aligned to {} bytes", alignment));
    return -1;
  }
  std::int64_t expected = 1;
  for (std::int32_t d = t.ndim; contiguous != 0 && t.strides && d-- > 0;) {
    if (t.shape[d] != 1 && t.strides[d] != expected) {
      raise("RuntimeError", "the tensor is not contiguous");
      return -1;
    }
    expected *= t.shape[d];
  }
  return 0;
}

template <class Managed>
int from_dlpack(Managed* from, std::int32_t alignment, std::int32_t contiguous, TVMFFIObjectHandle* out) {
  if (!from || !out) {
    raise("ValueError", "a null tensor");
    return -1;
  }
  if (check_layout(from->dl_tensor, alignment, contiguous) != 0) return -1;
  *out = make_managed(from).give();
  return 0;
}

template <class Managed>
void end_managed(Managed* self) {
  release(static_cast<TVMFFIObject*>(self->manager_ctx));
  delete self;
}

template <class Managed>
Managed* to_managed(TVMFFIObject* object) {
  auto* made = new Managed{};
  made->dl_tensor = cell_of<DLTensor>(object);
  made->manager_ctx = object;
  made->deleter = end_managed<Managed>;
  retain(object);
  return made;
}

void set_error_of_allocator(void*, const char* kind, const char* message) {
  raise(kind ? kind : "", message ? message : "");
}

}  // namespace

// Those of globals.cc come with find_global.
void link_exports() {
  (void)find_global("");
  link_surroundings();
}

extern "C" {

RLDB_FFI_EXPORT int TVMFFIObjectIncRef(TVMFFIObjectHandle handle) {
  auto* object = static_cast<TVMFFIObject*>(handle);
  if (check_object("TVMFFIObjectIncRef", object) != 0) return -1;
  retain(object);
  return 0;
}

RLDB_FFI_EXPORT int TVMFFIObjectDecRef(TVMFFIObjectHandle handle) {
  auto* object = static_cast<TVMFFIObject*>(handle);
  if (const std::string why = why_not_object(object); !why.empty()) {
    note_misuse(fmt::format("released {}", why));
    raise("TypeError", fmt::format("TVMFFIObjectDecRef: {}", why));
    return -1;
  }
  release(object);
  return 0;
}

RLDB_FFI_EXPORT int TVMFFIObjectCreateOpaque(void* handle, std::int32_t type_index, void (*deleter)(void*),
                                             TVMFFIObjectHandle* out) {
  if (type_index != kTVMFFIOpaquePyObject && type_index < kTVMFFIDynObjectBegin) {
    raise("ValueError", fmt::format("type index {} is not that of an opaque object", type_index));
    return -1;
  }
  *out = make_opaque(handle, type_index, deleter).give();
  return 0;
}

RLDB_FFI_EXPORT int TVMFFIAnyViewToOwnedAny(const TVMFFIAny* view, TVMFFIAny* out) {
  if (view->type_index >= kTVMFFIStaticObjectBegin) {
    if (check_object("TVMFFIAnyViewToOwnedAny", view->v_obj, view->type_index) != 0) return -1;
    retain(view->v_obj);
    *out = *view;
    return 0;
  }
  switch (view->type_index) {
    case kTVMFFIRawStr:
    case kTVMFFIByteArrayPtr:
    case kTVMFFIObjectRValueRef: {
      const auto value = to_value(*view);
      auto any = value.ok() ? to_owned(*value) : Result<TVMFFIAny>(support::Failure(value.error()));
      if (!any.ok()) {
        raise(any.error());
        return -1;
      }
      *out = *any;
      return 0;
    }
    default:  // plain data
      *out = *view;
      return 0;
  }
}

RLDB_FFI_EXPORT int TVMFFIStringFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out) {
  return give_text(input, kTVMFFISmallStr, kTVMFFIStr, out);
}

RLDB_FFI_EXPORT int TVMFFIBytesFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out) {
  return give_text(input, kTVMFFISmallBytes, kTVMFFIBytes, out);
}

RLDB_FFI_EXPORT int TVMFFIDataTypeFromString(const TVMFFIByteArray* text, DLDataType* out) {
  const std::string_view name(text->data, text->size);
  const auto t = parse_dtype(name);
  if (!t) {
    raise("ValueError", fmt::format("unknown dtype `{}`", name));
    return -1;
  }
  *out = {std::uint8_t(t->code), t->bits, std::uint16_t(t->lanes)};
  return 0;
}

RLDB_FFI_EXPORT int TVMFFIDataTypeToString(const DLDataType* t, TVMFFIAny* out) {
  const std::string name = to_string(DType{TypeCode(t->code), t->bits, std::int16_t(t->lanes)});
  const TVMFFIByteArray bytes{name.data(), name.size()};
  return TVMFFIStringFromByteArray(&bytes, out);
}

RLDB_FFI_EXPORT int TVMFFITensorFromDLPack(DLManagedTensor* from, std::int32_t alignment, std::int32_t contiguous,
                                           TVMFFIObjectHandle* out) {
  return from_dlpack(from, alignment, contiguous, out);
}

RLDB_FFI_EXPORT int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned* from, std::int32_t alignment,
                                                    std::int32_t contiguous, TVMFFIObjectHandle* out) {
  return from_dlpack(from, alignment, contiguous, out);
}

RLDB_FFI_EXPORT int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor** out) {
  auto* object = static_cast<TVMFFIObject*>(from);
  if (check_object("TVMFFITensorToDLPack", object, kTVMFFITensor) != 0) return -1;
  *out = to_managed<DLManagedTensor>(object);
  return 0;
}

RLDB_FFI_EXPORT int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from, DLManagedTensorVersioned** out) {
  auto* object = static_cast<TVMFFIObject*>(from);
  if (check_object("TVMFFITensorToDLPackVersioned", object, kTVMFFITensor) != 0) return -1;
  *out = to_managed<DLManagedTensorVersioned>(object);
  (*out)->version = {1, 1};
  return 0;
}

RLDB_FFI_EXPORT int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source, const DLTensor* prototype,
                                                 TVMFFIObjectHandle* out) {
  auto* object = static_cast<TVMFFIObject*>(source);
  if (check_object("TVMFFITensorCreateUnsafeView", object, kTVMFFITensor) != 0) return -1;
  if (!prototype || prototype->ndim < 0 || !readable(prototype->shape, std::size_t(prototype->ndim) * 8)) {
    raise("ValueError", "a view without a shape");
    return -1;
  }
  *out = make_view(Handle::share(object), *prototype).give();
  return 0;
}

RLDB_FFI_EXPORT int TVMFFIEnvTensorAlloc(DLTensor* prototype, TVMFFIObjectHandle* out) {
  if (const auto allocator = t_allocator ? t_allocator : g_allocator) {
    DLManagedTensorVersioned* made = nullptr;
    if (allocator(prototype, &made, nullptr, set_error_of_allocator) != 0) return -1;
    return from_dlpack(made, 0, 0, out);
  }
  if (prototype->ndim < 0 || !readable(prototype->shape, std::size_t(prototype->ndim) * 8)) {
    raise("ValueError", "a tensor without a shape");
    return -1;
  }
  const DType dtype{TypeCode(prototype->dtype.code), prototype->dtype.bits, std::int16_t(prototype->dtype.lanes)};
  auto made = Tensor::empty({prototype->shape, prototype->shape + prototype->ndim}, dtype,
                            {prototype->device.device_type, prototype->device.device_id});
  if (!made.ok()) {
    raise(std::move(made).error());
    return -1;
  }
  *out = make_tensor(Value(*std::move(made))).give();
  return 0;
}

RLDB_FFI_EXPORT int TVMFFIEnvSetDLPackManagedTensorAllocator(DLPackManagedTensorAllocator allocator,
                                                             int write_to_global,
                                                             DLPackManagedTensorAllocator* previous) {
  if (previous) *previous = t_allocator;
  keep_library_of(reinterpret_cast<const void*>(allocator));
  t_allocator = allocator;
  if (write_to_global != 0) g_allocator = allocator;
  return 0;
}

RLDB_FFI_EXPORT DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator() {
  return t_allocator ? t_allocator : g_allocator;
}

RLDB_FFI_EXPORT int TVMFFIHandleInitOnce(void** handle, int (*init)(void** result)) {
  if (__atomic_load_n(handle, __ATOMIC_ACQUIRE)) return 0;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (__atomic_load_n(handle, __ATOMIC_ACQUIRE)) return 0;
  void* made = nullptr;
  if (const int status = init(&made); status != 0) return status;
  if (!made) {
    raise("RuntimeError", "an initialiser set no handle");
    return -1;
  }
  __atomic_store_n(handle, made, __ATOMIC_RELEASE);
  return 0;
}

RLDB_FFI_EXPORT int TVMFFIHandleDeinitOnce(void** handle, int (*deinit)(void* handle)) {
  void* old = __atomic_exchange_n(handle, nullptr, __ATOMIC_ACQ_REL);
  return old ? deinit(old) : 0;
}
}

}  // namespace rldb::runtime::ffi
