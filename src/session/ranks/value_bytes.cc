#include "session/ranks/value_bytes.h"

#include <fmt/format.h>

#include "rldb/runtime/tensor_blob.h"

namespace rldb::session {

using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr int kMaxDepth = 200;

// The tensor may be a view, whose memory is not the whole of its storage.
std::string write(support::ByteWriter& out, const Value& v, int depth) {
  if (depth > kMaxDepth) return fmt::format("a tuple of more than {} levels", kMaxDepth);
  out.u8(std::uint8_t(v.kind()));
  switch (v.kind()) {
    case ValueKind::Null:
      return {};
    case ValueKind::Int:
    case ValueKind::Bool:
      return out.i64(v.as_int()), std::string();
    case ValueKind::Float:
      return out.f64(v.as_float()), std::string();
    case ValueKind::String:
      return out.string(v.as_string()), std::string();
    case ValueKind::DType:
      return out.string(to_string(v.as_dtype())), std::string();
    case ValueKind::Shape:
      out.u64(v.as_shape().size());
      for (const std::int64_t d : v.as_shape()) out.i64(d);
      return {};
    case ValueKind::Tensor:
      return runtime::write_tensor(out, v.as_tensor()), std::string();
    case ValueKind::Tuple:
      out.u64(v.as_tuple().fields.size());
      for (const Value& f : v.as_tuple().fields)
        if (std::string why = write(out, f, depth + 1); !why.empty()) return why;
      return {};
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      break;
  }
  return fmt::format("a {}", to_string(v.kind()));
}

Value read(support::ByteReader& in, int depth) {
  const auto kind = ValueKind(in.u8());
  if (depth > kMaxDepth) in.fail("too many levels");
  if (!in.ok()) return {};
  switch (kind) {
    case ValueKind::Null:
      return {};
    case ValueKind::Int:
      return Value::of_int(in.i64());
    case ValueKind::Bool:
      return Value::of_bool(in.i64() != 0);
    case ValueKind::Float:
      return Value::of_float(in.f64());
    case ValueKind::String:
      return Value::of_string(in.string());
    case ValueKind::DType: {
      const auto dtype = runtime::parse_dtype(in.string());
      if (!dtype) in.fail("no dtype");
      return dtype ? Value::of_dtype(*dtype) : Value();
    }
    case ValueKind::Shape: {
      std::vector<std::int64_t> dims(in.count(8, "dims"));
      for (std::int64_t& d : dims) d = in.i64();
      return Value::of_shape(std::move(dims));
    }
    case ValueKind::Tensor: {
      const auto tensor = runtime::read_tensor(in);
      return tensor ? Value(*tensor) : Value();
    }
    case ValueKind::Tuple: {
      std::vector<Value> fields;
      for (std::uint64_t n = in.count(1, "fields"); n > 0 && in.ok(); --n) fields.push_back(read(in, depth + 1));
      return Value::of_tuple(std::move(fields));
    }
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      break;
  }
  in.fail("a value of another kind");
  return {};
}

}  // namespace

std::string write_value(support::ByteWriter& out, const Value& value) { return write(out, value, 0); }

Value read_value(support::ByteReader& in) { return read(in, 0); }

}  // namespace rldb::session
