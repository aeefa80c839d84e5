// Values, storages and tensors: construction, checks of sizes, descriptions.
#include "rldb/runtime/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "rldb/runtime/any_contents.h"
#include "rldb/runtime/device_error.h"
#include "rldb/runtime/guarded.h"
#include "rldb/runtime/shared_memory.h"
#include "rldb/runtime/unused_contents.h"
#include "rldb/support/cancel.h"
#include "rldb/support/check.h"
#include "rldb/support/memory.h"
#include "runtime/value/alignment.h"
#include "runtime/value/exposed.h"
#include "runtime/value/pages.h"

namespace rldb::runtime {

namespace {

constexpr std::size_t kMaxRank = 64;

// For tensors alone; support's limit applies as well.
std::size_t g_limit = ~std::size_t(0);

// The one counter of the process: kernels of a parallel JIT may allocate workspace from threads.
std::atomic<std::size_t> g_in_use{0};
std::atomic<bool> g_any_exposed{false};

std::string dims_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

// Bytes of a compact tensor; an error on negative dims and overflow.
Result<std::size_t> checked_bytes(const std::vector<std::int64_t>& shape, DType dtype) {
  if (shape.size() > kMaxRank) {
    return fail(ErrorKind::Unsupported, fmt::format("a tensor of rank {}; the limit is {}", shape.size(), kMaxRank));
  }
  if (dtype.is_void() || dtype.is_scalable()) {
    return fail(ErrorKind::TypeMismatch, fmt::format("a tensor of dtype `{}` has no size", to_string(dtype)));
  }
  std::size_t count = 1;
  bool empty = false;
  bool overflow = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) {
      return fail(ErrorKind::ShapeMismatch, fmt::format("dimension {} of shape {} is negative", i, dims_text(shape)));
    }
    empty |= shape[i] == 0;
    overflow |= !empty && __builtin_mul_overflow(count, std::size_t(shape[i]), &count);
  }
  if (empty) return std::size_t(0);
  std::size_t bytes = 0;
  overflow |= __builtin_mul_overflow(count, dtype.bytes(), &bytes);
  // Element counts and byte offsets are int64 in kernels.
  overflow |= bytes > std::size_t(std::numeric_limits<std::int64_t>::max());
  if (overflow) {
    return fail(ErrorKind::OutOfMemory, fmt::format("the size of a tensor of shape {} and dtype "
                                                    "`{}` overflows",
                                                    dims_text(shape), to_string(dtype)));
  }
  return bytes;
}

}  // namespace

std::string_view to_string(ValueKind kind) {
  switch (kind) {
#define RLDB_VALUE_KIND(Kind, word) \
  case ValueKind::Kind:             \
    return word;
#include "rldb/runtime/value_kind.def"
  }
  return "?";
}

std::size_t memory_limit() { return std::min(g_limit, support::memory_limit()); }
void set_memory_limit(std::size_t bytes) { g_limit = bytes; }
std::size_t memory_in_use() { return g_in_use.load(std::memory_order_relaxed); }

namespace {

thread_local bool t_any_contents = false;
thread_local bool t_unused_contents = false;

// In front of the data of a storage that is not guarded.
union BlockHead {
  std::byte* block;  // of malloc
  Pages pages;
};
static_assert(sizeof(BlockHead) <= kAlignment);

BlockHead head_of(const std::byte* data) {
  BlockHead head{};
  std::memcpy(&head, data - sizeof head, sizeof head);
  return head;
}

// Zeroed, so that a program that reads unwritten elements gives the same answer each time: replay depends on it.
std::byte* allocate_block(std::size_t bytes) {
  BlockHead head{};
  std::byte* data = nullptr;
  if (has_pages(bytes)) {
    head.pages = take_pages(bytes + kAlignment, t_any_contents, t_unused_contents && bytes >= kUnusedFrom);
    if (!head.pages.base) return nullptr;
    data = head.pages.base + kAlignment;
  } else {
    head.block = static_cast<std::byte*>(std::calloc(bytes + 2 * kAlignment, 1));
    if (!head.block) return nullptr;
    const auto first = reinterpret_cast<std::uintptr_t>(head.block) + sizeof head;
    data = reinterpret_cast<std::byte*>((first + kAlignment - 1) & ~(std::uintptr_t(kAlignment) - 1));
  }
  std::memcpy(data - sizeof head, &head, sizeof head);
  return data;
}

void free_block(const std::byte* data, std::size_t bytes) {
  const BlockHead head = head_of(data);
  if (has_pages(bytes))
    give_pages(head.pages);
  else
    std::free(head.block);
}

// Memory on devices that a debugger holds, and whether more of it is allocated now.
struct HistoryStorages {
  std::mutex mutex;
  std::unordered_set<const Storage*> all;
};
HistoryStorages& of_history() {
  static auto* storages = new HistoryStorages();
  return *storages;
}
thread_local bool t_for_history = false;

void note_made(const Storage& s) {
  if (s.device().is_host()) return;
  if (!t_for_history) return note_device_storage(s.device(), s.size(), false);
  const std::scoped_lock lock(of_history().mutex);
  of_history().all.insert(&s);
}

void note_freed(const Storage& s) {
  if (s.device().is_host()) return;
  {
    const std::scoped_lock lock(of_history().mutex);
    if (of_history().all.erase(&s) > 0) return;
  }
  note_device_storage(s.device(), s.size(), true);
}

}  // namespace

ForHistory::ForHistory() : before_(std::exchange(t_for_history, true)) {}
ForHistory::~ForHistory() { t_for_history = before_; }
AnyContents::AnyContents() : before_(std::exchange(t_any_contents, true)) {}
AnyContents::~AnyContents() { t_any_contents = before_; }
UnusedContents::UnusedContents() : before_(std::exchange(t_unused_contents, true)) {}
UnusedContents::~UnusedContents() { t_unused_contents = before_; }

Result<Ref<Storage>> Storage::allocate(std::size_t bytes, Device device) {
  const std::size_t used = memory_in_use();
  const std::size_t room = bytes + 2 * kAlignment;
  if (room < bytes || bytes > memory_limit() || used > memory_limit() - bytes || !support::reserve_memory(room)) {
    return fail(ErrorKind::OutOfMemory,
                fmt::format("a tensor of {} bytes does not fit: the limit on all memory is {} bytes (`--max-memory`)",
                            bytes, memory_limit()));
  }
  std::byte* data = guarded_storage() ? map_guarded(bytes) : allocate_block(bytes);
  if (!data) {
    support::release_memory(room);
    return fail(ErrorKind::OutOfMemory, fmt::format("the system has no {} bytes to give", bytes));
  }
  g_in_use.fetch_add(bytes, std::memory_order_relaxed);
  Ref<Storage> made(new Storage(data, bytes, device));
  note_made(*made);
  return made;
}

Ref<Storage> Storage::borrow(std::byte* data, std::size_t bytes, Device device, Ref<Object> owner) {
  RLDB_CHECK(owner, "borrowed memory has an owner");
  Ref<Storage> made(new Storage(data, bytes, device));
  made->owner_ = std::move(owner);
  made->set_plain(true);
  return made;
}

Storage::~Storage() {
  copy_ = nullptr;  // it knows this memory
  if (owner_) return;
  note_freed(*this);
  g_in_use.fetch_sub(size_, std::memory_order_relaxed);
  support::release_memory(size_ + 2 * kAlignment);
  if (!unmap_guarded(data_, size_)) free_block(data_, size_);
}

Result<Ref<Storage>> Storage::of_shape(const std::vector<std::int64_t>& shape, DType hint, Device device) {
  RLDB_TRY(const std::size_t most, checked_bytes(shape, hint));
  const bool bytes = shape.size() == 1 && hint.bytes() > 0;
  RLDB_TRY(auto made, allocate(bytes ? most / hint.bytes() : most, device));
  if (bytes) made->most_ = most;
  return made;
}

bool Storage::grow_to(std::size_t bytes) {
  if (bytes > most_) return false;
  auto larger = allocate(bytes, device_);
  if (!larger.ok()) return false;
  copy_ = nullptr;
  set_plain(false);
  std::swap(data_, (*larger)->data_);
  std::swap(size_, (*larger)->size_);
  return true;
}

Result<Ref<Storage>> Storage::clone() const {
  RLDB_TRY(auto copy, allocate(size_, device_));
  copy->most_ = most_;
  RLDB_TRY_VOID(read_back(*this));
  if (size_ > 0 && !is_untouched()) std::memcpy(copy->data(), peek(), size_);
  return copy;
}

void Storage::set_device_copy(Ref<DeviceCopy> copy) const {
  copy_ = std::move(copy);
  set_plain(!copy_);
}

void Storage::fetch() const {
  static std::mutex fetching;  // threads of a kernel may ask for one storage at the same time
  if (!copy_ || copy_->current() != DeviceCopy::Current::Device) return;
  const std::scoped_lock lock(fetching);
  if (copy_->current() == DeviceCopy::Current::Device && copy_->fetch()) copy_->set_current(DeviceCopy::Current::Both);
}

void Storage::take_back() const {
  if (!copy_) return set_plain(true);
  fetch();
  if (copy_->current() != DeviceCopy::Current::Device) copy_->set_current(DeviceCopy::Current::Host);
}

void Storage::expose() const {
  take_back();
  exposed_ = true;
  g_any_exposed.store(true, std::memory_order_relaxed);
}

bool any_exposed() { return g_any_exposed.load(std::memory_order_relaxed); }

Result<Ref<Tensor>> Tensor::empty(std::vector<std::int64_t> shape, DType dtype, Device device) {
  RLDB_TRY(const std::size_t bytes, checked_bytes(shape, dtype));
  auto storage = Storage::allocate(bytes, device);
  if (!storage.ok()) {
    Error error = std::move(storage).error();
    error.notes.push_back(fmt::format("for a tensor of shape {} and dtype `{}`", dims_text(shape), to_string(dtype)));
    return support::Failure(std::move(error));
  }
  return support::make_ref<Tensor>(std::move(storage).value(), 0, std::move(shape), dtype);
}

Result<Ref<Tensor>> Tensor::view(Ref<Storage> storage, std::size_t byte_offset, std::vector<std::int64_t> shape,
                                 DType dtype) {
  RLDB_CHECK(storage, "a view of no storage");
  RLDB_TRY(const std::size_t bytes, checked_bytes(shape, dtype));
  const bool fits = byte_offset <= storage->size() && bytes <= storage->size() - byte_offset;
  if (!fits && !(byte_offset <= storage->most_ && storage->grow_to(byte_offset + bytes))) {
    return fail(ErrorKind::OutOfBounds,
                fmt::format("a tensor of shape {} and dtype `{}` ({} bytes) at byte offset {} does "
                            "not fit into a storage of {} bytes",
                            dims_text(shape), to_string(dtype), bytes, byte_offset, storage->size()));
  }
  storage->most_ = 0;  // a tensor uses it now
  return support::make_ref<Tensor>(std::move(storage), byte_offset, std::move(shape), dtype);
}

std::int64_t Tensor::element_count() const {
  std::int64_t count = 1;
  // A zero dimension first: the product of the others may not fit.
  for (const std::int64_t dim : shape_) {
    if (dim == 0) return 0;
  }
  for (const std::int64_t dim : shape_) count *= dim;
  return count;
}

Value::Value(Ref<Tuple> t) : Value(ValueKind::Tuple, static_cast<Object*>(t.get())) {}
Value::Value(Ref<Function> f) : Value(ValueKind::Function, static_cast<Object*>(f.get())) {}

Value Value::of_float(double v) { return Value(ValueKind::Float, std::bit_cast<std::int64_t>(v)); }

Value Value::of_dtype(DType t) {
  const std::uint64_t bits =
      std::uint64_t(t.code) | std::uint64_t(t.bits) << 8 | std::uint64_t(std::uint16_t(t.lanes)) << 16;
  return Value(ValueKind::DType, static_cast<std::int64_t>(bits));
}

Tuple::~Tuple() {
  const auto is_last = [](const Value& v) { return v.is(ValueKind::Tuple) && v.object()->use_count() == 1; };
  if (std::none_of(fields.begin(), fields.end(), is_last)) return;
  const support::MemoryLimitExempt exempt;  // a destructor may not fail
  std::vector<Value> pending = std::move(fields);
  while (!pending.empty()) {
    const Value v = std::move(pending.back());
    pending.pop_back();
    if (!is_last(v)) continue;
    std::vector<Value> inner = std::move(v.as_tuple().fields);
    v.as_tuple().fields.clear();
    if (pending.empty()) {
      pending = std::move(inner);
      continue;
    }
    for (Value& field : inner)
      if (is_last(field)) pending.push_back(std::move(field));
  }
}

Value Value::of_tuple(std::vector<Value> fields) { return Value(support::make_ref<Tuple>(std::move(fields))); }

double Value::as_float() const { return std::bit_cast<double>(bits_); }

DType Value::as_dtype() const {
  const auto bits = static_cast<std::uint64_t>(bits_);
  return {TypeCode(bits & 0xFF), std::uint8_t(bits >> 8), std::int16_t(std::uint16_t(bits >> 16))};
}

Tuple& Value::as_tuple() const { return *static_cast<Tuple*>(object_); }
Function& Value::as_function() const { return *static_cast<Function*>(object_); }

namespace {

// Values are trees of user data; a tuple nested deeper than this is refused, not recursed into.
constexpr int kMaxDepth = 200;

// The copies made so far: a tuple that occurs in several places is one tuple in the copy too.
using Copies = std::unordered_map<const Object*, Value>;

Result<Value> copy_at(const Value& v, int depth, Copies& copies) {
  support::poll();
  switch (v.kind()) {
    case ValueKind::Tensor: {
      const Tensor& from = v.as_tensor();
      RLDB_TRY(auto to, Tensor::empty(from.shape(), from.dtype(), from.device()));
      if (from.byte_size() > 0) std::memcpy(to->data(), from.peek(), from.byte_size());
      return Value(std::move(to));
    }
    case ValueKind::Storage: {
      RLDB_TRY(auto to, v.storage_ref()->clone());
      return Value(std::move(to));
    }
    case ValueKind::Tuple: {
      if (depth >= kMaxDepth) {
        return fail(ErrorKind::Unsupported, fmt::format("cannot copy tuples nested deeper than {}", kMaxDepth));
      }
      if (const auto known = copies.find(v.object()); known != copies.end()) return known->second;
      std::vector<Value> fields;
      for (const Value& field : v.as_tuple().fields) {
        RLDB_TRY(auto copied, copy_at(field, depth + 1, copies));
        fields.push_back(std::move(copied));
      }
      Value made = Value::of_tuple(std::move(fields));
      copies.emplace(v.object(), made);
      return made;
    }
    case ValueKind::Function: {
      const Function& from = v.as_function();
      if (from.captured.empty()) return v;
      if (depth >= kMaxDepth) {
        return fail(ErrorKind::Unsupported, fmt::format("cannot copy closures nested deeper than {}", kMaxDepth));
      }
      auto to = support::make_ref<Function>(from);
      for (Value& captured : to->captured) {
        RLDB_TRY(captured, copy_at(captured, depth + 1, copies));
      }
      return Value(std::move(to));
    }
#define RLDB_VALUE_PLAIN(Kind, ...) case ValueKind::Kind:
#include "rldb/runtime/value_kind.def"
    case ValueKind::Shape:
    case ValueKind::Object:
      return v;  // immutable, or opaque
  }
  return v;
}

}  // namespace

Result<Value> deep_copy(const Value& v) {
  Copies copies;
  return copy_at(v, 0, copies);
}

}  // namespace rldb::runtime
