// Kernels whose form LLVM is known to have compiled wrong since version 19: each must give the evaluator's values. A
// case names the fault by its number in llvm/llvm-project.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/llvm/both_engines.h"

using namespace rldb::codegen::testing;

namespace {

// `statement` for every i below 128, and with i in other ranges of numbers.
std::string each(std::string_view statement, std::string_view from, std::string_view to) {
  return fmt::format(
      "\n@T.prim_func(s_tir=True)\ndef kernel(A: T.Buffer((128,), \"{0}\"), B: T.Buffer((128,), \"{1}\")):\n"
      "    T.func_attr({{\"tirx.noalias\": True}})\n    for i in range(128):\n        {2}\n",
      from, to, statement);
}

// Empty if the kernel runs, and both engines leave the same values.
std::string same(const std::string& text, const Case& c = {}) {
  const std::string error = jit_error(text, c);
  return error.empty() ? both(text, c) : error;
}

// Any bits: all numbers of narrow dtypes, large ones of wide ones.
Case wide() {
  Case c;
  c.low = -1e6;
  c.high = 1e6;
  return c;
}

}  // namespace

TEST_CASE("LLVM faults: sums of narrowed loop variables, widened without a sign (135182)") {
  for (const char* narrow : {"int8", "int16"})
    for (const char* sum : {"int16", "int32"})
      for (const char* between : {"uint16", "uint32"})
        for (const char* shift : {"", " - 12", " + 100", " * 3"})
          for (const char* loop : {"range(2)", "range(128)", "T.vectorized(128)", "T.unroll(128)"}) {
            const std::string term = fmt::format("T.Cast(\"{}\", T.Cast(\"{}\", i{}))", sum, narrow, shift);
            const std::string text = fmt::format(
                "\n@T.prim_func(s_tir=True)\ndef kernel(B: T.Buffer((128,), \"int64\")):\n    for i in {}:\n"
                "        B[i] = T.Cast(\"int64\", T.Cast(\"{}\", {} + {}))\n",
                loop, between, term, term);
            CAPTURE(text);
            CHECK(same(text) == "");
          }
}

TEST_CASE("LLVM faults: remainders of products of one variable (121584)") {
  for (const char* e : {"T.truncmod(i * 127, i * 128 + 1)", "T.truncmod(i * 128, i * 127 + 1)", "i * 7 % (i * 8 + 1)",
                        "T.truncmod(T.shift_left(A[i], 7), A[i] * 127)", "T.truncmod(A[i] * 9, A[i] * 8 + 1)"}) {
    Case c = wide();
    c.low = 1;
    CHECK(same(each(fmt::format("B[i] = {}", e), "int32", "int32"), c) == "");
    c.high = 127;
    CHECK(same(each(fmt::format("B[i] = T.Cast(\"int8\", {})", e), "int8", "int8"), c) == "");
  }
}

// The sign of the NaN is lost, as LLVM makes an absolute value of it: nothing defines that sign after arithmetic.
TEST_CASE("LLVM faults: a choice between x and 0 - x, of NaN and zero too (136646)") {
  for (const char* t : {"float16", "float32", "float64"})
    for (const char* e :
         {"T.Select(A[i] <= {0}(0), {0}(0) - A[i], A[i])", "T.Select(A[i] > {0}(0), A[i], {0}(0) - A[i])",
          "T.if_then_else(A[i] < {0}(0), {0}(0) - A[i], A[i])",
          "T.if_then_else(A[i] >= {0}(0), A[i], A[i] * {0}(-1))"}) {
      // Every input, and NaN of both signs, as the quotient of zeros.
      const std::string zero = fmt::format("T.{}", t);
      const std::string values = fmt::format(
          "A[i] = T.Select(i % 4 == 0, (A[i] - A[i]) / (A[i] - A[i]), T.Select(i % 4 == 1, (A[i] - A[i]) * "
          "{0}(-1), A[i]))\n        B[i] = {1}",
          zero, fmt::format(fmt::runtime(e), zero));
      CHECK(same(each(values, t, t), wide()) == "");
    }
}

TEST_CASE("LLVM faults: floats of integers compared as integers (167627)") {
  for (const char* e : {"T.Cast(\"float32\", A[i]) + T.float32(-4744350869734834488282710016.0) != T.float32(0)",
                        "T.Cast(\"float32\", A[i]) * T.float32(16777216) + T.float32(1) == T.Cast(\"float32\", i)",
                        "T.Cast(\"float64\", A[i]) - T.float64(9007199254740993.0) < T.float64(-9007199254740992.0)",
                        "T.Cast(\"float32\", i) + T.float32(16777216) == T.float32(16777217)"})
    CHECK(same(each(fmt::format("B[i] = T.Cast(\"int32\", {})", e), "int32", "int32"), wide()) == "");
}

TEST_CASE("LLVM faults: shifts and masks of 64 bits (128309), shifts of truth values (108698)") {
  for (const char* e : {"T.bitwise_and(T.shift_right(T.bitwise_and(T.shift_left(A[i], T.int64(48)), "
                        "T.int64(5098637728136822784)) + T.int64(1688849860263936), T.int64(48)), A[i])",
                        "T.shift_right(T.Cast(\"int64\", i == 0), A[i] % T.int64(63))",
                        "T.bitwise_and(T.shift_right(A[i], T.int64(60)), T.int64(15)) + T.int64(3)"})
    CHECK(same(each(fmt::format("B[i] = {}", e), "int64", "int64"), wide()) == "");
}

TEST_CASE("LLVM faults: values that a loop carries, and that depend on what an earlier turn left (126012)") {
  CHECK(same(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((10,), "int64"), B: T.Buffer((10,), "int64")):
    count = T.alloc_buffer((1,), "int64", scope="local")
    last = T.alloc_buffer((1,), "int64", scope="local")
    count[0] = T.int64(0)
    last[0] = T.int64(1)
    for i in range(T.int64(10)):
        if i != T.int64(0):
            count[0] = T.Select(last[0] > T.int64(0), count[0] + T.int64(1), T.int64(0))
        else:
            count[0] = T.int64(0)
        last[0] = i
        B[i] = count[0]
)") == "");
}

TEST_CASE("LLVM faults: a counter that goes down by steps that wrap (187472)") {
  for (const char* step : {"2147483647", "1073741824", "7", "65536"}) {
    CHECK(same(fmt::format(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    x = T.alloc_buffer((1,), "int32", scope="local")
    turns = T.alloc_buffer((1,), "int32", scope="local")
    x[0] = 2147483646
    turns[0] = 0
    while x[0] > -7826 and turns[0] < 100:
        x[0] = x[0] - {}
        turns[0] = turns[0] + 1
        B[turns[0] % 4] = x[0]
)",
                           step)) == "");
  }
}

TEST_CASE("LLVM faults: reductions and last values in vectorised loops (122602, 125374, 173459)") {
  for (const char* t : {"int8", "uint8", "int32", "int64"})
    for (const char* e :
         {"acc[0] = acc[0] + A[i] * T.{0}(0)", "acc[0] = T.Select(A[i] > T.{0}(0), T.Cast(\"{0}\", i), acc[0])",
          "acc[0] = T.Select(T.Cast(\"{0}\", i + 253) == T.{0}(0), acc[0], T.Cast(\"{0}\", i % 2))",
          "acc[0] = T.max(acc[0], A[i]) - T.{0}(1)"})
      for (const int extent : {2, 4, 127}) {
        const std::string text = fmt::format(
            "\n@T.prim_func(s_tir=True)\ndef kernel(A: T.Buffer((128,), \"{0}\"), B: T.Buffer((128,), \"{0}\")):\n"
            "    T.func_attr({{\"tirx.noalias\": True}})\n    acc = T.alloc_buffer((1,), \"{0}\", scope=\"local\")\n"
            "    acc[0] = T.{0}(1)\n    for i in range({2}):\n        {1}\n    B[0] = acc[0]\n",
            t, fmt::format(fmt::runtime(e), t), extent);
        CAPTURE(text);
        CHECK(same(text, wide()) == "");
      }
  // Going down, two stores that may meet.
  CHECK(same(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((8,), "int16"), B: T.Buffer((8,), "int16")):
    for i in range(7):
        B[7 - i] = A[i]
        B[6 - i] = B[7 - i] + T.int16(1)
)") == "");
}

TEST_CASE("LLVM faults: a choice of a whole vector by its own elements (97475, 114901)") {
  CHECK(same(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((128,), "int32"), B: T.Buffer((128,), "int32")):
    T.func_attr({"tirx.noalias": True})
    for j in range(32):
        for i in T.vectorized(4):
            B[j * 4 + i] = T.Select(A[j * 4 + i] % 3 == 0, A[j * 4 + (i + 1) % 4], 0)
    for j in range(16):
        for i in T.vectorized(8):
            B[j * 8 + i] = B[j * 8 + i] + T.Cast("int32", A[j * 8 + 7 - i] > 42) - T.Cast("int32", A[j * 8] > -8)
)",
             wide()) == "");
}

TEST_CASE("LLVM faults: quotients of short vectors of bytes, in another order") {
  for (const char* dtype : {"uint8", "int8"})
    for (const char* e :
         {"A[{0}] // {1}(7)", "A[{0}] % {1}(3)", "T.truncdiv(A[{0}], {1}(5))", "T.truncmod(A[{0}], {1}(3))"})
      for (const int lanes : {2, 3, 4, 8, 12, 16}) {
        const std::string divided = fmt::format(fmt::runtime(e), "{} - i", std::string("T.") + dtype);
        const std::string text = fmt::format(
            "\n@T.prim_func(s_tir=True)\ndef kernel(A: T.Buffer(({1},), \"{0}\"), C: T.Buffer(({1},), \"uint16\"), B: "
            "T.Buffer(({1},), \"int64\")):\n    T.func_attr({{\"tirx.noalias\": True}})\n    for i in {3}({1}):\n"
            "        B[i] = T.Cast(\"int64\", T.bitwise_and(T.Cast(\"uint16\", {2}), C[i] % T.uint16(2)))\n",
            dtype, lanes, fmt::format(fmt::runtime(divided), lanes - 1), lanes == 8 ? "T.vectorized" : "range");
        CAPTURE(text);
        CHECK(same(text, wide()) == "");
      }
}
