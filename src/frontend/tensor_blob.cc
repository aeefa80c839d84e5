#include "frontend/tensor_blob.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <span>

namespace rldb::frontend {

std::optional<std::vector<std::uint8_t>> decode_base64(std::string_view text) {
  static const auto table = [] {
    std::array<std::int8_t, 256> t{};
    t.fill(-1);
    const std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < digits.size(); ++i)
      t[static_cast<std::uint8_t>(digits[i])] = static_cast<std::int8_t>(i);
    return t;
  }();
  std::vector<std::uint8_t> out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    if (c == '\n' || c == '\r' || c == ' ') continue;
    const std::int8_t d = table[static_cast<std::uint8_t>(c)];
    if (d < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(d);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<std::uint8_t>(bits >> count));
  }
  return out;
}

namespace {

class Bytes {
 public:
  explicit Bytes(const std::vector<std::uint8_t>& data) : data_(data) {}
  template <class T>
  T read() {
    T v{};
    if (data_.size() - at_ < sizeof(T)) {
      bad_ = true;
      return v;
    }
    std::memcpy(&v, data_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return v;
  }
  bool bad() const { return bad_; }
  std::span<const std::uint8_t> rest() const { return std::span(data_).subspan(at_); }

 private:
  const std::vector<std::uint8_t>& data_;
  std::size_t at_ = 0;
  bool bad_ = false;
};

std::optional<runtime::DType> dtype_of_dlpack(std::uint8_t code, std::uint8_t bits, std::uint16_t lanes) {
  if (code == 1 && bits == 1 && lanes == 1) return runtime::DType::Bool();  // older TVMs had no code for it
  const auto known = code <= 2 || code == 4 || (code >= 6 && code <= 17);
  if (!known || bits == 0 || lanes != 1) return std::nullopt;
  return runtime::DType{static_cast<runtime::TypeCode>(code), bits, 1};
}

}  // namespace

// TVM's NDArray blob: magic, reserved, device, ndim, dtype, shape, byte count, data.
std::optional<runtime::Value> tensor_of_blob(const std::vector<std::uint8_t>& blob, std::string& why) {
  constexpr std::uint64_t kMagic = 0xDD5E40F096B4A13F;
  Bytes in(blob);
  if (in.read<std::uint64_t>() != kMagic) {
    why = "it does not start with the tensor magic number";
    return std::nullopt;
  }
  in.read<std::uint64_t>();
  in.read<std::int32_t>();
  in.read<std::int32_t>();
  const auto ndim = in.read<std::int32_t>();
  const auto code = in.read<std::uint8_t>();
  const auto bits = in.read<std::uint8_t>();
  const auto lanes = in.read<std::uint16_t>();
  if (in.bad() || ndim < 0 || ndim > 64) {
    why = "its header is cut short";
    return std::nullopt;
  }
  const auto dtype = dtype_of_dlpack(code, bits, lanes);
  if (!dtype) {
    why = fmt::format("dtype code {} with {} bits and {} lanes is not known", code, bits, lanes);
    return std::nullopt;
  }
  std::vector<std::int64_t> shape;
  for (int i = 0; i < ndim; ++i) shape.push_back(in.read<std::int64_t>());
  const auto size = in.read<std::int64_t>();
  auto tensor = in.bad() ? runtime::Tensor::empty({-1}, *dtype) : runtime::Tensor::empty(shape, *dtype);
  if (!tensor.ok()) {
    why = "its shape is not sound";
    return std::nullopt;
  }
  const std::size_t want = (*tensor)->byte_size();
  if (size < 0 || in.rest().size() < want || std::size_t(size) < want) {
    why = fmt::format("it holds {} bytes where its shape needs {}", in.rest().size(), want);
    return std::nullopt;
  }
  if (want > 0) std::memcpy((*tensor)->data(), in.rest().data(), want);
  return runtime::Value(*tensor);
}

}  // namespace rldb::frontend
