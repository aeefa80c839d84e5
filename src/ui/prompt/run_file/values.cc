// Values in the order of their fields; a tensor names its memory by number.
#include "ui/prompt/run_file/values.h"

#include <fmt/format.h>

#include <cstring>

#include "rldb/runtime/copy.h"
#include "rldb/runtime/device.h"
#include "rldb/runtime/device_error.h"

namespace rldb::ui {

using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr int kMostNested = 200;  // tuples

}  // namespace

bool ValueWriter::write(const Value& v, std::string& why, int depth) {
  out_.u8(std::uint8_t(v.kind()));
  switch (v.kind()) {
    case ValueKind::Null:
      return true;
    case ValueKind::Int:
    case ValueKind::Bool:
      out_.i64(v.as_int());
      return true;
    case ValueKind::Float:
      out_.f64(v.as_float());
      return true;
    case ValueKind::DType:
      out_.string(to_string(v.as_dtype()));
      return true;
    case ValueKind::String:
      out_.string(v.as_string());
      return true;
    case ValueKind::Shape:
      out_.u64(v.as_shape().size());
      for (const std::int64_t d : v.as_shape()) out_.i64(d);
      return true;
    case ValueKind::Tuple:
      if (depth > kMostNested) return why = "its tuples are nested too deeply", false;
      out_.u64(v.as_tuple().fields.size());
      for (const Value& field : v.as_tuple().fields)
        if (!write(field, why, depth + 1)) return false;
      return true;
    case ValueKind::Tensor: {
      const Tensor& t = v.as_tensor();
      if (const auto read = runtime::read_back(v); !read.ok()) return why = read.error().message, false;
      const auto [it, fresh] = storages_.try_emplace(t.storage().get(), storages_.size());
      out_.u64(it->second);
      if (fresh) out_.string({reinterpret_cast<const char*>(t.storage()->peek()), t.storage()->size()});
      out_.string(t.device().is_host() ? std::string() : to_string(t.device()));
      out_.u64(t.byte_offset());
      out_.string(to_string(t.dtype()));
      out_.u64(t.shape().size());
      for (const std::int64_t d : t.shape()) out_.i64(d);
      return true;
    }
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      why = fmt::format("it is {}", runtime::describe(v));
      return false;
  }
  return false;
}

Value ValueReader::read(int depth) {
  const std::uint8_t kind = in_.u8();
  if (kind > std::uint8_t(ValueKind::Object)) in_.fail("a value of an unknown kind");
  if (!in_.ok()) return {};
  switch (ValueKind(kind)) {
    case ValueKind::Null:
      return {};
    case ValueKind::Int:
      return Value::of_int(in_.i64());
    case ValueKind::Bool:
      return Value::of_bool(in_.i64() != 0);
    case ValueKind::Float:
      return Value::of_float(in_.f64());
    case ValueKind::DType: {
      const auto dtype = runtime::parse_dtype(in_.string());
      if (!dtype) in_.fail("an unknown dtype");
      return dtype ? Value::of_dtype(*dtype) : Value();
    }
    case ValueKind::String:
      return Value::of_string(in_.string());
    case ValueKind::Shape: {
      std::vector<std::int64_t> dims(in_.count(8, "dims"));
      for (std::int64_t& d : dims) d = in_.i64();
      return Value::of_shape(std::move(dims));
    }
    case ValueKind::Tuple: {
      if (depth > kMostNested) in_.fail("tuples that are nested too deeply");
      std::vector<Value> fields;
      const std::uint64_t count = in_.count(1, "fields");
      for (std::uint64_t i = 0; i < count && in_.ok(); ++i) fields.push_back(read(depth + 1));
      return Value::of_tuple(std::move(fields));
    }
    case ValueKind::Tensor:
      return read_tensor();
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      in_.fail("a value of a kind that no file has");
      return {};
  }
  return {};
}

Value ValueReader::read_tensor() {
  const std::uint64_t index = in_.u64();
  if (in_.ok() && index == storages_.size()) {
    const std::string_view bytes = in_.raw(in_.u64());
    if (!in_.ok()) return {};
    auto storage = runtime::Storage::allocate(bytes.size());
    if (!storage.ok()) {
      in_.fail(storage.error().message);
      return {};
    }
    if (!bytes.empty()) std::memcpy((*storage)->data(), bytes.data(), bytes.size());
    storages_.push_back(std::move(storage).value());
  }
  const std::string device = in_.string();
  const std::uint64_t offset = in_.u64();
  const auto dtype = runtime::parse_dtype(in_.string());
  std::vector<std::int64_t> shape(in_.count(8, "dims"));
  for (std::int64_t& d : shape) d = in_.i64();
  if (in_.ok() && (index >= storages_.size() || !dtype)) in_.fail("a tensor without memory or dtype");
  if (!in_.ok()) return {};
  auto tensor = Tensor::view(storages_[index], offset, std::move(shape), *dtype);
  if (!tensor.ok()) return in_.fail(tensor.error().message), Value();
  if (device.empty()) return Value(std::move(tensor).value());
  const auto known = runtime::parse_devices(device);
  if (!known || known->size() != 1) return in_.fail("an unknown device"), Value();
  auto there = runtime::on_device(Value(std::move(tensor).value()), known->front());
  if (!there.ok()) return in_.fail(there.error().message), Value();
  return std::move(there).value();
}

}  // namespace rldb::ui
