// DType: an element type as TVM spells it ("float32", "int8x4", "bool", "float8_e4m3fn", "handle", "void").
//
// One word, compared by value. Codes follow DLPack/tvm-ffi where those have one, so that a DLDataType is a plain
// copy. Used by every room above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rldb::runtime {

enum class TypeCode : std::uint8_t {
#define RLDB_TYPE_CODE(Code, number) Code = number,
#include "rldb/runtime/type_code.def"
};

struct DType {
  TypeCode code = TypeCode::Handle;
  std::uint8_t bits = 0;
  std::int16_t lanes = 1;  // negative: scalable, -n means vscale x n

  static constexpr DType Int(int bits, int lanes = 1) {
    return {TypeCode::Int, std::uint8_t(bits), std::int16_t(lanes)};
  }
  static constexpr DType UInt(int bits, int lanes = 1) {
    return {TypeCode::UInt, std::uint8_t(bits), std::int16_t(lanes)};
  }
  static constexpr DType Float(int bits, int lanes = 1) {
    return {TypeCode::Float, std::uint8_t(bits), std::int16_t(lanes)};
  }
  static constexpr DType BFloat16(int lanes = 1) { return {TypeCode::BFloat, 16, std::int16_t(lanes)}; }
  static constexpr DType Bool(int lanes = 1) { return {TypeCode::Bool, 8, std::int16_t(lanes)}; }
  static constexpr DType Handle() { return {TypeCode::Handle, 64, 1}; }
  static constexpr DType Void() { return {TypeCode::Handle, 0, 1}; }  // also "unknown" in tensor types

  bool is_int() const { return code == TypeCode::Int; }
  bool is_uint() const { return code == TypeCode::UInt; }
  bool is_bool() const { return code == TypeCode::Bool; }
  bool is_integral() const { return is_int() || is_uint() || is_bool(); }
  // Any floating format, including the narrow ones.
  bool is_float() const {
    return code == TypeCode::Float || code == TypeCode::BFloat || is_float8() || is_narrow_float();
  }
  bool is_bfloat16() const { return code == TypeCode::BFloat && bits == 16; }
  bool is_float8() const { return code >= TypeCode::Float8E3M4 && code <= TypeCode::Float8E8M0FNU; }
  bool is_narrow_float() const { return code >= TypeCode::Float6E2M3FN && code <= TypeCode::Float4E2M1FN; }
  bool is_handle() const { return code == TypeCode::Handle && bits != 0; }
  bool is_void() const { return code == TypeCode::Handle && bits == 0; }
  bool is_scalar() const { return lanes == 1; }
  bool is_scalable() const { return lanes < 0; }

  DType element() const { return {code, bits, 1}; }
  DType with_lanes(int n) const { return {code, bits, std::int16_t(n)}; }
  // Bytes of one value with all its lanes, as stored in a tensor (bool: 1; sub-byte formats: rounded up per value).
  std::size_t bytes() const { return (std::size_t(bits) * std::size_t(lanes < 0 ? -lanes : lanes) + 7) / 8; }

  friend constexpr bool operator==(const DType&, const DType&) = default;
};

// "float32x4"; void is "void".
std::string to_string(DType t);
// Accepts TVM's names and nothing else; the empty string is void.
std::optional<DType> parse_dtype(std::string_view text);

// One element to and from double / int64, for printing, comparing and the reference evaluator. `data` points at the
// element; lanes must be 1.
double load_as_double(const void* data, DType t);
std::int64_t load_as_int(const void* data, DType t);
void store_double(void* data, DType t, double value);  // rounds to nearest even in narrow floats
void store_int(void* data, DType t, std::int64_t value);

}  // namespace rldb::runtime
