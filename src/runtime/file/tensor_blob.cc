#include "rldb/runtime/tensor_blob.h"

#include <fmt/format.h>

namespace rldb::runtime {

namespace {

constexpr std::uint64_t kTensorMagic = 0xDD5E40F096B4A13FULL;
constexpr std::int32_t kDeviceCpu = 1;

// The product of the dims is exactly the size of the data, without overflow on the way.
bool fits(const std::vector<std::int64_t>& shape, DType dtype, std::uint64_t bytes) {
  const std::uint64_t element = dtype.bytes();
  if (element == 0) return false;
  bool empty = false;
  for (std::int64_t d : shape) {
    if (d < 0) return false;
    empty = empty || d == 0;
  }
  if (empty) return bytes == 0;
  std::uint64_t total = element;
  for (std::int64_t d : shape) {
    if (total > bytes / std::uint64_t(d)) return false;
    total *= std::uint64_t(d);
  }
  return total == bytes;
}

}  // namespace

void write_dtype(support::ByteWriter& out, DType dtype, BoolCode bools) {
  const bool one_bit = dtype.is_bool() && bools == BoolCode::OneBit;
  out.u8(one_bit ? std::uint8_t(TypeCode::UInt) : std::uint8_t(dtype.code));
  out.u8(one_bit ? 1 : dtype.bits);
  out.u16(std::uint16_t(dtype.lanes));
}

DType read_dtype(support::ByteReader& in) {
  const std::uint8_t code = in.u8();
  const std::uint8_t bits = in.u8();
  const std::int16_t lanes = std::int16_t(in.u16());
  if (code == std::uint8_t(TypeCode::UInt) && bits == 1) return DType::Bool(lanes);
  const DType t{TypeCode(code), bits, lanes};
  // A dtype is known when its name reads back as itself.
  if (in.ok() && lanes != 0 && parse_dtype(to_string(t)) == t) return t;
  in.fail(fmt::format("unknown dtype ({}, {}, {})", code, bits, lanes));
  return DType::Void();
}

void write_tensor(support::ByteWriter& out, const Tensor& tensor, BoolCode bools) {
  out.u64(kTensorMagic);
  out.u64(0);
  out.i32(kDeviceCpu);
  out.i32(0);
  out.i32(tensor.ndim());
  write_dtype(out, tensor.dtype(), bools);
  for (std::int64_t d : tensor.shape()) out.i64(d);
  out.u64(tensor.byte_size());
  out.raw({reinterpret_cast<const char*>(tensor.peek()), tensor.byte_size()});
}

std::optional<Ref<Tensor>> read_tensor(support::ByteReader& in) {
  if (in.u64() != kTensorMagic) in.fail("tensor without its magic number");
  in.u64();  // reserved
  in.i32();  // device type and id: TVM writes tensors as if on the CPU
  in.i32();
  const std::int32_t ndim = in.i32();
  const DType dtype = read_dtype(in);
  if (ndim < 0 || std::uint64_t(ndim) > in.left() / 8) in.fail("tensor of impossible rank");
  std::vector<std::int64_t> shape;
  for (std::int32_t i = 0; i < ndim && in.ok(); ++i) shape.push_back(in.i64());
  const std::uint64_t bytes = in.u64();
  const std::string_view data = in.raw(bytes);
  if (!in.ok()) return std::nullopt;
  if (!fits(shape, dtype, bytes)) {
    in.fail(fmt::format("tensor of {} with {} bytes of data", to_string(dtype), bytes));
    return std::nullopt;
  }
  auto tensor = Tensor::empty(std::move(shape), dtype);
  if (!tensor.ok()) {
    in.fail(tensor.error().message);
    return std::nullopt;
  }
  if (bytes > 0) std::memcpy((*tensor)->data(), data.data(), bytes);
  return *tensor;
}

}  // namespace rldb::runtime
