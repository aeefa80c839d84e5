// Storage, tensors and views of them.
#include <algorithm>
#include <cstring>
#include <limits>

#include "rldb/runtime/clear.h"
#include "rldb/runtime/copy.h"
#include "rldb/runtime/shared_memory.h"
#include "vm/builtins/args.h"

namespace rldb::vm {
namespace {

// Product of dims times `unit`, or nullopt when a dim is negative or the product overflows.
std::optional<std::size_t> checked_bytes(const std::vector<std::int64_t>& dims, std::size_t unit) {
  std::size_t total = unit;
  bool empty = false;
  for (std::int64_t d : dims) {
    if (d < 0) return std::nullopt;
    empty = empty || d == 0;
  }
  if (empty) return 0;
  for (std::int64_t d : dims) {
    if (total > std::numeric_limits<std::size_t>::max() / std::size_t(d)) return std::nullopt;
    total *= std::size_t(d);
  }
  return total;
}

Result<Value> view_of(const Args& a, const runtime::Tensor& t, std::vector<std::int64_t> shape, DType dtype,
                      std::int64_t relative_offset) {
  auto bytes = checked_bytes(shape, dtype.bytes());
  if (!bytes || relative_offset < 0 || std::size_t(relative_offset) > t.byte_size() ||
      *bytes > t.byte_size() - std::size_t(relative_offset))
    return a.fail(ErrorKind::ShapeMismatch,
                  fmt::format("a view of shape ({}), {} at byte {} does not fit into {}", fmt::join(shape, ", "),
                              to_string(dtype), relative_offset, describe(a[0])));
  RLDB_TRY(auto view,
           runtime::Tensor::view(t.storage(), t.byte_offset() + std::size_t(relative_offset), std::move(shape), dtype));
  return Value(view);
}

Result<Value> memory_view(bytecode::BuiltinId id, PackedArgs args) {
  Args a(id, args);
  if (!a.count_fits()) return a.wrong_count();
  RLDB_TRY(runtime::Tensor * t, a.tensor(0));
  std::vector<std::int64_t> shape = t->shape();
  if (!a[1].is_null()) {
    RLDB_TRY(auto* given, a.shape(1));
    shape = *given;
  }
  DType dtype = t->dtype();
  if (!a[2].is_null()) {
    RLDB_TRY(dtype, a.dtype(2));
    if (dtype.is_void()) dtype = t->dtype();
  }
  std::int64_t offset = 0;
  if (!a[3].is_null()) {
    RLDB_TRY(offset, a.integer(3));
  }
  return view_of(a, *t, std::move(shape), dtype, offset);
}

}  // namespace

Result<Value> builtin_AllocStorage(const CallSite& site, PackedArgs args) {
  RLDB_ARGS(AllocStorage);
  RLDB_TRY(auto* shape, a.shape(1));
  RLDB_TRY(const std::int64_t device, a.integer(2));
  RLDB_TRY(DType dtype, a.dtype(3));
  // Its size is computed from the shape of what goes into it.
  if (shape->size() == 1 && (*shape)[0] < 0)
    return a.fail(ErrorKind::ShapeMismatch,
                  fmt::format("memory of {} bytes: a dimension of the tensor that it is for is negative", (*shape)[0]));
  const auto where = runtime::device_at(site.program.environment().devices, device);
  auto storage = runtime::Storage::of_shape(*shape, dtype, where);
  // Checkpoints hold memory that the program does not use any more.
  while (!storage.ok() && storage.error().kind == ErrorKind::OutOfMemory && runtime::reclaim())
    storage = runtime::Storage::of_shape(*shape, dtype, where);
  if (!storage.ok()) return support::Failure(std::move(storage).error());
  return Value(*std::move(storage));
}

Result<Value> builtin_AllocTensor(const CallSite&, PackedArgs args) {
  RLDB_ARGS(AllocTensor);
  if (!a[0].is(ValueKind::Storage)) return a.wrong(0, "a Storage");
  RLDB_TRY(std::int64_t offset, a.integer(1));
  RLDB_TRY(auto* shape, a.shape(2));
  RLDB_TRY(DType dtype, a.dtype(3));
  Ref<runtime::Storage> storage = a[0].storage_ref();
  auto tensor = offset < 0 ? runtime::Result<Ref<runtime::Tensor>>(runtime::fail(ErrorKind::OutOfMemory, ""))
                           : runtime::Tensor::view(storage, std::size_t(offset), *shape, dtype);
  if (!tensor.ok() && offset >= 0 && runtime::shared_block(*storage)) {  // shared memory does not grow
    RLDB_TRY_VOID(runtime::own(*storage));
    tensor = runtime::Tensor::view(storage, std::size_t(offset), *shape, dtype);
  }
  if (tensor.ok()) return Value(*std::move(tensor));
  return a.fail(ErrorKind::OutOfMemory,
                fmt::format("a tensor of shape ({}), {} at byte {} does not fit into a storage of {} bytes",
                            fmt::join(*shape, ", "), to_string(dtype), offset, storage->size()));
}

Result<Value> alloc_cleared_tensor(const CallSite& site, PackedArgs args) {
  RLDB_TRY(Value made, builtin_AllocTensor(site, args));
  const runtime::Tensor& t = made.as_tensor();
  RLDB_TRY_VOID(runtime::clear(t));
  return made;
}

Result<Value> builtin_AllocShaped(const CallSite& site, PackedArgs args) {
  RLDB_ARGS(AllocShaped);
  RLDB_TRY(auto* shape, a.shape(0));
  RLDB_TRY(DType dtype, a.dtype(1));
  RLDB_TRY(auto tensor,
           runtime::Tensor::empty(*shape, dtype, runtime::device_at(site.program.environment().devices, 0)));
  return Value(tensor);
}

Result<Value> builtin_NullValue(const CallSite&, PackedArgs args) {
  RLDB_ARGS(NullValue);
  return Value();
}

Result<Value> builtin_MemoryClear(const CallSite&, PackedArgs args) {
  RLDB_ARGS(MemoryClear);
  return Value();
}

Result<Value> builtin_Reshape(const CallSite&, PackedArgs args) {
  RLDB_ARGS(Reshape);
  RLDB_TRY(runtime::Tensor * t, a.tensor(0));
  RLDB_TRY(auto* shape, a.shape(1));
  auto bytes = checked_bytes(*shape, t->dtype().bytes());
  if (!bytes || *bytes != t->byte_size())
    return a.fail(ErrorKind::ShapeMismatch,
                  fmt::format("cannot reshape {} to ({})", describe(a[0]), fmt::join(*shape, ", ")));
  return view_of(a, *t, *shape, t->dtype(), 0);
}

Result<Value> builtin_ShapeOf(const CallSite&, PackedArgs args) {
  RLDB_ARGS(ShapeOf);
  RLDB_TRY(runtime::Tensor * t, a.tensor(0));
  return Value::of_shape(t->shape());
}

Result<Value> builtin_TensorToShape(const CallSite&, PackedArgs args) {
  RLDB_ARGS(TensorToShape);
  RLDB_TRY(runtime::Tensor * t, a.tensor(0));
  if (t->ndim() != 1 || !(t->dtype().is_int() || t->dtype().is_uint()) || t->dtype().lanes != 1)
    return a.wrong(0, "a 1-d integer tensor");
  std::vector<std::int64_t> dims;
  for (std::int64_t i = 0; i < t->element_count(); ++i)
    dims.push_back(load_as_int(t->peek() + std::size_t(i) * t->dtype().bytes(), t->dtype()));
  return Value::of_shape(std::move(dims));
}

Result<Value> builtin_ToDevice(const CallSite& site, PackedArgs args) {
  RLDB_ARGS(ToDevice);
  RLDB_TRY_VOID(a.tensor(0));
  RLDB_TRY(const std::int64_t type, a.integer(1));
  RLDB_TRY(const std::int64_t id, a.integer(2));
  const auto& devices = site.program.environment().devices;
  if (devices.empty()) return a[0];
  const runtime::Device device{std::int32_t(type), std::int32_t(id)};
  if (device.is_host() || std::find(devices.begin(), devices.end(), device) != devices.end())
    return runtime::on_device(a[0], device);
  std::string names;
  for (const runtime::Device& d : devices) names += (names.empty() ? "" : ", ") + to_string(d);
  return a.fail(ErrorKind::Unsupported,
                fmt::format("there is no device {}; the devices are {}", to_string(device), names));
}

Result<Value> builtin_EnsureZeroOffset(const CallSite&, PackedArgs args) {
  RLDB_ARGS(EnsureZeroOffset);
  RLDB_TRY(runtime::Tensor * t, a.tensor(0));
  if (t->byte_offset() == 0) return a[0];
  RLDB_TRY(auto copy, runtime::Tensor::empty(t->shape(), t->dtype(), t->device()));
  if (t->byte_size() > 0) std::memcpy(copy->data(), t->peek(), t->byte_size());
  return Value(copy);
}

Result<Value> builtin_MemoryView(const CallSite&, PackedArgs args) {
  return memory_view(bytecode::BuiltinId::MemoryView, args);
}

Result<Value> builtin_MemoryViewAlias(const CallSite&, PackedArgs args) {
  return memory_view(bytecode::BuiltinId::MemoryViewAlias, args);
}

}  // namespace rldb::vm
