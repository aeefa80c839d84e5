// Names of dtypes, in TVM's spelling and in NumPy's, to dtypes and back.
#include "rldb/runtime/dtype.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/value/small_float.h"

namespace rldb::runtime {

namespace {

struct NamedType {
  std::string_view name;
  TypeCode code;
  std::uint8_t bits;
};

// Names of whole types. Where one is a prefix of another, the longer comes first.
constexpr std::array kNamed = std::to_array<NamedType>({
    {"bool", TypeCode::Bool, 8},
    {"handle", TypeCode::Handle, 64},
    {"bfloat16", TypeCode::BFloat, 16},
    {"float8_e3m4", TypeCode::Float8E3M4, 8},
    {"float8_e4m3b11fnuz", TypeCode::Float8E4M3B11FNUZ, 8},
    {"float8_e4m3fnuz", TypeCode::Float8E4M3FNUZ, 8},
    {"float8_e4m3fn", TypeCode::Float8E4M3FN, 8},
    {"float8_e4m3", TypeCode::Float8E4M3, 8},
    {"float8_e5m2fnuz", TypeCode::Float8E5M2FNUZ, 8},
    {"float8_e5m2", TypeCode::Float8E5M2, 8},
    {"float8_e8m0fnu", TypeCode::Float8E8M0FNU, 8},
    {"float6_e2m3fn", TypeCode::Float6E2M3FN, 6},
    {"float6_e3m2fn", TypeCode::Float6E3M2FN, 6},
    {"float4_e2m1fn", TypeCode::Float4E2M1FN, 4},
});

// The whole of `text` as a decimal number in [1, most], without sign or leading zero.
std::optional<int> parse_number(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.front() == '0') return {};
  if (value < 1 || value > most) return {};
  return value;
}

// "" , "x4", "xvscalex4".
std::optional<std::int16_t> parse_lanes(std::string_view text) {
  if (text.empty()) return std::int16_t(1);
  if (text.front() != 'x') return {};
  text.remove_prefix(1);
  constexpr std::string_view kScalable = "vscalex";
  const bool scalable = text.starts_with(kScalable);
  if (scalable) text.remove_prefix(kScalable.size());
  if (text.empty()) return {};
  const auto lanes = parse_number(text, std::numeric_limits<std::int16_t>::max());
  if (!lanes) return {};
  return std::int16_t(scalable ? -*lanes : *lanes);
}

bool bits_exist(TypeCode code, int bits) {
  if (code == TypeCode::Float) return bits == 16 || bits == 32 || bits == 64;
  return bits <= 64;
}

// int8, uint32x4, float64; without a width the width is 32.
std::optional<DType> parse_sized(std::string_view text, std::string_view prefix, TypeCode code) {
  if (!text.starts_with(prefix)) return {};
  text.remove_prefix(prefix.size());
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  int bits = 32;
  if (digits > 0) {
    const auto number = parse_number(text.substr(0, digits), 64);
    if (!number || !bits_exist(code, *number)) return {};
    bits = *number;
  }
  const auto lanes = parse_lanes(text.substr(digits));
  if (!lanes) return {};
  return DType{code, std::uint8_t(bits), *lanes};
}

std::string base_name(DType t) {
  for (const NamedType& row : kNamed) {
    if (row.code == t.code && row.bits == t.bits) return std::string(row.name);
  }
  switch (t.code) {
    case TypeCode::Int:
      return "int" + std::to_string(t.bits);
    case TypeCode::UInt:
      return "uint" + std::to_string(t.bits);
    case TypeCode::Float:
      return "float" + std::to_string(t.bits);
    case TypeCode::BFloat:
      return "bfloat" + std::to_string(t.bits);
    case TypeCode::Bool:
      return "bool";
    case TypeCode::Handle:
      return "handle";
#define RLDB_NARROW_TYPE_CODE(Code, ...) case TypeCode::Code:
#include "rldb/runtime/type_code.def"
      break;
  }
  // A code or width that no parser of ours makes (data from a file): show the numbers.
  return "custom[" + std::to_string(int(t.code)) + "," + std::to_string(t.bits) + "]";
}

template <class T>
T load(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}
template <class T>
void store(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
}

// The bytes of one element as an unsigned word, little endian (all machines we run on).
std::uint64_t load_bits(const void* data, DType t) {
  std::uint64_t word = 0;
  std::memcpy(&word, data, std::min<std::size_t>(t.element().bytes(), 8));
  return t.bits < 64 ? word & ((std::uint64_t(1) << t.bits) - 1) : word;
}
void store_bits(void* data, DType t, std::uint64_t word) {
  if (t.bits < 64) word &= (std::uint64_t(1) << t.bits) - 1;
  std::memcpy(data, &word, std::min<std::size_t>(t.element().bytes(), 8));
}

// Toward zero, as C does where C defines it; saturating and NaN -> 0 where it does not.
std::int64_t truncate(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  if (value < -0x1p63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::string to_string(DType t) {
  if (t.is_void()) return "void";
  std::string text = base_name(t);
  if (t.lanes < 0) return text + "xvscalex" + std::to_string(-t.lanes);
  if (t.lanes != 1) text += "x" + std::to_string(t.lanes);
  return text;
}

std::optional<DType> parse_dtype(std::string_view text) {
  if (text.empty() || text == "void") return DType::Void();
  for (const NamedType& row : kNamed) {
    if (!text.starts_with(row.name)) continue;
    const auto lanes = parse_lanes(text.substr(row.name.size()));
    if (lanes) return DType{row.code, row.bits, *lanes};
  }
  if (auto t = parse_sized(text, "int", TypeCode::Int)) return t;
  if (auto t = parse_sized(text, "uint", TypeCode::UInt)) return t;
  return parse_sized(text, "float", TypeCode::Float);
}

double load_as_double(const void* data, DType t) {
  switch (t.code) {
    case TypeCode::Float:
      if (t.bits == 32) return load<float>(data);
      if (t.bits == 64) return load<double>(data);
      break;
    case TypeCode::UInt:
      return static_cast<double>(load_bits(data, t));
    case TypeCode::Int:
    case TypeCode::Bool:
    case TypeCode::Handle:
      return static_cast<double>(load_as_int(data, t));
    case TypeCode::BFloat:
#define RLDB_NARROW_TYPE_CODE(Code, ...) case TypeCode::Code:
#include "rldb/runtime/type_code.def"
      break;
  }
  const SmallFloat* format = small_float(t);
  return format ? decode_small(*format, static_cast<std::uint32_t>(load_bits(data, t)))
                : std::numeric_limits<double>::quiet_NaN();
}

std::int64_t load_as_int(const void* data, DType t) {
  if (t.is_float()) return truncate(load_as_double(data, t));
  if (t.is_bool()) return load_bits(data, t) != 0;
  std::uint64_t word = load_bits(data, t);
  const bool negative = t.is_int() && t.bits < 64 && ((word >> (t.bits - 1)) & 1) != 0;
  if (negative) word |= ~std::uint64_t(0) << t.bits;
  return static_cast<std::int64_t>(word);
}

void store_double(void* data, DType t, double value) {
  if (t.code == TypeCode::Float && t.bits == 64) return store(data, value);
  if (t.code == TypeCode::Float && t.bits == 32) return store(data, static_cast<float>(value));
  if (const SmallFloat* format = small_float(t)) {
    return store_bits(data, t, encode_small(*format, value));
  }
  if (t.is_bool()) return store_bits(data, t, value != 0);
  const bool big = t.is_uint() && value >= 0x1p63;
  if (big) {
    return store_bits(data, t, value >= 0x1p64 ? ~std::uint64_t(0) : std::uint64_t(value));
  }
  store_int(data, t, truncate(value));
}

void store_int(void* data, DType t, std::int64_t value) {
  if (t.is_float()) return store_double(data, t, static_cast<double>(value));
  if (t.is_bool()) return store_bits(data, t, value != 0);
  store_bits(data, t, static_cast<std::uint64_t>(value));
}

}  // namespace rldb::runtime
