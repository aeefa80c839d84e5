// Values: the contents of registers, and what a user sees at the prompt.
//
// A Value is two words: a tag and either an immediate or one reference. Objects are reference counted and immutable
// except tensor data and tuple slots that the machine resets. Cloning machine state copies Values; tensor storage is
// copied on demand by the timeline (Storage::clone). Used by vm, eval, codegen (constants), session, debug, ui.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/device.h"
#include "rldb/runtime/dtype.h"
#include "rldb/runtime/error.h"
#include "rldb/support/ref.h"

namespace rldb::runtime {

using support::Ref;

enum class ValueKind : std::uint8_t {
#define RLDB_VALUE_KIND(Kind, word) Kind,
#include "rldb/runtime/value_kind.def"
};
std::string_view to_string(ValueKind kind);

class Object : public support::RefCounted {};

// A storage's copy on a device, for engines that keep tensors there between two kernels. Storages that share their
// memory (shared_memory.h) share the copy, too.
class DeviceCopy : public Object {
 public:
  // Which memories have the current bytes.
  enum class Current : std::uint8_t {
    Host,    // the host may have written
    Both,    // nobody has written since the last copy
    Device,  // a kernel has written; the host gets the bytes when it asks for them
  };
  Current current() const { return current_.load(std::memory_order_acquire); }
  void set_current(Current now) { current_.store(now, std::memory_order_release); }
  virtual runtime::Device device() const = 0;
  // Copies all bytes to the host's memory. False: it failed, which is noted (device_error.h).
  virtual bool fetch() = 0;

 private:
  std::atomic<Current> current_ = Current::Host;
};

// Raw bytes, 64-byte aligned. Limits: no allocation over memory_limit() succeeds.
class Storage : public Object {
 public:
  static Result<Ref<Storage>> allocate(std::size_t bytes, Device device = {});
  // Memory of a foreign object, which lives as long as the storage.
  static Ref<Storage> borrow(std::byte* data, std::size_t bytes, Device device, Ref<Object> owner);
  // The storage requested by vm.builtin.alloc_storage. Memory planners give a shape of one number in bytes; TVM's
  // allocator takes it in elements of the hinted dtype, and so allocates more than is used. Here it is bytes, until the
  // first tensor needs more than that and no more than TVM would have given.
  static Result<Ref<Storage>> of_shape(const std::vector<std::int64_t>& shape, DType hint, Device device = {});
  ~Storage() override;
  // The host's memory, with the current bytes. Whoever gets it may write, so that a copy on a device is out of date;
  // the pointer is good until a kernel runs on a device.
  std::byte* data() const {
    if (!is_plain()) [[unlikely]]
      take_back();
    return data_;
  }
  // The same, to be read only: a copy on a device stays up to date.
  const std::byte* peek() const {
    if (!is_plain()) [[unlikely]]
      fetch();
    return data_;
  }
  // Tells its bytes from those of others; they may be out of date.
  const std::byte* address() const { return data_; }
  std::size_t size() const { return size_; }
  Device device() const { return device_; }
  const Ref<Object>& owner() const { return owner_; }  // null: the memory is this storage's own
  Result<Ref<Storage>> clone() const;

  // ---- for engines that run kernels on a device ----
  DeviceCopy* device_copy() const { return copy_.get(); }
  void set_device_copy(Ref<DeviceCopy> copy) const;
  bool is_untouched() const { return !is_plain() && !copy_; }  // since it was allocated: its bytes are zero
  std::byte* host_memory() const { return data_; }             // its bytes may be out of date
  // Foreign code has its address for good, and may read or write at any time.
  void expose() const;
  bool is_exposed() const { return exposed_; }

 private:
  friend class Tensor;
  Storage(std::byte* data, std::size_t size, Device device) : data_(data), size_(size), device_(device) {}
  bool grow_to(std::size_t bytes);  // false: it may not, or cannot
  bool is_plain() const { return std::atomic_ref(plain_).load(std::memory_order_relaxed); }
  void set_plain(bool plain) const { std::atomic_ref(plain_).store(plain, std::memory_order_relaxed); }
  void take_back() const;
  void fetch() const;
  std::byte* data_;
  std::size_t size_;
  std::size_t most_ = 0;  // limit to which it may grow
  mutable Ref<DeviceCopy> copy_;
  mutable bool plain_ = false;  // it has been used, and has no copy on a device
  mutable bool exposed_ = false;
  Device device_;
  Ref<Object> owner_;
};

// Limit on the total bytes of live Storage, so that a huge shape is an error and does not exhaust the machine's memory.
// The limit is support's (`--max-memory`) unless a lower one is set for tensors alone.
std::size_t memory_limit();
void set_memory_limit(std::size_t bytes);
std::size_t memory_in_use();

// A dense, row-major (compact) view of a Storage.
class Tensor : public Object {
 public:
  Tensor(Ref<Storage> storage, std::size_t byte_offset, std::vector<std::int64_t> shape, DType dtype)
      : storage_(std::move(storage)), byte_offset_(byte_offset), shape_(std::move(shape)), dtype_(dtype) {}
  // Zeroed memory (replay has to be deterministic). Fails on negative dims, on overflow, and over the memory limit.
  static Result<Ref<Tensor>> empty(std::vector<std::int64_t> shape, DType dtype, Device device = {});
  // A view of `storage` at an offset; fails when it does not fit.
  static Result<Ref<Tensor>> view(Ref<Storage> storage, std::size_t byte_offset, std::vector<std::int64_t> shape,
                                  DType dtype);

  std::byte* data() const { return storage_->data() + byte_offset_; }
  const std::byte* peek() const { return storage_->peek() + byte_offset_; }
  const std::byte* address() const { return storage_->address() + byte_offset_; }
  const Ref<Storage>& storage() const { return storage_; }
  Device device() const { return storage_->device(); }
  std::size_t byte_offset() const { return byte_offset_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  int ndim() const { return int(shape_.size()); }
  DType dtype() const { return dtype_; }
  std::int64_t element_count() const;
  std::size_t byte_size() const { return std::size_t(element_count()) * dtype_.bytes(); }
  double at(std::int64_t flat_index) const {
    return load_as_double(peek() + std::size_t(flat_index) * dtype_.bytes(), dtype_);
  }

 private:
  Ref<Storage> storage_;
  std::size_t byte_offset_;
  std::vector<std::int64_t> shape_;
  DType dtype_;
};

class Shape : public Object {
 public:
  explicit Shape(std::vector<std::int64_t> dims) : dims(std::move(dims)) {}
  std::vector<std::int64_t> dims;
};

class String : public Object {
 public:
  explicit String(std::string text) : text(std::move(text)) {}
  std::string text;
};

class Tuple;
class Function;

class Value {
 public:
  Value() = default;
  static Value null() { return {}; }
  static Value of_int(std::int64_t v) { return Value(ValueKind::Int, v); }
  static Value of_bool(bool v) { return Value(ValueKind::Bool, std::int64_t(v)); }
  static Value of_float(double v);
  static Value of_dtype(DType t);
  static Value of_string(std::string text) { return Value(ValueKind::String, new String(std::move(text))); }
  static Value of_shape(std::vector<std::int64_t> dims) { return Value(ValueKind::Shape, new Shape(std::move(dims))); }
  Value(Ref<Tensor> t) : Value(ValueKind::Tensor, t.get()) {}
  Value(Ref<Tuple> t);
  Value(Ref<Function> f);
  Value(Ref<Storage> s) : Value(ValueKind::Storage, s.get()) {}
  static Value of_tuple(std::vector<Value> fields);
  // Any other object that a packed function passes around; opaque to the machine.
  static Value of_object(Ref<Object> o) { return Value(ValueKind::Object, o.get()); }

  Value(const Value& o) : kind_(o.kind_), bits_(o.bits_), object_(o.object_) {
    if (object_) object_->retain();
  }
  Value(Value&& o) noexcept : kind_(o.kind_), bits_(o.bits_), object_(o.object_) {
    o.kind_ = ValueKind::Null;
    o.object_ = nullptr;
  }
  Value& operator=(Value o) noexcept {
    std::swap(kind_, o.kind_);
    std::swap(bits_, o.bits_);
    std::swap(object_, o.object_);
    return *this;
  }
  ~Value() {
    if (object_) object_->release();
  }

  ValueKind kind() const { return kind_; }
  bool is(ValueKind k) const { return kind_ == k; }
  bool is_null() const { return kind_ == ValueKind::Null; }
  std::int64_t as_int() const { return bits_; }  // Int, Bool
  double as_float() const;
  DType as_dtype() const;
  const std::string& as_string() const { return static_cast<const String*>(object_)->text; }
  const std::vector<std::int64_t>& as_shape() const { return static_cast<const Shape*>(object_)->dims; }
  Tensor& as_tensor() const { return *static_cast<Tensor*>(object_); }
  Tuple& as_tuple() const;
  Function& as_function() const;
  Ref<Tensor> tensor_ref() const { return Ref<Tensor>(static_cast<Tensor*>(object_)); }
  Ref<Storage> storage_ref() const { return Ref<Storage>(static_cast<Storage*>(object_)); }
  Object* object() const { return object_; }  // null for immediates

 private:
  Value(ValueKind kind, std::int64_t bits) : kind_(kind), bits_(bits) {}
  Value(ValueKind kind, Object* object) : kind_(object ? kind : ValueKind::Null), object_(object) {
    if (object_) object_->retain();
  }
  ValueKind kind_ = ValueKind::Null;
  std::int64_t bits_ = 0;
  Object* object_ = nullptr;
};

class Tuple : public Object {
 public:
  explicit Tuple(std::vector<Value> fields) : fields(std::move(fields)) {}
  ~Tuple() override;  // not recursive: a loop can nest tuples as deep as it is long
  std::vector<Value> fields;
};

// A callable: a packed function, a bytecode function of an executable, or a closure over either.
// A Function with no native code is called by the machine through `bytecode_index`.
using PackedArgs = std::span<const Value>;
using PackedFn = std::function<Result<Value>(PackedArgs)>;

class Function : public Object {
 public:
  Function(std::string name, PackedFn native) : name(std::move(name)), native(std::move(native)) {}
  Function(std::string name, int bytecode_index) : name(std::move(name)), bytecode_index(bytecode_index) {}
  std::string name;
  PackedFn native;              // empty for bytecode functions
  int bytecode_index = -1;      // index into the executable's function table
  std::vector<Value> captured;  // appended after the call's arguments (vm.builtin.make_closure)
};

// Deep comparison and text. Text forms follow NumPy; at most `max_elements` elements are shown in full.
struct FormatOptions {
  std::int64_t max_elements = 1000;
  int edge_items = 3;
  int precision = 8;  // NumPy's default: shortest that round-trips, at most this many digits
  int line_width = 75;
};
std::string format_value(const Value& v, const FormatOptions& options = {});
// On one line, abbreviated.
std::string format_brief(const Value& v);
// `Tensor[(2, 3), "float32"]`, `shape(2, 3)`, `tuple(2)`: one line, no data.
std::string describe(const Value& v);

struct Tolerance {
  double atol = 1e-5;
  double rtol = 1e-5;
  bool equal_nan = true;
};
// Empty when the values agree; else the first difference in words: path, index, both values, counts.
std::string compare(const Value& actual, const Value& expected, const Tolerance& tolerance = {});
// Deep copy: no storage is shared with the original.
Result<Value> deep_copy(const Value& v);

}  // namespace rldb::runtime
