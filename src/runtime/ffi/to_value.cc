// Values of the C ABI read: nothing in them is trusted. Every address is looked at before it is followed.
#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "rldb/runtime/object_value.h"
#include "runtime/ffi/call.h"
#include "runtime/ffi/foreign.h"
#include "runtime/ffi/types.h"
#include "runtime/value/alignment.h"

namespace rldb::runtime::ffi {

namespace {

constexpr std::int64_t kMaxItems = std::int64_t(1) << 24;
constexpr std::int32_t kMaxTensorRank = 64;

support::Failure<Error> bad(std::string what) { return fail(ErrorKind::TypeMismatch, std::move(what)); }

Result<DType> dtype_of(DLDataType t) {
  const DType made{TypeCode(t.code), t.bits, std::int16_t(t.lanes)};
  if (made.is_void() || (t.lanes != 0 && parse_dtype(to_string(made)) == made)) return made;
  return bad(fmt::format("an element type of code {}, {} bits and {} lanes", t.code, t.bits, t.lanes));
}

bool compact(const DLTensor& t) {
  if (!t.strides) return true;
  std::int64_t expected = 1;
  for (std::int32_t d = t.ndim; d-- > 0;) {
    if (t.shape[d] != 1 && t.strides[d] != expected) return false;
    if (__builtin_mul_overflow(expected, t.shape[d], &expected)) return false;
  }
  return true;
}

// Elements of a tensor with strides, in order.
Result<Ref<Tensor>> gather(const DLTensor& t, std::vector<std::int64_t> shape, DType dtype) {
  RLDB_TRY(auto made, Tensor::empty(std::move(shape), dtype));
  const std::size_t width = dtype.bytes();
  const std::int64_t count = made->element_count();
  const auto* from = static_cast<const std::byte*>(t.data) + t.byte_offset;
  for (std::int64_t flat = 0; flat < count; ++flat) {
    std::int64_t rest = flat, at = 0;
    for (std::int32_t d = t.ndim; d-- > 0;) {
      at += rest % t.shape[d] * t.strides[d];
      rest /= t.shape[d];
    }
    const std::byte* element = from + at * std::int64_t(width);
    if (!readable(element, width)) return bad("a tensor whose elements are outside of its memory");
    std::memcpy(made->data() + std::size_t(flat) * width, element, width);
  }
  return made;
}

Result<Value> made_tensor(Result<Ref<Tensor>> made) {
  if (!made.ok()) return support::Failure(std::move(made).error());
  return Value(std::move(made).value());
}

// `owner`: keeps the memory; none: it is lent, and so copied.
Result<Value> tensor_of(const DLTensor& t, Ref<Object> owner) {
  if (t.ndim < 0 || t.ndim > kMaxTensorRank) return bad(fmt::format("a tensor of rank {}", t.ndim));
  const std::size_t rank_bytes = std::size_t(t.ndim) * sizeof(std::int64_t);
  if (!readable(t.shape, rank_bytes) || (t.strides && !readable(t.strides, rank_bytes)))
    return bad("a tensor whose shape cannot be read");
  std::vector<std::int64_t> shape(t.shape, t.shape + t.ndim);
  RLDB_TRY(const DType dtype, dtype_of(t.dtype));
  const Device device{t.device.device_type, t.device.device_id};
  if (!device.is_host())
    return fail(ErrorKind::Unsupported, fmt::format("a tensor on {}, of which rldb has no memory", to_string(device)));
  // The checks of dims and of their product are those of every tensor.
  std::size_t bytes = dtype.bytes();
  bool empty = false, fits = !dtype.is_void();
  for (const std::int64_t d : shape) empty |= d == 0;
  for (const std::int64_t d : shape) fits = fits && d >= 0 && !__builtin_mul_overflow(bytes, std::size_t(d), &bytes);
  if (!empty && (!fits || bytes > std::size_t(std::numeric_limits<std::int64_t>::max())))
    return bad("a tensor whose size is negative or overflows");
  if (empty) return made_tensor(Tensor::empty(std::move(shape), dtype));
  if (!t.data) return bad("a tensor without data");
  if (!compact(t)) return made_tensor(gather(t, std::move(shape), dtype));
  auto* data = static_cast<std::byte*>(t.data) + t.byte_offset;
  if (!readable(data, bytes)) return bad("a tensor whose data are outside of its memory");
  if (owner && reinterpret_cast<std::uintptr_t>(data) % kAlignment == 0) {
    auto storage = Storage::borrow(data, bytes, device, std::move(owner));
    storage->expose();
    return made_tensor(Tensor::view(std::move(storage), 0, std::move(shape), dtype));
  }
  RLDB_TRY(auto made, Tensor::empty(std::move(shape), dtype));
  std::memcpy(made->data(), data, bytes);
  return Value(std::move(made));
}

Result<std::string> bytes_of(const TVMFFIByteArray& cell) {
  if (!readable(cell.data, cell.size)) return bad("a text outside of its memory");
  return std::string(cell.data ? cell.data : "", cell.size);
}

Ref<Object> keep(TVMFFIObject* object) {
  return support::make_ref<ForeignObject>(current_scope().library, Handle::share(object));
}

Result<Value> function_of(TVMFFIObject* object) {
  const auto& cell = cell_of<TVMFFIFunctionCell>(object);
  if (!readable(object + 1, sizeof cell) || !cell.safe_call) return bad("a function without code");
  Scope scope = current_scope();
  scope.registered = nullptr;
  scope.name = fmt::format("a function from `{}`", scope.name);
  // Destroyed in reverse: the object before the library whose code destroys it.
  auto call = [scope, handle = Handle::share(object)](PackedArgs args) {
    return call_foreign(scope, cell_of<TVMFFIFunctionCell>(handle.get()).safe_call, handle.get(), args,
                        TensorForm::Object);
  };
  return Value(Ref<Function>(support::make_ref<ForeignFunction>(current_scope().name, std::move(call), object)));
}

class Reader {
 public:
  Result<Value> read(const TVMFFIAny& any, int depth) {
    switch (any.type_index) {
      case kTVMFFINone:
        return Value();
      case kTVMFFIInt:
        return Value::of_int(any.v_int64);
      case kTVMFFIBool:
        return Value::of_bool(any.v_int64 != 0);
      case kTVMFFIFloat:
        return Value::of_float(any.v_float64);
      case kTVMFFIOpaquePtr:
        return Value::of_object(support::make_ref<PointerValue>(any.v_ptr));
      case kTVMFFIDataType: {
        RLDB_TRY(const DType t, dtype_of(any.v_dtype));
        return Value::of_dtype(t);
      }
      case kTVMFFIDevice:
        return Value::of_object(
            support::make_ref<DeviceValue>(Device{any.v_device.device_type, any.v_device.device_id}));
      case kTVMFFIDLTensorPtr:
        return read_lent_tensor(any);
      case kTVMFFIRawStr:
        if (!readable(any.v_c_str, 1)) return bad("a text outside of its memory");
        return Value::of_string(any.v_c_str);
      case kTVMFFIByteArrayPtr: {
        if (!readable(any.v_ptr, sizeof(TVMFFIByteArray))) return bad("bytes outside of its memory");
        RLDB_TRY(std::string bytes, bytes_of(*static_cast<const TVMFFIByteArray*>(any.v_ptr)));
        return Value::of_object(support::make_ref<BytesValue>(std::move(bytes)));
      }
      case kTVMFFIObjectRValueRef: {
        if (!readable(any.v_ptr, sizeof(void*))) return bad("a reference outside of its memory");
        TVMFFIAny moved{};
        moved.v_obj = *static_cast<TVMFFIObject**>(any.v_ptr);
        if (!moved.v_obj) return Value();
        if (std::string why = why_not_object(moved.v_obj); !why.empty()) return bad(std::move(why));
        moved.type_index = moved.v_obj->type_index;
        return read_object(moved, depth);
      }
      case kTVMFFISmallStr:
      case kTVMFFISmallBytes: {
        if (any.small_str_len > 7) return bad(fmt::format("a short text of {} bytes", any.small_str_len));
        std::string text(any.v_bytes, any.small_str_len);
        if (any.type_index == kTVMFFISmallStr) return Value::of_string(std::move(text));
        return Value::of_object(support::make_ref<BytesValue>(std::move(text)));
      }
      default:
        break;  // foreign code sets any number
    }
    if (any.type_index < kTVMFFIStaticObjectBegin) return bad(fmt::format("type index {}", any.type_index));
    return read_object(any, depth);
  }

 private:
  Result<Value> read_lent_tensor(const TVMFFIAny& any) {
    const auto* t = static_cast<const DLTensor*>(any.v_ptr);
    // One that was made here from a value is that value.
    const auto* head = reinterpret_cast<const TVMFFIObject*>(t) - 1;
    if (const Value* known = value_in(head); known && known->is(ValueKind::Tensor)) return *known;
    if (is_freed(head)) return bad("a tensor that was freed");
    if (!readable(t, sizeof *t)) return bad("a tensor outside of its memory");
    return tensor_of(*t, nullptr);
  }

  Result<Value> read_object(const TVMFFIAny& any, int depth) {
    TVMFFIObject* o = any.v_obj;
    if (std::string why = why_not_object(o, any.type_index); !why.empty()) return bad(std::move(why));
    if (const Value* known = value_in(o); known && !known->is_null()) return *known;
    if (depth > kMaxNesting) return bad(fmt::format("values nested deeper than {}", kMaxNesting));
    switch (o->type_index) {
      case kTVMFFIStr: {
        RLDB_TRY(std::string text, bytes_of(cell_of<TVMFFIByteArray>(o)));
        return Value::of_string(std::move(text));
      }
      case kTVMFFIBytes: {
        RLDB_TRY(std::string text, bytes_of(cell_of<TVMFFIByteArray>(o)));
        return Value::of_object(support::make_ref<BytesValue>(std::move(text)));
      }
      case kTVMFFIFunction:
        return function_of(o);
      case kTVMFFIShape: {
        const auto& cell = cell_of<TVMFFIShapeCell>(o);
        if (cell.size > std::size_t(kMaxItems) || !readable(cell.data, cell.size * sizeof(std::int64_t)))
          return bad("a shape outside of its memory");
        return Value::of_shape({cell.data, cell.data + cell.size});
      }
      case kTVMFFITensor:
        if (!readable(o + 1, sizeof(DLTensor))) return bad("a tensor outside of its memory");
        return tensor_of(cell_of<DLTensor>(o), keep(o));
      case kTVMFFIArray:
      case kTVMFFIList:
        return read_sequence(o, depth);
      case kTVMFFIMap:
      case kTVMFFIDict:
        return read_map(o, depth);
      default:
        return Value::of_object(keep(o));  // any other type
    }
  }

  Result<Value> read_sequence(TVMFFIObject* o, int depth) {
    const auto& cell = cell_of<TVMFFISeqCell>(o);
    if (!readable(&cell, sizeof cell)) return bad("an array outside of its memory");
    RLDB_TRY_VOID(count(cell.size));
    if (!readable(cell.data, std::size_t(cell.size) * sizeof(TVMFFIAny))) return bad("an array outside of its memory");
    std::vector<Value> fields;
    for (std::int64_t i = 0; i < cell.size; ++i) {
      RLDB_TRY(Value field, read(static_cast<const TVMFFIAny*>(cell.data)[i], depth + 1));
      fields.push_back(std::move(field));
    }
    return Value::of_tuple(std::move(fields));
  }

  Result<Value> read_map(TVMFFIObject* o, int depth) {
    const auto& cell = cell_of<DenseMapCell>(o);
    if (!readable(&cell, sizeof(MapCell))) return bad("a map outside of its memory");
    RLDB_TRY_VOID(count(std::int64_t(cell.size)));
    std::vector<std::pair<Value, Value>> items;
    const bool small = (cell.slots & kSmallMap) != 0;
    std::uint64_t at = small ? 0 : cell.first;
    for (std::uint64_t i = 0; i < cell.size; ++i) {
      const TVMFFIAny* pair = nullptr;
      if (small) {
        pair = static_cast<const TVMFFIAny*>(cell.data) + 2 * i;
      } else {
        if (at >= cell.slots) return bad("a map whose items are not linked");
        const auto* block = static_cast<const std::byte*>(cell.data) +
                            at / kBlockItems * kBlockItems * (1 + sizeof(DenseItem)) + kBlockItems;
        const auto* item = reinterpret_cast<const DenseItem*>(block + at % kBlockItems * sizeof(DenseItem));
        if (!readable(item, sizeof *item)) return bad("a map outside of its memory");
        pair = &item->key;
        at = item->next;
      }
      if (!readable(pair, 2 * sizeof *pair)) return bad("a map outside of its memory");
      RLDB_TRY(Value key, read(pair[0], depth + 1));
      RLDB_TRY(Value value, read(pair[1], depth + 1));
      items.emplace_back(std::move(key), std::move(value));
    }
    return Value::of_object(support::make_ref<MapValue>(std::move(items)));
  }

  // Items in all containers: shared containers could be read over and over.
  Result<support::Unit> count(std::int64_t n) {
    if (n < 0 || n > kMaxItems || (items_ += n) > kMaxItems) return bad(fmt::format("a container of {} items", n));
    return support::Unit{};
  }

  std::int64_t items_ = 0;
};

}  // namespace

std::string ForeignObject::description(std::size_t) const {
  return fmt::format("object of type `{}`", type_name(handle_.get()->type_index));
}

Result<Value> to_value(const TVMFFIAny& any) { return Reader().read(any, 0); }

}  // namespace rldb::runtime::ffi
