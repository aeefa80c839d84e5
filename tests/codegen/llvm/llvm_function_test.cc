// Functions by LLVM's names, in every dtype that they take; products of fixed-point numbers; parts of vectors.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/llvm/both_engines.h"
#include "rldb/ir/lowered_name.h"

using namespace rldb;
using namespace rldb::codegen::testing;

namespace {

constexpr const char* kIntegers[] = {"int8", "int32", "uint16", "uint64"};
constexpr const char* kFloats[] = {"float16", "float32", "float64"};

struct Row {
  std::string_view name;
  int arity;
  bool of_floats;
};
constexpr bool Integers = false, Floats = true;
constexpr Row kRows[] = {
#define RLDB_LLVM_FUNCTION(id, text, arity, operands) {text, arity, operands},
#include "rldb/ir/llvm_function.def"
};

std::string call_of(const Row& row, std::string_view dtype, std::string_view before) {
  constexpr std::string_view kOperands[] = {"A[i]", "B[i]", "A[n - 1 - i]"};
  std::string text = fmt::format("T.call_llvm_pure_intrin(\"{}\", \"{}\"{}", dtype, row.name, before);
  for (int i = 0; i < row.arity; ++i) text += fmt::format(", {}", kOperands[i]);
  return text + ")";
}

}  // namespace

TEST_CASE("functions of LLVM: the same bits on both engines, in TVM's spelling of today and in that of 2024") {
  for (const Row& row : kRows)
    for (const char* dtype : kIntegers) {
      if (row.of_floats || (row.name == "llvm.bswap" && std::string_view(dtype).ends_with("int8"))) continue;
      CAPTURE(row.name);
      CAPTURE(dtype);
      Case wide;
      wide.low = -100;
      wide.high = 127;
      CHECK(both(elementwise(call_of(row, dtype, ""), dtype, dtype, dtype), wide) == "");
      if (std::string_view(dtype) != "int32") continue;
      CHECK(both(elementwise(call_of(row, dtype, fmt::format(", T.uint32({})", row.arity)), dtype, dtype, dtype),
                 wide) == "");
    }
  for (const Row& row : kRows)
    for (const char* dtype : kFloats) {
      if (!row.of_floats) continue;
      CAPTURE(row.name);
      CAPTURE(dtype);
      CHECK(both(elementwise(call_of(row, dtype, ""), dtype, dtype, dtype)) == "");
    }
}

TEST_CASE("a function of LLVM that is not known is named") {
  const std::string text =
      elementwise("T.call_llvm_pure_intrin(\"float32\", \"llvm.made.up\", A[i])", "float32", "float32", "float32");
  CHECK(jit_error(text).find("`T.call_llvm_pure_intrin(\"llvm.made.up\")`") != std::string::npos);
  CHECK(jit_error(elementwise("T.call_llvm_pure_intrin(\"int8\", \"llvm.bswap\", A[i])", "int8", "int8", "int8"))
            .find("`llvm.bswap` is not a function of int8") != std::string::npos);
}

TEST_CASE("products of fixed-point numbers: the same bits on both engines") {
  Case wide;
  wide.low = -2e9;
  wide.high = 2e9;
  for (const int shift : {-31, -5, -1, 0, 1, 4})
    for (const char* factor : {"1395864371", "1073741824", "B[i]"}) {
      CAPTURE(shift);
      CAPTURE(factor);
      const std::string call = fmt::format("T.q_multiply_shift(A[i], {}, 31, {})", factor, shift);
      CHECK(both(elementwise(call, "int32", "int32", "int32"), wide) == "");
    }
  for (const char* required : {"True", "False"}) {
    const std::string call =
        fmt::format("T.q_multiply_shift_per_axis(A[i], B[i], 3, 2, 31, T.bool({}), T.bool(True))", required);
    CHECK(both(elementwise(call, "int32", "int32", "int32"), wide) == "");
  }
}

TEST_CASE("parts of vectors and literals in halves: the same on both engines") {
  for (const char* part :
       {"T.vectorlow(\"int32x2\", T.Ramp(A[i], 3, 4))", "T.vectorhigh(\"int32x2\", T.Ramp(A[i], 3, 4))",
        "T.vectorcombine(\"int32x4\", T.Ramp(A[i], 3, 2), T.Ramp(B[i], 5, 2))"})
    for (const int lane : {0, 1}) {
      CAPTURE(part);
      CHECK(both(elementwise(fmt::format("T.Shuffle([{}], [{}])", part, lane), "int32", "int32", "int32")) == "");
    }
  CHECK(both(elementwise("T.large_uint_imm(T.uint32(4000000000), T.uint32(7), dtype=\"uint64\")", "int32", "int32",
                         "uint64")) == "");
}
