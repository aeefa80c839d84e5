// Reference counts of the C ABI, the memory of rldb's own objects, and their construction.
#include "runtime/ffi/object.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "rldb/runtime/shared_memory.h"
#include "runtime/ffi/types.h"

namespace rldb::runtime::ffi {

namespace {

constexpr std::uint64_t kOneWeak = std::uint64_t(1) << 32;
constexpr std::uint64_t kBothOne = kOneWeak | 1;
constexpr int kDestroy = 1, kFree = 2;

// An object owns these besides its cell.
struct Parts {
  virtual ~Parts() = default;
  Value value;  // that it was made from
};

template <class Cell>
struct Made {
  TVMFFIObject head;
  Cell cell;
  Parts* parts;
};

struct Known {
  std::mutex mutex;
  std::unordered_map<const void*, const Parts*> alive;
  std::unordered_set<const void*> freed;  // their memory is kept
  std::vector<void*> kept;
  int keepers = 0;
};
// Never destroyed: libraries release their objects when they are unloaded at exit.
Known& known() {
  static auto* made = new Known();
  return *made;
}

void free_memory(void* self) {
  Known& k = known();
  const std::lock_guard lock(k.mutex);
  k.alive.erase(self);
  if (k.keepers == 0) {
    ::operator delete(self);
    return;
  }
  k.freed.insert(self);
  k.kept.push_back(self);
}

// Releases the objects that a cell owns by pointers.
template <class Cell>
void drop_cell(Cell&) {}
void drop_cell(TVMFFISeqCell& cell) {
  auto* items = static_cast<TVMFFIAny*>(cell.data);
  for (std::int64_t i = 0; i < cell.size; ++i) drop(items[i]);
  cell.size = 0;
  if (cell.data_deleter) cell.data_deleter(cell.data);
}
void drop_cell(TVMFFIErrorCell& cell) {
  for (TVMFFIObjectHandle* h : {&cell.cause_chain, &cell.extra_context})
    if (*h) release(static_cast<TVMFFIObject*>(std::exchange(*h, nullptr)));
}
void drop_cell(MapCell& cell) {
  auto* items = static_cast<TVMFFIAny*>(cell.data);
  for (std::uint64_t i = 0; i < 2 * cell.size; ++i) drop(items[i]);
  cell.size = 0;
}

template <class Cell>
void delete_made(void* self, int flags) {
  auto* made = static_cast<Made<Cell>*>(self);
  if ((flags & kDestroy) != 0) {
    drop_cell(made->cell);
    const Parts* parts = std::exchange(made->parts, nullptr);
    {
      Known& k = known();
      const std::lock_guard lock(k.mutex);
      k.alive.erase(self);
    }
    delete parts;
  }
  if ((flags & kFree) != 0) free_memory(self);
}

template <class Cell>
Handle make(std::int32_t type_index, std::unique_ptr<Parts> parts, const Cell& cell) {
  auto* made = new (::operator new(sizeof(Made<Cell>))) Made<Cell>{};
  made->head.combined_ref_count = kBothOne;
  made->head.type_index = type_index;
  made->head.deleter = delete_made<Cell>;
  made->cell = cell;
  made->parts = parts.release();
  Known& k = known();
  const std::lock_guard lock(k.mutex);
  k.freed.erase(made);
  k.alive.emplace(made, made->parts);
  return Handle::adopt(&made->head);
}

struct TextParts : Parts {
  std::string text;
};
struct DimParts : Parts {
  std::vector<std::int64_t> dims, strides;
  Handle source;
  std::optional<Pinned> pinned;  // the cell has the address of its memory
};
struct ItemParts : Parts {
  std::vector<TVMFFIAny> items;
};
struct ErrorParts : Parts {
  std::string kind, message, backtrace;
};
struct CFunctionParts : Parts {
  void* self = nullptr;
  TVMFFISafeCallType code = nullptr;
  void (*deleter)(void*) = nullptr;
  ~CFunctionParts() override {
    if (deleter) deleter(self);
  }
};
struct OpaqueParts : Parts {
  void* handle = nullptr;
  void (*deleter)(void*) = nullptr;
  ~OpaqueParts() override {
    if (deleter) deleter(handle);
  }
};
template <class Managed>
struct ManagedParts : Parts {
  Managed* managed = nullptr;
  std::vector<std::int64_t> strides;
  ~ManagedParts() override {
    if (managed->deleter) managed->deleter(managed);
  }
};

std::vector<std::int64_t> compact_strides(const std::int64_t* shape, std::size_t rank) {
  std::vector<std::int64_t> strides(rank, 1);
  for (std::size_t d = rank; d-- > 1;) {
    // An empty tensor may have dims whose product does not fit; no element has that address.
    if (__builtin_mul_overflow(strides[d], shape[d], &strides[d - 1])) strides[d - 1] = 0;
  }
  return strides;
}

TVMFFIByteArray bytes_of(const std::string& s) { return {s.data(), s.size()}; }

int call_c_function(void* self, const TVMFFIAny* args, std::int32_t count, TVMFFIAny* result) {
  const auto* parts = static_cast<const CFunctionParts*>(static_cast<Made<TVMFFIFunctionCell>*>(self)->parts);
  return parts->code(parts->self, args, count, result);
}

void update_backtrace(TVMFFIObjectHandle self, const TVMFFIByteArray* text, std::int32_t mode) {
  auto* made = static_cast<Made<TVMFFIErrorCell>*>(self);
  auto* parts = static_cast<ErrorParts*>(made->parts);
  if (mode == 0) parts->backtrace.clear();
  parts->backtrace.append(text->data, text->size);
  made->cell.backtrace = bytes_of(parts->backtrace);
}

template <class Managed>
Handle make_managed_tensor(Managed* managed) {
  auto parts = std::make_unique<ManagedParts<Managed>>();
  parts->managed = managed;
  DLTensor cell = managed->dl_tensor;
  if (!cell.strides && cell.ndim > 0) {
    parts->strides = compact_strides(cell.shape, std::size_t(cell.ndim));
    cell.strides = parts->strides.data();
  }
  return make(kTVMFFITensor, std::move(parts), cell);
}

}  // namespace

bool readable(const void* data, std::size_t bytes) {
  if (bytes == 0) return true;
  if (!data) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  if (at + bytes < at) return false;
  // One byte of the first and of the last page: memory between two pages of a block is mapped too.
  for (const std::uintptr_t where : {at, at + bytes - 1}) {
    char byte = 0;
    iovec to{&byte, 1};
    iovec from{reinterpret_cast<void*>(where), 1};
    const ssize_t n = ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0);
    if (n < 0 && errno == EFAULT) return false;  // any other failure: the system does not let us look
  }
  return true;
}

std::string why_not_object(const TVMFFIObject* object, std::int32_t type_index) {
  if (!object) return "a null object";
  if (is_freed(object)) return "an object that was freed";
  if (!value_in(object)) {
    if (reinterpret_cast<std::uintptr_t>(object) % alignof(TVMFFIObject) != 0) return "an address of no object";
    if (!readable(object, sizeof(TVMFFIObject) + sizeof(TVMFFIByteArray))) return "an address outside of its memory";
  }
  if (strong_count(object) == 0) return "an object without references";
  if (object->type_index < kTVMFFIStaticObjectBegin) return "an address of no object";
  if (type_index >= 0 && object->type_index != type_index)
    return fmt::format("an object of type index {} under type index {}", object->type_index, type_index);
  return {};
}

void retain(TVMFFIObject* object) { __atomic_fetch_add(&object->combined_ref_count, 1, __ATOMIC_RELAXED); }

void release(TVMFFIObject* object) {
  const std::uint64_t before = __atomic_fetch_sub(&object->combined_ref_count, 1, __ATOMIC_ACQ_REL);
  if (before == kBothOne) {
    if (object->deleter) object->deleter(object, kDestroy | kFree);
    return;
  }
  if ((before & 0xffffffff) != 1) return;
  if (object->deleter) object->deleter(object, kDestroy);
  if (__atomic_fetch_sub(&object->combined_ref_count, kOneWeak, __ATOMIC_ACQ_REL) == kOneWeak && object->deleter)
    object->deleter(object, kFree);
}

std::uint32_t strong_count(const TVMFFIObject* object) {
  return std::uint32_t(__atomic_load_n(&object->combined_ref_count, __ATOMIC_ACQUIRE));
}

void drop(TVMFFIAny& any) {
  if (any.type_index >= kTVMFFIStaticObjectBegin && any.v_obj) release(any.v_obj);
  any = {};
}

Handle make_text(std::string_view bytes, std::int32_t type_index) {
  auto parts = std::make_unique<TextParts>();
  parts->text = bytes;
  const TVMFFIByteArray cell = bytes_of(parts->text);
  return make(type_index, std::move(parts), cell);
}

Handle make_shape(std::vector<std::int64_t> dims) {
  auto parts = std::make_unique<DimParts>();
  parts->dims = std::move(dims);
  const TVMFFIShapeCell cell{parts->dims.data(), parts->dims.size()};
  return make(kTVMFFIShape, std::move(parts), cell);
}

Handle make_tensor(const Value& value) {
  const Tensor& t = value.as_tensor();
  auto parts = std::make_unique<DimParts>();
  parts->value = value;
  parts->pinned.emplace(std::span(&value, 1));
  parts->dims = t.shape();
  parts->strides = compact_strides(parts->dims.data(), parts->dims.size());
  DLTensor cell{};
  cell.data = t.data();
  cell.device = {t.device().type, t.device().id};
  cell.ndim = t.ndim();
  cell.dtype = {std::uint8_t(t.dtype().code), t.dtype().bits, std::uint16_t(t.dtype().lanes)};
  cell.shape = parts->dims.data();
  cell.strides = parts->strides.data();
  return make(kTVMFFITensor, std::move(parts), cell);
}

Handle make_view(Handle source, const DLTensor& prototype) {
  auto parts = std::make_unique<DimParts>();
  const auto rank = std::size_t(prototype.ndim);
  parts->dims.assign(prototype.shape, prototype.shape + rank);
  if (prototype.strides)
    parts->strides.assign(prototype.strides, prototype.strides + rank);
  else
    parts->strides = compact_strides(prototype.shape, rank);
  parts->source = std::move(source);
  DLTensor cell = prototype;
  cell.shape = parts->dims.data();
  cell.strides = parts->strides.data();
  return make(kTVMFFITensor, std::move(parts), cell);
}

Handle make_array(std::vector<TVMFFIAny> items) {
  auto parts = std::make_unique<ItemParts>();
  parts->items = std::move(items);
  const auto count = std::int64_t(parts->items.size());
  const TVMFFISeqCell cell{parts->items.data(), count, count, nullptr};
  return make(kTVMFFIArray, std::move(parts), cell);
}

Handle make_map(std::vector<std::pair<TVMFFIAny, TVMFFIAny>> items) {
  auto parts = std::make_unique<ItemParts>();
  for (const auto& [key, value] : items) {
    parts->items.push_back(key);
    parts->items.push_back(value);
  }
  const std::uint64_t count = items.size();
  const MapCell cell{parts->items.data(), count, count | kSmallMap, nullptr};
  return make(kTVMFFIMap, std::move(parts), cell);
}

Handle make_function(const Value& function, TVMFFISafeCallType code) {
  auto parts = std::make_unique<Parts>();
  parts->value = function;
  return make(kTVMFFIFunction, std::move(parts), TVMFFIFunctionCell{code, nullptr});
}

Handle make_c_function(void* self, TVMFFISafeCallType code, void (*deleter)(void*)) {
  auto parts = std::make_unique<CFunctionParts>();
  parts->self = self;
  parts->code = code;
  parts->deleter = deleter;
  return make(kTVMFFIFunction, std::move(parts), TVMFFIFunctionCell{call_c_function, nullptr});
}

TVMFFISafeCallType code_of(TVMFFIObject* function) {
  const TVMFFISafeCallType code = cell_of<TVMFFIFunctionCell>(function).safe_call;
  if (code != call_c_function) return code;
  return static_cast<const CFunctionParts*>(reinterpret_cast<Made<TVMFFIFunctionCell>*>(function)->parts)->code;
}

Handle make_error(std::string_view kind, std::string_view message, std::string_view backtrace, Handle cause,
                  Handle context) {
  auto parts = std::make_unique<ErrorParts>();
  parts->kind = kind;
  parts->message = message;
  parts->backtrace = backtrace;
  const TVMFFIErrorCell cell{
      bytes_of(parts->kind), bytes_of(parts->message), bytes_of(parts->backtrace), update_backtrace, cause.give(),
      context.give()};
  return make(kTVMFFIError, std::move(parts), cell);
}

Handle make_opaque(void* handle, std::int32_t type_index, void (*deleter)(void*)) {
  auto parts = std::make_unique<OpaqueParts>();
  parts->handle = handle;
  parts->deleter = deleter;
  return make(type_index, std::move(parts), TVMFFIOpaqueObjectCell{handle});
}

Handle make_managed(DLManagedTensor* tensor) { return make_managed_tensor(tensor); }
Handle make_managed(DLManagedTensorVersioned* tensor) { return make_managed_tensor(tensor); }

Handle make_value(const Value& value) {
  static const std::int32_t type_index = type_index_of("rldb.Value");
  auto parts = std::make_unique<Parts>();
  parts->value = value;
  return make(type_index, std::move(parts), TVMFFIOpaqueObjectCell{nullptr});
}

const Value* value_in(const TVMFFIObject* object) {
  Known& k = known();
  const std::lock_guard lock(k.mutex);
  const auto it = k.alive.find(object);
  return it == k.alive.end() ? nullptr : &it->second->value;
}

bool is_freed(const void* object) {
  Known& k = known();
  const std::lock_guard lock(k.mutex);
  return k.freed.contains(object);
}

KeepFreed::KeepFreed() {
  Known& k = known();
  const std::lock_guard lock(k.mutex);
  ++k.keepers;
}

KeepFreed::~KeepFreed() {
  Known& k = known();
  const std::lock_guard lock(k.mutex);
  if (--k.keepers > 0) return;
  for (void* memory : k.kept) ::operator delete(memory);
  k.kept.clear();
  k.freed.clear();
}

}  // namespace rldb::runtime::ffi
