// Values to bytes and back. Both readers trust nothing: a plugin may have overwritten the memory of its guard.
#include "runtime/plugin/wire_value.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "rldb/runtime/object_value.h"

namespace rldb::runtime {

namespace {

constexpr int kMaxWireDepth = 200;

// Values of kind Object, and tensors.
enum class WireForm : std::uint8_t { Device, Bytes, Pointer, Map, Kept, Shared, Inline };

void put_dtype(WireWriter& out, DType t) {
  out.word(std::uint64_t(t.code) | std::uint64_t(t.bits) << 8 | std::uint64_t(std::uint16_t(t.lanes)) << 16);
}

DType get_dtype(WireReader& in) {
  const std::uint64_t v = in.word();
  const DType t{TypeCode(v & 0xff), std::uint8_t(v >> 8), std::int16_t(std::uint16_t(v >> 16))};
  // A function returns void if it sets a dtype of zeros; every other known dtype reads back as itself.
  if (v >> 32 == 0 && (t.is_void() || (t.lanes != 0 && parse_dtype(to_string(t)) == t))) return t;
  in.fail();
  return DType::Void();
}

void put_form(WireWriter& out, WireForm form) { out.word(std::uint64_t(form)); }

void put_dims(WireWriter& out, const std::vector<std::int64_t>& dims) {
  out.word(dims.size());
  for (const std::int64_t d : dims) out.word(std::uint64_t(d));
}

std::vector<std::int64_t> get_dims(WireReader& in) {
  std::vector<std::int64_t> dims(in.count());
  for (std::int64_t& d : dims) d = std::int64_t(in.word());
  return dims;
}

void put_shared(WireWriter& out, std::size_t range, std::size_t offset, const Tensor& t) {
  put_form(out, WireForm::Shared);
  out.word(range);
  out.word(offset);
  put_dtype(out, t.dtype());
  put_dims(out, t.shape());
}

// Writes what both directions have in common. `rest` writes tensors, functions, and objects of the plugin; it returns
// the reason if it cannot.
template <class Rest>
class ValueWriter {
 public:
  ValueWriter(WireWriter& out, Rest rest) : out_(out), rest_(std::move(rest)) {}

  std::string put(const Value& v, int depth) {
    if (depth > kMaxWireDepth) return "a value nested that deep";
    out_.word(std::uint64_t(v.kind()));
    switch (v.kind()) {
      case ValueKind::Null:
        return {};
      case ValueKind::Int:
      case ValueKind::Bool:
        out_.word(std::uint64_t(v.as_int()));
        return {};
      case ValueKind::Float:
        out_.word(std::bit_cast<std::uint64_t>(v.as_float()));
        return {};
      case ValueKind::DType:
        put_dtype(out_, v.as_dtype());
        return {};
      case ValueKind::String:
        out_.text(v.as_string());
        return {};
      case ValueKind::Shape:
        put_dims(out_, v.as_shape());
        return {};
      case ValueKind::Tuple: {
        // A constructor of a Relay type has a tag besides its fields.
        if (dynamic_cast<const Described*>(v.object())) return describe(v);
        out_.word(v.as_tuple().fields.size());
        for (const Value& field : v.as_tuple().fields)
          if (std::string why = put(field, depth + 1); !why.empty()) return why;
        return {};
      }
      case ValueKind::Object:
        return put_object(v, depth);
      case ValueKind::Storage:
        return "a storage";
      case ValueKind::Tensor:
      case ValueKind::Function:
        return rest_(v);
    }
    return "a value";
  }

 private:
  std::string put_object(const Value& v, int depth) {
    if (const auto* device = object_in<DeviceValue>(v)) {
      put_form(out_, WireForm::Device);
      out_.word(std::uint64_t(device->device.type));
      out_.word(std::uint64_t(device->device.id));
    } else if (const auto* bytes = object_in<BytesValue>(v)) {
      put_form(out_, WireForm::Bytes);
      out_.text(bytes->bytes);
    } else if (const auto* pointer = object_in<PointerValue>(v)) {
      put_form(out_, WireForm::Pointer);
      out_.word(reinterpret_cast<std::uintptr_t>(pointer->pointer));
    } else if (const auto* map = object_in<MapValue>(v)) {
      put_form(out_, WireForm::Map);
      out_.word(map->items.size());
      for (const auto& [key, value] : map->items)
        for (const Value* part : {&key, &value})
          if (std::string why = put(*part, depth + 1); !why.empty()) return why;
    } else {
      return rest_(v);
    }
    return {};
  }
  WireWriter& out_;
  Rest rest_;
};

// Reads what both directions have in common. `rest(form)` reads the other forms.
template <class Rest>
class ValueReader {
 public:
  ValueReader(WireReader& in, Rest rest) : in_(in), rest_(std::move(rest)) {}

  Value get(int depth) {
    const std::uint64_t kind = in_.word();
    if (kind > std::uint64_t(ValueKind::Object) || depth > kMaxWireDepth) in_.fail();
    if (!in_.good()) return Value();
    switch (ValueKind(kind)) {
      case ValueKind::Null:
        return Value();
      case ValueKind::Int:
        return Value::of_int(std::int64_t(in_.word()));
      case ValueKind::Bool:
        return Value::of_bool(in_.word() != 0);
      case ValueKind::Float:
        return Value::of_float(std::bit_cast<double>(in_.word()));
      case ValueKind::DType:
        return Value::of_dtype(get_dtype(in_));
      case ValueKind::String:
        return Value::of_string(std::string(in_.text()));
      case ValueKind::Shape:
        return Value::of_shape(get_dims(in_));
      case ValueKind::Tuple: {
        std::vector<Value> fields(in_.count());
        for (Value& field : fields) field = get(depth + 1);
        return Value::of_tuple(std::move(fields));
      }
      case ValueKind::Tensor:
      case ValueKind::Function:
      case ValueKind::Object:
        return get_form(ValueKind(kind), depth);
      case ValueKind::Storage:
        break;
    }
    in_.fail();
    return Value();
  }

 private:
  Value get_form(ValueKind kind, int depth) {
    const std::uint64_t form = in_.word();
    if (form > std::uint64_t(WireForm::Inline)) in_.fail();
    if (!in_.good()) return Value();
    switch (WireForm(form)) {
      case WireForm::Device: {
        const auto type = std::int32_t(in_.word()), id = std::int32_t(in_.word());
        return Value::of_object(support::make_ref<DeviceValue>(Device{type, id}));
      }
      case WireForm::Bytes:
        return Value::of_object(support::make_ref<BytesValue>(std::string(in_.text())));
      case WireForm::Pointer:
        return Value::of_object(support::make_ref<PointerValue>(reinterpret_cast<void*>(in_.word())));
      case WireForm::Map: {
        std::vector<std::pair<Value, Value>> items(in_.count());
        for (auto& [key, value] : items) {
          key = get(depth + 1);
          value = get(depth + 1);
        }
        return Value::of_object(support::make_ref<MapValue>(std::move(items)));
      }
      case WireForm::Kept:
      case WireForm::Shared:
      case WireForm::Inline:
        return rest_(WireForm(form), kind);
    }
    return Value();
  }
  WireReader& in_;
  Rest rest_;
};

// `storages[i]` begins at `begins[i]` of what the other side sees as the storage.
Value get_shared(WireReader& in, std::size_t count, const std::function<Ref<Storage>(std::size_t)>& storage,
                 const std::function<std::size_t(std::size_t)>& begin) {
  const std::uint64_t range = in.word();
  const std::uint64_t offset = in.word();
  const DType dtype = get_dtype(in);
  std::vector<std::int64_t> shape = get_dims(in);
  if (in.good() && range < count) {
    auto tensor = Tensor::view(storage(range), begin(range) + offset, std::move(shape), dtype);
    if (tensor.ok()) return Value(std::move(tensor).value());
  }
  in.fail();
  return Value();
}

Value get_inline(WireReader& in) {
  const DType dtype = get_dtype(in);
  std::vector<std::int64_t> shape = get_dims(in);
  const std::string_view data = in.text();
  auto made = in.good() ? Tensor::empty(std::move(shape), dtype)
                        : Result<Ref<Tensor>>(fail(ErrorKind::Raised, "a bad message"));
  if (made.ok() && (*made)->byte_size() == data.size()) {
    if (!data.empty()) std::memcpy((*made)->data(), data.data(), data.size());
    return Value(*std::move(made));
  }
  in.fail();
  return Value();
}

// The object of the guard that a value stands for, or null.
const KeptObject* kept_in(const Value& v) {
  if (!v.is(ValueKind::Function)) return object_in<KeptObject>(v);
  const auto& captured = v.as_function().captured;
  return captured.empty() ? nullptr : object_in<KeptObject>(captured.back());
}

}  // namespace

std::string put_argument(WireWriter& out, const Value& v, const SharedRanges& ranges, const GuardObjects& objects) {
  const auto rest = [&](const Value& other) -> std::string {
    if (other.is(ValueKind::Tensor)) {
      const Tensor& t = other.as_tensor();
      const std::size_t range = ranges.index_of(t.storage().get());
      if (range >= ranges.ranges().size()) return "a tensor nested that deep";
      put_shared(out, range, t.byte_offset() - ranges.ranges()[range].begin, t);
      return {};
    }
    const KeptObject* kept = kept_in(other);
    if (!kept) return fmt::format("a {}", to_string(other.kind()));
    if (!kept->alive(objects)) return "an object that was lost with its guard process";
    put_form(out, WireForm::Kept);
    out.word(kept->id());
    return {};
  };
  return ValueWriter(out, rest).put(v, 0);
}

Value ResultReader::read(WireReader& in, int depth) const {
  const auto rest = [&](WireForm form, ValueKind kind) -> Value {
    if (form == WireForm::Inline) return get_inline(in);
    if (form == WireForm::Shared)
      return get_shared(
          in, ranges.ranges().size(), [&](std::size_t i) { return ranges.ranges()[i].storage; },
          [&](std::size_t i) { return ranges.ranges()[i].begin; });
    const std::uint64_t id = in.word();
    std::string text(in.text());
    if (!in.good()) return Value();
    auto kept = support::make_ref<KeptObject>(objects, id, text);
    return kind == ValueKind::Function ? function(std::move(kept), text) : Value::of_object(std::move(kept));
  };
  return ValueReader(in, rest).get(depth);
}

std::uint64_t GuardStore::keep(const Value& v) {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_[i].is_null()) continue;
    kept_[i] = v;
    return i;
  }
  kept_.push_back(v);
  return kept_.size() - 1;
}

Value get_argument(WireReader& in, const std::vector<Ref<Storage>>& storages, const GuardStore& store, int depth) {
  const auto rest = [&](WireForm form, ValueKind) -> Value {
    if (form == WireForm::Inline) return get_inline(in);
    if (form == WireForm::Shared)
      return get_shared(
          in, storages.size(), [&](std::size_t i) { return storages[i]; }, [](std::size_t) { return std::size_t(0); });
    if (const Value* v = store.find(in.word())) return *v;
    in.fail();
    return Value();
  };
  return ValueReader(in, rest).get(depth);
}

std::string put_result(WireWriter& out, const Value& v, const std::vector<Ref<Storage>>& storages, GuardStore& store) {
  const auto rest = [&](const Value& other) -> std::string {
    if (!other.is(ValueKind::Tensor)) {
      put_form(out, WireForm::Kept);
      out.word(store.keep(other));
      out.text(other.is(ValueKind::Function) ? other.as_function().name : describe(other));
      return {};
    }
    const Tensor& t = other.as_tensor();
    for (std::size_t i = 0; i < storages.size(); ++i) {
      if (storages[i].get() != t.storage().get()) continue;
      put_shared(out, i, t.byte_offset(), t);
      return {};
    }
    put_form(out, WireForm::Inline);
    put_dtype(out, t.dtype());
    put_dims(out, t.shape());
    out.text({reinterpret_cast<const char*>(t.peek()), t.byte_size()});
    return {};
  };
  return ValueWriter(out, rest).put(v, 0);
}

}  // namespace rldb::runtime
