#include "rldb/runtime/dtype.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/value/small_float.h"

using namespace rldb::runtime;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

DType named(std::string_view text) {
  const auto t = parse_dtype(text);
  REQUIRE(t.has_value());
  return *t;
}

std::uint64_t bits_of(std::string_view type, double v) {
  std::uint64_t word = 0;
  store_double(&word, named(type), v);
  return word;
}
double value_of(std::string_view type, std::uint64_t word) { return load_as_double(&word, named(type)); }

}  // namespace

TEST_CASE("dtype: names round-trip") {
  for (const char* name : {"int8",
                           "int16",
                           "int32",
                           "int64",
                           "int4",
                           "int1",
                           "uint1",
                           "uint8",
                           "uint64",
                           "float16",
                           "float32",
                           "float64",
                           "bfloat16",
                           "bool",
                           "handle",
                           "float8_e3m4",
                           "float8_e4m3",
                           "float8_e4m3b11fnuz",
                           "float8_e4m3fn",
                           "float8_e4m3fnuz",
                           "float8_e5m2",
                           "float8_e5m2fnuz",
                           "float8_e8m0fnu",
                           "float6_e2m3fn",
                           "float6_e3m2fn",
                           "float4_e2m1fn",
                           "float32x4",
                           "int8x16",
                           "boolx4",
                           "float8_e4m3fnx4",
                           "float32xvscalex4",
                           "void"}) {
    CAPTURE(name);
    CHECK(to_string(named(name)) == name);
  }
  CHECK(named("").is_void());
  CHECK(named("int") == DType::Int(32));
  CHECK(named("float") == DType::Float(32));
  CHECK(named("float32x1") == DType::Float(32));
  CHECK(named("int8x4").lanes == 4);
  CHECK(named("int8xvscalex4").lanes == -4);
}

TEST_CASE("dtype: what is no name") {
  for (const char* text : {"float33",
                           "float8",
                           "int0",
                           "int08",
                           "int65",
                           "int8x",
                           "int8x0",
                           "int8x99999",
                           "int8 ",
                           " int8",
                           "Int8",
                           "f32",
                           "floatx",
                           "float32y4",
                           "float32x-4",
                           "float32xvscale4",
                           "float32xvscalex",
                           "bool8",
                           "bfloat",
                           "float8_e4m3f",
                           "voidx4",
                           "int-8",
                           "int99999999999999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_dtype(text).has_value());
  }
}

TEST_CASE("dtype: sizes") {
  CHECK(named("int8").bytes() == 1);
  CHECK(named("bool").bytes() == 1);
  CHECK(named("int4").bytes() == 1);
  CHECK(named("float4_e2m1fn").bytes() == 1);
  CHECK(named("float32x4").bytes() == 16);
  CHECK(named("int4x8").bytes() == 4);
}

TEST_CASE("float16: known encodings, ties to even, limits") {
  CHECK(bits_of("float16", 1.0) == 0x3C00);
  CHECK(bits_of("float16", -2.0) == 0xC000);
  CHECK(bits_of("float16", 65504.0) == 0x7BFF);
  CHECK(bits_of("float16", 65519.9) == 0x7BFF);
  CHECK(bits_of("float16", 65520.0) == 0x7C00);  // halfway to the next: even is infinity
  CHECK(bits_of("float16", kInf) == 0x7C00);
  CHECK(bits_of("float16", -kInf) == 0xFC00);
  CHECK(bits_of("float16", 0x1p-24) == 0x0001);
  CHECK(bits_of("float16", 0x1p-25) == 0x0000);    // tie to even zero
  CHECK(bits_of("float16", 0x1.8p-24) == 0x0002);  // tie to even two
  CHECK(bits_of("float16", 0x1.000001p-25) == 0x0001);
  CHECK(bits_of("float16", 1.0 + 0x1p-11) == 0x3C00);  // tie, even below
  CHECK(bits_of("float16", 1.0 + 3 * 0x1p-11) == 0x3C02);
  CHECK(bits_of("float16", -0.0) == 0x8000);
  CHECK(std::isnan(value_of("float16", bits_of("float16", kNan))));
  CHECK(value_of("float16", 0x3555) == 0.333251953125);
}

TEST_CASE("bfloat16: known encodings") {
  CHECK(bits_of("bfloat16", 1.0) == 0x3F80);
  CHECK(bits_of("bfloat16", 3.0) == 0x4040);
  CHECK(bits_of("bfloat16", 1.0 + 0x1p-8) == 0x3F80);      // tie to even
  CHECK(bits_of("bfloat16", 1.0 + 3 * 0x1p-8) == 0x3F82);  // tie to even
  CHECK(bits_of("bfloat16", 3.4e38) == 0x7F80);
  CHECK(std::isnan(value_of("bfloat16", 0x7FC0)));
}

TEST_CASE("float32 through the table agrees with the hardware") {
  const SmallFloat* f = small_float(DType::Float(32));
  REQUIRE(f);
  std::uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const double v = std::bit_cast<double>(state);
    if (std::isnan(v)) continue;
    const auto expected = std::bit_cast<std::uint32_t>(static_cast<float>(v));
    CHECK(encode_small(*f, v) == expected);
    const double near = std::ldexp(std::fabs(v) / v * double(state >> 12), -60 - int(state % 120));
    CHECK(encode_small(*f, near) == std::bit_cast<std::uint32_t>(static_cast<float>(near)));
  }
}

TEST_CASE("every encoding of every small format survives load and store") {
  for (const char* name :
       {"float16", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
        "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"}) {
    CAPTURE(name);
    const DType t = named(name);
    int wrong = 0;
    for (std::uint64_t word = 0; word < (std::uint64_t(1) << t.bits); ++word) {
      const double v = value_of(name, word);
      if (std::isnan(v)) {
        wrong += !std::isnan(value_of(name, bits_of(name, v))) && !t.is_narrow_float();
      } else {
        wrong += bits_of(name, v) != word;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("float8 and narrower: largest values and what lies above") {
  CHECK(value_of("float8_e4m3fn", 0x7E) == 448);
  CHECK(std::isnan(value_of("float8_e4m3fn", 0x7F)));
  CHECK(bits_of("float8_e4m3fn", 464.0) == 0x7E);  // tie to even is below
  CHECK(bits_of("float8_e4m3fn", 465.0) == 0x7F);
  CHECK(value_of("float8_e4m3", 0x77) == 240);
  CHECK(value_of("float8_e4m3", 0x78) == kInf);
  CHECK(value_of("float8_e5m2", 0x7B) == 57344);
  CHECK(bits_of("float8_e5m2", 1e9) == 0x7C);
  CHECK(value_of("float8_e3m4", 0x6F) == 15.5);
  CHECK(value_of("float8_e4m3fnuz", 0x7F) == 240);
  CHECK(std::isnan(value_of("float8_e4m3fnuz", 0x80)));
  CHECK(bits_of("float8_e4m3fnuz", -0.0) == 0);
  CHECK(value_of("float8_e4m3b11fnuz", 0x7F) == 30);
  CHECK(value_of("float8_e5m2fnuz", 0x7F) == 57344);
  CHECK(value_of("float8_e8m0fnu", 127) == 1);
  CHECK(bits_of("float8_e8m0fnu", 0.0) == 0xFF);
  CHECK(bits_of("float8_e8m0fnu", -1.0) == 0xFF);
  CHECK(bits_of("float8_e8m0fnu", 3.0) == 128);  // 2 or 4: the even encoding
  CHECK(value_of("float6_e2m3fn", 0x1F) == 7.5);
  CHECK(value_of("float6_e3m2fn", 0x1F) == 28);
  CHECK(value_of("float4_e2m1fn", 0x7) == 6);
  CHECK(bits_of("float4_e2m1fn", 100.0) == 0x7);
  CHECK(bits_of("float4_e2m1fn", -kInf) == 0xF);
  CHECK(bits_of("float4_e2m1fn", 2.5) == 0x4);  // tie between 2 and 3
}

TEST_CASE("integers: signs, widths, saturation") {
  std::uint64_t word = 0;
  store_int(&word, DType::Int(8), -1);
  CHECK(word == 0xFF);
  CHECK(load_as_int(&word, DType::Int(8)) == -1);
  CHECK(load_as_int(&word, DType::UInt(8)) == 255);
  word = 0;
  store_int(&word, DType::Int(4), -3);
  CHECK(word == 0x0D);
  CHECK(load_as_int(&word, DType::Int(4)) == -3);
  store_double(&word, DType::Int(64), 1e30);
  CHECK(load_as_int(&word, DType::Int(64)) == std::numeric_limits<std::int64_t>::max());
  store_double(&word, DType::Int(64), kNan);
  CHECK(load_as_int(&word, DType::Int(64)) == 0);
  store_double(&word, DType::UInt(64), 0x1p63);
  CHECK(word == 0x8000000000000000);
  CHECK(load_as_double(&word, DType::UInt(64)) == 0x1p63);
  store_double(&word, DType::Int(32), -2.9);
  CHECK(load_as_int(&word, DType::Int(32)) == -2);
  store_int(&word, DType::Bool(), 7);
  CHECK(load_as_int(&word, DType::Bool()) == 1);
}

// Of the encodings of a format, the nearest, and of two that are equally near the even one.
TEST_CASE("dtype: every small format rounds to nearest even, between all of its numbers") {
  for (const char* name :
       {"float16", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
        "float8_e5m2", "float8_e5m2fnuz", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"}) {
    CAPTURE(name);
    const SmallFloat& f = *small_float(named(name));
    const std::uint32_t top = 1u << (f.exponent_bits + f.mantissa_bits);
    int wrong = 0;
    for (std::uint32_t low = 0; low + 1 < top; ++low) {
      const double a = decode_small(f, low), b = decode_small(f, low + 1);
      if (!std::isfinite(a) || !std::isfinite(b)) break;
      const double middle = a + (b - a) / 2;
      const std::uint32_t even = low % 2 == 0 ? low : low + 1;
      wrong += a >= b || encode_small(f, a) != low || encode_small(f, middle) != even ||
               encode_small(f, std::nextafter(middle, a)) != low ||
               encode_small(f, std::nextafter(middle, b)) != low + 1;
      if (low > 0 || f.style != SmallFloatStyle::Unsigned)
        wrong += encode_small(f, -b) != (top | (low + 1)) || decode_small(f, top | (low + 1)) != -b;
    }
    CHECK(wrong == 0);
  }
}
