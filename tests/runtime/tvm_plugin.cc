// A plugin that does what TVM's C++ headers do inline: objects of its own with deleters of its own, counts changed
// without a call, errors as exceptions that become objects, tensors with memory of its own, containers in their
// layouts, functions registered while it is loaded, metadata. For tests of runtime/ffi.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "rldb/runtime/ffi_abi.h"

namespace {

constexpr std::uint64_t kBothOne = (std::uint64_t(1) << 32) | 1;

void retain(TVMFFIObject* o) { __atomic_fetch_add(&o->combined_ref_count, 1, __ATOMIC_RELAXED); }
void release(TVMFFIObject* o) {
  const std::uint64_t before = __atomic_fetch_sub(&o->combined_ref_count, 1, __ATOMIC_ACQ_REL);
  if (before == kBothOne) o->deleter(o, 3);
}

std::int64_t g_alive = 0;  // objects of this library

// `tail` bytes follow the object.
template <class T>
T* make(std::int32_t type_index, std::size_t tail = 0) {
  T* made = new (std::malloc(sizeof(T) + tail)) T();
  made->head.combined_ref_count = kBothOne;
  made->head.type_index = type_index;
  made->head.deleter = [](void* self, int flags) {
    if (flags & 1) static_cast<T*>(self)->~T(), --g_alive;
    if (flags & 2) std::free(self);
  };
  ++g_alive;
  return made;
}

// The same where the runtime says, as headers since 0.1.11 do: the memory's way back lies before the object.
template <class T>
T* make_by_allocator(std::int32_t type_index) {
  const TVMFFICustomAllocator* allocator = TVMFFIGetCustomAllocator();
  T* made = new (allocator->allocate(sizeof(T), alignof(T), type_index, allocator->context)) T();
  made->head.combined_ref_count = kBothOne;
  made->head.type_index = type_index;
  made->head.deleter = [](void* self, int flags) {
    if (flags & 1) static_cast<T*>(self)->~T(), --g_alive;
    if (flags & 2) (static_cast<TVMFFIObjectAllocHeader*>(self) - 1)->delete_space(self);
  };
  ++g_alive;
  return made;
}

TVMFFIAny any_of(TVMFFIObject* o) {
  TVMFFIAny any{};
  any.type_index = o->type_index;
  any.v_obj = o;
  return any;
}
TVMFFIAny int_of(std::int64_t v) {
  TVMFFIAny any{};
  any.type_index = kTVMFFIInt;
  any.v_int64 = v;
  return any;
}
TVMFFIAny text_of(const std::string& s) {
  const TVMFFIByteArray bytes{s.data(), s.size()};
  TVMFFIAny any{};
  TVMFFIStringFromByteArray(&bytes, &any);
  return any;
}

struct ErrorObject {
  TVMFFIObject head;
  TVMFFIErrorCell cell{};
  std::string kind, message;
};
struct Thrown {
  TVMFFIObject* error;
};
[[noreturn]] void raise(std::string kind, std::string message) {
  auto* e = make<ErrorObject>(kTVMFFIError);
  e->kind = std::move(kind);
  e->message = std::move(message);
  e->cell.kind = {e->kind.data(), e->kind.size()};
  e->cell.message = {e->message.data(), e->message.size()};
  e->cell.backtrace = *TVMFFIBacktrace(__FILE__, __LINE__, __func__, 0);
  throw Thrown{&e->head};
}

struct TensorObject {
  TVMFFIObject head;
  DLTensor tensor{};
  std::vector<std::int64_t> shape;
  void* block = nullptr;
  ~TensorObject() { std::free(block); }
};

struct ArrayObject {
  TVMFFIObject head;
  TVMFFISeqCell cell{};
  ~ArrayObject() {
    for (std::int64_t i = 0; i < cell.size; ++i) {
      auto& item = static_cast<TVMFFIAny*>(cell.data)[i];
      if (item.type_index >= kTVMFFIStaticObjectBegin) release(item.v_obj);
    }
  }
};

// A dense map: one block of 16 marks and 16 items, linked from the last to the first to show that order is by links.
struct MapObject {
  TVMFFIObject head;
  void* data;
  std::uint64_t size, slots;
  void (*data_deleter)(void*);
  std::uint32_t shift;
  std::uint64_t first, last;
  struct Item {
    TVMFFIAny key, value;
    std::uint64_t previous, next;
  };
  unsigned char block[16 + 16 * sizeof(Item)];
};

struct CounterObject {
  TVMFFIObject head;
  std::int64_t count = 0;
};
std::int32_t counter_type() {
  static const char name[] = "test.Counter";
  const TVMFFIByteArray key{name, sizeof name - 1};
  static const std::int32_t index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 2, 1, kTVMFFIObject);
  return index;
}

using Args = const TVMFFIAny*;

template <class F>
int guarded(F f, Args args, std::int32_t count, TVMFFIAny* result) {
  try {
    *result = f(args, count);
    return 0;
  } catch (const Thrown& t) {
    TVMFFIErrorSetRaised(t.error);
    release(t.error);
    return -1;
  }
}

const DLTensor& tensor_arg(const TVMFFIAny& any) {
  if (any.type_index == kTVMFFIDLTensorPtr) return *static_cast<const DLTensor*>(any.v_ptr);
  if (any.type_index != kTVMFFITensor) raise("TypeError", "expected a Tensor, got " + std::to_string(any.type_index));
  return *static_cast<const DLTensor*>(TVMFFICellOf(any.v_obj));
}

int call_registered(void*, Args args, std::int32_t count, TVMFFIAny* result) {
  return guarded([](Args a, int n) { return int_of(n == 1 ? a[0].v_int64 * 10 : -1); }, args, count, result);
}

// As TVM_FFI_STATIC_INIT_BLOCK with GlobalDef().def(...).
[[maybe_unused]] const bool g_registered = [] {
  TVMFFIObjectHandle f = nullptr;
  if (TVMFFIFunctionCreate(nullptr, call_registered, nullptr, &f) != 0) return false;
  static const char
      name[] = "test.times_ten",
      doc[] = "ten times an int",
      schema[] = R"({"type_schema":"{\"type\":\"ffi.Function\",\"args\":[{\"type\":\"int\"},{\"type\":\"int\"}]}"})";
  TVMFFIMethodInfo info{};
  info.name = {name, sizeof name - 1};
  info.doc = {doc, sizeof doc - 1};
  info.metadata = {schema, sizeof schema - 1};
  info.method = any_of(static_cast<TVMFFIObject*>(f));
  const bool good = TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0) == 0;
  TVMFFIObjectDecRef(f);
  return good;
}();

// As code that was compiled to be linked with others does.
int call_linked(void*, Args args, std::int32_t count, TVMFFIAny* result) {
  return guarded([](Args a, int n) { return int_of(n == 1 ? a[0].v_int64 + 1000 : -1); }, args, count, result);
}
[[maybe_unused]] const bool g_linked =
    TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_linked_in", reinterpret_cast<void*>(&call_linked)) == 0 &&
    TVMFFIEnvModRegisterSystemLibSymbol("some_constants", nullptr) == 0 &&
    TVMFFIEnvModRegisterContextSymbol("__test_of_context", reinterpret_cast<void*>(&call_linked)) == 0 &&
    TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", nullptr) == 0;

}  // namespace

// Set by whoever loads a library after that.
extern "C" {
__attribute__((visibility("default"))) void* __test_of_context = nullptr;
}

#define EXPORT(name)                                                                                \
  static TVMFFIAny do_##name(Args args, int count);                                                 \
  extern "C" int __tvm_ffi_##name(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) { \
    return guarded(do_##name, args, count, result);                                                 \
  }                                                                                                 \
  static TVMFFIAny do_##name([[maybe_unused]] Args args, [[maybe_unused]] int count)

EXPORT(boom) { raise("ValueError", "boom with ndim " + std::to_string(tensor_arg(args[0]).ndim)); }
EXPORT(hello) { return text_of("hello from a plugin, longer than small"); }
EXPORT(brief) { return text_of("brief"); }
EXPORT(ident) {
  if (args[0].type_index >= kTVMFFIStaticObjectBegin) retain(args[0].v_obj);
  return args[0];
}
EXPORT(volume) {
  if (args[0].type_index != kTVMFFIShape) raise("TypeError", "a shape is needed");
  const auto* cell = static_cast<const TVMFFIShapeCell*>(TVMFFICellOf(args[0].v_obj));
  std::int64_t n = 1;
  for (std::size_t i = 0; i < cell->size; ++i) n *= cell->data[i];
  return int_of(n);
}
// A tensor in memory of this library, which later calls change.
EXPORT(own_tensor) {
  static TensorObject* kept = nullptr;
  if (!kept) {
    kept = make<TensorObject>(kTVMFFITensor);
    kept->block = std::aligned_alloc(64, 64);
    std::memset(kept->block, 0, 64);
    kept->shape = {2, 2};
    kept->tensor = {kept->block, {1, 0}, 2, {2, 32, 1}, kept->shape.data(), nullptr, 0};
  }
  static_cast<float*>(kept->block)[0] += 1;
  retain(&kept->head);
  return any_of(&kept->head);
}
// Every other element of a row, backwards in the strides of the second dimension.
EXPORT(strided) {
  static float data[] = {0, 1, 2, 3, 4, 5, 6, 7};
  static std::int64_t strides[] = {1, 2};
  auto* t = make<TensorObject>(kTVMFFITensor);
  t->shape = {2, 2};
  t->tensor = {data, {1, 0}, 2, {2, 32, 1}, t->shape.data(), strides, 8};
  return any_of(&t->head);
}
EXPORT(listed) {
  auto* a = make<ArrayObject>(kTVMFFIArray, 3 * sizeof(TVMFFIAny));
  auto* items = reinterpret_cast<TVMFFIAny*>(a + 1);
  items[0] = int_of(7);
  items[1] = text_of("a text that is long");
  items[2] = args[0];
  if (items[2].type_index >= kTVMFFIStaticObjectBegin) retain(items[2].v_obj);
  a->cell = {items, 3, 3, nullptr};
  return any_of(&a->head);
}
EXPORT(mapped) {
  auto* m = make<MapObject>(kTVMFFIMap);
  m->data = m->block;
  m->size = 2;
  m->slots = 16;
  m->first = 5;
  m->last = 3;
  auto* items = reinterpret_cast<MapObject::Item*>(m->block + 16);
  items[5] = {text_of("a"), int_of(1), ~std::uint64_t(0), 3};
  items[3] = {text_of("b"), int_of(2), 5, ~std::uint64_t(0)};
  return any_of(&m->head);
}
// Reads what rldb passes as a small map.
EXPORT(map_total) {
  if (args[0].type_index != kTVMFFIMap) raise("TypeError", "a map is needed");
  const auto* m = reinterpret_cast<const MapObject*>(args[0].v_obj);
  if ((m->slots >> 63) == 0) raise("TypeError", "a small map is expected");
  std::int64_t total = 0;
  for (std::uint64_t i = 0; i < m->size; ++i) total += static_cast<const TVMFFIAny*>(m->data)[2 * i + 1].v_int64;
  return int_of(total);
}
EXPORT(array_total) {
  if (args[0].type_index != kTVMFFIArray) raise("TypeError", "an array is needed");
  const auto* cell = static_cast<const TVMFFISeqCell*>(TVMFFICellOf(args[0].v_obj));
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < cell->size; ++i) total += static_cast<const TVMFFIAny*>(cell->data)[i].v_int64;
  return int_of(total);
}
EXPORT(counter) { return any_of(&make_by_allocator<CounterObject>(counter_type())->head); }
EXPORT(wide) {  // aligned more than malloc aligns
  struct alignas(64) Wide {
    TVMFFIObject head;
  };
  auto* made = make_by_allocator<Wide>(counter_type());
  const bool aligned = reinterpret_cast<std::uintptr_t>(made) % 64 == 0;
  release(&made->head);
  return int_of(aligned);
}
EXPORT(version) {
  TVMFFIVersion v{};
  TVMFFIGetVersion(&v);
  return int_of(v.major * 1000000 + v.minor * 1000 + v.patch);
}
// The stream that was there, and the one that was set.
EXPORT(streams) {
  int one = 0, other = 0;
  void* before = &other;
  TVMFFIEnvSetStream(2, 0, &one, &before);
  const bool good = before == nullptr && TVMFFIEnvGetStream(2, 0) == &one && TVMFFIEnvGetStream(2, 1) == nullptr;
  TVMFFIEnvSetStream(2, 0, nullptr, &before);
  return int_of(good && before == &one && TVMFFIEnvGetStream(2, 0) == nullptr);
}
// An allocator of its own, and back.
EXPORT(allocators) {
  static TVMFFICustomAllocator mine{[](std::size_t, std::size_t, std::int32_t, void*) -> void* { return nullptr; },
                                    nullptr};
  TVMFFICustomAllocator* before = TVMFFIGetCustomAllocator();
  TVMFFISetCustomAllocator(&mine);
  const bool set = TVMFFIGetCustomAllocator() == &mine;
  TVMFFISetCustomAllocator(nullptr);
  return int_of(set && TVMFFIGetCustomAllocator() == before);
}
EXPORT(count) {
  if (args[0].type_index != counter_type()) raise("TypeError", "a counter is needed");
  return int_of(++reinterpret_cast<CounterObject*>(args[0].v_obj)->count);
}
EXPORT(alive) { return int_of(g_alive); }
EXPORT(device_of) {
  TVMFFIAny any{};
  any.type_index = kTVMFFIDevice;
  any.v_device = tensor_arg(args[0]).device;
  return any;
}
EXPORT(kind_of) { return int_of(args[0].type_index); }
// Calls a function by its cell, and passes its error on.
EXPORT(apply) {
  if (args[0].type_index != kTVMFFIFunction) raise("TypeError", "a function is needed");
  const auto* cell = static_cast<const TVMFFIFunctionCell*>(TVMFFICellOf(args[0].v_obj));
  TVMFFIAny result{};
  if (cell->safe_call(args[0].v_obj, args + 1, count - 1, &result) != 0) {
    TVMFFIObjectHandle error = nullptr;
    TVMFFIErrorMoveFromRaised(&error);
    throw Thrown{static_cast<TVMFFIObject*>(error)};
  }
  return result;
}
EXPORT(adder) {
  struct Captured {
    std::int64_t by;
  };
  auto* c = new Captured{args[0].v_int64};
  TVMFFIObjectHandle f = nullptr;
  TVMFFIFunctionCreate(
      c,
      [](void* self, Args a, std::int32_t n, TVMFFIAny* result) {
        *result = int_of(n == 1 ? a[0].v_int64 + static_cast<Captured*>(self)->by : -1);
        return 0;
      },
      [](void* self) { delete static_cast<Captured*>(self); }, &f);
  return any_of(static_cast<TVMFFIObject*>(f));
}
EXPORT(by_name) {
  if (args[0].type_index != kTVMFFIStr) raise("TypeError", "a name is needed");
  const TVMFFIByteArray name = *static_cast<const TVMFFIByteArray*>(TVMFFICellOf(args[0].v_obj));
  TVMFFIObjectHandle f = nullptr;
  TVMFFIFunctionGetGlobal(&name, &f);
  if (!f) raise("KeyError", "no function " + std::string(name.data, name.size));
  TVMFFIAny result{};
  const int status = TVMFFIFunctionCall(f, const_cast<TVMFFIAny*>(args + 1), count - 1, &result);
  TVMFFIObjectDecRef(f);
  if (status != 0) raise("RuntimeError", "it failed");
  return result;
}
// Is the index in the range of the parent's slots, and do its ancestors say so?
EXPORT(types_work) {
  static const char name[] = "test.Counter.Child";
  const TVMFFIByteArray key{name, sizeof name - 1};
  const std::int32_t child = TVMFFITypeGetOrAllocIndex(&key, -1, 2, 0, 1, counter_type());
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(child);
  return int_of(child > counter_type() && child <= counter_type() + 2 && info->type_depth == 2 &&
                info->type_ancestors[1]->type_index == counter_type() &&
                info->type_ancestors[0]->type_index == kTVMFFIObject);
}

EXPORT(context) { return int_of(__test_of_context == reinterpret_cast<void*>(&call_linked)); }

// As TVM_FFI_DLL_EXPORT_INCLUDE_METADATA adds them.
extern "C" int __tvm_ffi__metadata_volume(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  *result = text_of(
      R"({"type_schema":"{\"type\":\"ffi.Function\",\"args\":[{\"type\":\"int\"},{\"type\":\"ffi.Shape\"}]}"})");
  return 0;
}
extern "C" int __tvm_ffi__doc_volume(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  *result = text_of("the product of the dimensions");
  return 0;
}
