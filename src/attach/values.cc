// Objects of tvm-ffi's layout, read field by field.
#include "attach/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "rldb/runtime/described.h"
#include "rldb/runtime/object_value.h"

namespace rldb::attach {

using runtime::DType;
using runtime::Ref;
using runtime::Value;

namespace {

constexpr int kMostDepth = 100, kMostRank = 64;
constexpr std::size_t kMostTensor = std::size_t(64) << 20, kMostBytes = std::size_t(512) << 20;
constexpr std::size_t kMostItems = 100'000, kMostText = 1 << 20;

// A value that is there and is not copied.
class Seen : public runtime::Object, public runtime::Described {
 public:
  explicit Seen(std::string text) : text_(std::move(text)) {}
  std::string description(std::size_t) const override { return text_; }

 private:
  const std::string text_;
};

Value seen(std::string text) { return Value::of_object(Ref<runtime::Object>(new Seen(std::move(text)))); }

Address word(const void* pointer) { return reinterpret_cast<Address>(pointer); }

Value text_at(const Memory& memory, const TVMFFIByteArray& at, bool bytes) {
  std::string text(at.size, '\0');
  if (at.size > 0 && !memory.read(word(at.data), text.data(), text.size())) return seen("a text that cannot be read");
  if (bytes) return Value::of_object(Ref<runtime::Object>(new runtime::BytesValue(std::move(text))));
  return Value::of_string(std::move(text));
}

bool compact(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i])
    if (shape[i] != 1 && strides[i] != stride) return false;
  return true;
}

}  // namespace

Value ValueReader::read(const TVMFFIAny& any, int depth) {
  if (any.type_index >= kTVMFFIStaticObjectBegin) return object(word(any.v_obj), depth);
  switch (any.type_index) {
    case kTVMFFINone:
      return Value();
    case kTVMFFIInt:
      return Value::of_int(any.v_int64);
    case kTVMFFIBool:
      return Value::of_bool(any.v_int64 != 0);
    case kTVMFFIFloat:
      return Value::of_float(any.v_float64);
    case kTVMFFIDataType:
      return Value::of_dtype({runtime::TypeCode(any.v_dtype.code), any.v_dtype.bits, std::int16_t(any.v_dtype.lanes)});
    case kTVMFFIDevice:
      return Value::of_object(Ref<runtime::Object>(
          new runtime::DeviceValue(runtime::Device{any.v_device.device_type, any.v_device.device_id})));
    case kTVMFFIDLTensorPtr:
      return tensor(word(any.v_ptr));
    case kTVMFFISmallStr:
    case kTVMFFISmallBytes:
      return Value::of_string(std::string(any.v_bytes, std::min<std::size_t>(any.small_str_len, sizeof any.v_bytes)));
    default:  // numbers of another process
      return seen(fmt::format("a value of type {} at {:#x}", any.type_index, any.v_uint64));
  }
}

Value ValueReader::object(Address at, int depth) {
  if (const auto it = known_.find(at); it != known_.end()) return it->second;
  TVMFFIObject head;
  if (depth > kMostDepth || ++items_ > kMostItems) return seen("not read: too many values");
  if (!memory_.get(at, head)) return seen(fmt::format("an object at {:#x} that cannot be read", at));
  Value made = object_of_type(at, head, depth);
  known_.emplace(at, made);
  return made;
}

Value ValueReader::object_of_type(Address at, const TVMFFIObject& head, int depth) {
  const Address cell = at + sizeof head;
  switch (head.type_index) {
    case kTVMFFITensor:
      return tensor(cell);
    case kTVMFFIArray:
    case kTVMFFIList:
      return sequence(cell, depth);
    case kTVMFFIFunction:
      return function(at, head);
    case kTVMFFIStr:
    case kTVMFFIBytes: {
      TVMFFIByteArray text;
      if (!memory_.get(cell, text)) break;
      if (text.size > kMostText || bytes_ + text.size > kMostBytes)
        return seen(fmt::format("a text of {} bytes, not read", text.size));
      bytes_ += text.size;
      return text_at(memory_, text, head.type_index == kTVMFFIBytes);
    }
    case kTVMFFIShape: {
      TVMFFIShapeCell shape;
      if (!memory_.get(cell, shape) || shape.size > kMostItems - std::min(items_, kMostItems)) break;
      items_ += shape.size;
      std::vector<std::int64_t> dims(shape.size);
      if (!dims.empty() && !memory_.read(word(shape.data), dims.data(), dims.size() * sizeof dims[0])) break;
      return Value::of_shape(std::move(dims));
    }
    default: {                   // numbers of another process
      std::uint64_t storage[2];  // its data and size
      if (word(reinterpret_cast<const void*>(head.deleter)) == watched_.delete_storage && head.deleter &&
          memory_.get(cell, storage))
        return seen(fmt::format("a storage of {} bytes", storage[1]));
      return seen(fmt::format("an object of type {} at {:#x}", head.type_index, at));
    }
  }
  return seen(fmt::format("an object at {:#x} that cannot be read", at));
}

Value ValueReader::tensor(Address cell) {
  DLTensor t;
  if (!memory_.get(cell, t) || t.ndim < 0 || t.ndim > kMostRank) return seen("a tensor that cannot be read");
  std::vector<std::int64_t> shape(std::size_t(t.ndim)), strides(std::size_t(t.ndim));
  const std::size_t size = shape.size() * sizeof(std::int64_t);
  if (size > 0 && !memory_.read(word(t.shape), shape.data(), size)) return seen("a tensor whose shape cannot be read");
  const DType type{runtime::TypeCode(t.dtype.code), t.dtype.bits, std::int16_t(t.dtype.lanes)};
  const auto left = [&](std::string_view why) {
    return seen(fmt::format("Tensor[({}), \"{}\"], {}", fmt::join(shape, ", "), to_string(type), why));
  };
  if (type.is_void() || runtime::parse_dtype(to_string(type)) != type) return seen("a tensor of an unknown dtype");
  std::uint64_t bytes = type.bytes();
  for (const std::int64_t d : shape)
    if (d < 0 || __builtin_mul_overflow(bytes, std::uint64_t(d), &bytes)) return left("of an impossible shape");
  if (t.device.device_type != 1) return left("which is not on the CPU");
  if (t.strides && size > 0 && (!memory_.read(word(t.strides), strides.data(), size) || !compact(shape, strides)))
    return left("which is not compact");
  if (bytes > kMostTensor || bytes_ + bytes > kMostBytes) return left(fmt::format("not read: {} MiB", bytes >> 20));
  auto made = runtime::Tensor::empty(shape, type);
  if (!made.ok()) return left("for which there is no memory");
  if (bytes > 0 && !memory_.read(word(t.data) + t.byte_offset, (*made)->data(), bytes))
    return left("whose elements cannot be read");
  bytes_ += bytes;
  return Value(std::move(made).value());
}

Value ValueReader::sequence(Address cell, int depth) {
  TVMFFISeqCell seq;
  if (!memory_.get(cell, seq) || seq.size < 0) return seen("a tuple that cannot be read");
  // Fields may share what they point to: all of them count.
  if (std::size_t(seq.size) > kMostItems - std::min(items_, kMostItems))
    return seen(fmt::format("a tuple of {} values, not read", seq.size));
  items_ += std::size_t(seq.size);
  std::vector<TVMFFIAny> fields(std::size_t(seq.size));
  if (!fields.empty() && !memory_.read(word(seq.data), fields.data(), fields.size() * sizeof fields[0]))
    return seen("a tuple that cannot be read");
  std::vector<Value> made;
  for (const TVMFFIAny& f : fields) made.push_back(read(f, depth + 1));
  return Value::of_tuple(std::move(made));
}

// struct Closure of the runtime: after the cell the library, and the function's index.
Value ValueReader::function(Address at, const TVMFFIObject& head) {
  struct {
    Address library;
    std::int64_t function;
    TVMFFIAny called;
    std::int64_t captured;
  } closure;
  if (!head.deleter || word(reinterpret_cast<const void*>(head.deleter)) != watched_.delete_closure ||
      !memory_.get(at + sizeof head + sizeof(TVMFFIFunctionCell), closure))
    return seen("a function of the host");
  if (closure.function < 0 || std::size_t(closure.function) >= program_.functions.size()) return seen("a closure");
  const std::string& name = program_.functions[std::size_t(closure.function)].name;
  return seen(closure.captured > 0 ? fmt::format("closure {}, {} values captured", name, closure.captured)
                                   : fmt::format("function {}", name));
}

}  // namespace rldb::attach
