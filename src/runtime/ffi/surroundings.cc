// The part of the C ABI that is not about values: its version, where objects are put, streams, symbols for libraries
// that are loaded later or were linked together.
#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "runtime/ffi/backend.h"
#include "runtime/ffi/call.h"
#include "runtime/ffi/export.h"

namespace rldb::runtime::ffi {

namespace {

// The last version all of whose functions rldb has.
constexpr TVMFFIVersion kVersion{0, 1, 10};
constexpr std::string_view kFunctionPrefix = "__tvm_ffi_";

// ---- objects of the headers of C++ ----

// Lies before the object: the deleter gets the object's address only.
struct Before {
  void* block;
  TVMFFIObjectAllocHeader header;
};

void delete_space(void* object) { std::free((static_cast<Before*>(object) - 1)->block); }

void* allocate(std::size_t size, std::size_t alignment, std::int32_t, void*) {
  std::size_t offset = sizeof(Before);
  if (alignment > offset) offset = alignment;
  void* block = nullptr;
  if (::posix_memalign(&block, offset, offset + size) != 0) throw std::bad_alloc();
  void* object = static_cast<char*>(block) + offset;
  *(static_cast<Before*>(object) - 1) = {block, {delete_space}};
  return object;
}

TVMFFICustomAllocator g_own_allocator{allocate, nullptr};
std::atomic<TVMFFICustomAllocator*> g_object_allocator{&g_own_allocator};

// ---- streams ----

std::map<std::pair<std::int32_t, std::int32_t>, void*>& streams() {
  thread_local std::map<std::pair<std::int32_t, std::int32_t>, void*> by_device;
  return by_device;
}

// ---- symbols ----

struct Symbols {
  std::mutex mutex;
  std::map<std::string, void*> by_variable;
};
Symbols& symbols() {
  static auto* made = new Symbols();
  return *made;
}

}  // namespace

void link_surroundings() {}

// By the system, which knows the library of an address: a library may give one when it is loaded, in any later call,
// or on a thread of its own.
void keep_library_of(const void* address) {
  Dl_info found{};
  if (!address || ::dladdr(address, &found) == 0 || !found.dli_fname) return;
  if (void* library = ::dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)) ::dlclose(library);
}

std::map<std::string, void*> registered_context_symbols() {
  const std::lock_guard lock(symbols().mutex);
  return symbols().by_variable;
}

extern "C" {

RLDB_FFI_EXPORT void TVMFFIGetVersion(TVMFFIVersion* out) { *out = kVersion; }

RLDB_FFI_EXPORT TVMFFICustomAllocator* TVMFFIGetCustomAllocator() { return g_object_allocator.load(); }

RLDB_FFI_EXPORT int TVMFFISetCustomAllocator(TVMFFICustomAllocator* allocator) {
  if (allocator && allocator != &g_own_allocator) {
    keep_library_of(allocator);
    keep_library_of(reinterpret_cast<const void*>(allocator->allocate));
  }
  g_object_allocator = allocator ? allocator : &g_own_allocator;
  return 0;
}

RLDB_FFI_EXPORT int TVMFFIEnvSetStream(std::int32_t type, std::int32_t id, void* stream, void** previous) {
  void*& at = streams()[{type, id}];
  if (previous) *previous = at;
  at = stream;
  return 0;
}

RLDB_FFI_EXPORT void* TVMFFIEnvGetStream(std::int32_t type, std::int32_t id) {
  const auto it = streams().find({type, id});
  return it == streams().end() ? nullptr : it->second;
}

RLDB_FFI_EXPORT int TVMFFIEnvRegisterCAPI(const char*, void*) { return 0; }

RLDB_FFI_EXPORT int TVMFFIEnvModRegisterContextSymbol(const char* name, void* symbol) {
  if (!name) {
    raise("ValueError", "a context symbol without a name");
    return -1;
  }
  const std::lock_guard lock(symbols().mutex);
  symbols().by_variable[name] = symbol;
  keep_library_of(symbol);
  return 0;
}

// Other symbols (constants of models, tables of a library) belong to a module, which rldb does not make of it.
RLDB_FFI_EXPORT int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol) {
  std::string_view text = name ? name : "";
  if (!text.starts_with(kFunctionPrefix)) return 0;
  text.remove_prefix(kFunctionPrefix.size());
  if (!symbol) {
    raise("ValueError", "a function of a system library without an address");
    return -1;
  }
  TVMFFIObjectHandle function = nullptr;
  if (TVMFFIFunctionCreate(nullptr, reinterpret_cast<TVMFFISafeCallType>(symbol), nullptr, &function) != 0) return -1;
  const TVMFFIByteArray bytes{text.data(), text.size()};
  const int status = TVMFFIFunctionSetGlobal(&bytes, function, 1);
  TVMFFIObjectDecRef(function);
  return status;
}

// Older names, which changed without their meaning.
using Allocator = DLPackManagedTensorAllocator;
RLDB_FFI_EXPORT int TVMFFIEnvSetTensorAllocator(Allocator allocator, int write_to_global, Allocator* previous) {
  return TVMFFIEnvSetDLPackManagedTensorAllocator(allocator, write_to_global, previous);
}
RLDB_FFI_EXPORT Allocator TVMFFIEnvGetTensorAllocator() { return TVMFFIEnvGetDLPackManagedTensorAllocator(); }
}

}  // namespace rldb::runtime::ffi
