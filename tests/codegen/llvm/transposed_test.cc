// Copies that transpose, in registers: the same values as on the evaluator, and no gathers.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/llvm/both_engines.h"

using namespace rldb;
using namespace rldb::codegen::testing;

namespace {

// B = A transposed, in tiles of `height` x `width` of B; the dims of A are symbolic or twice and three times a tile.
std::string transposition(int height, int width, std::string_view from, std::string_view to, bool symbolic) {
  const std::string shape = symbolic ? R"("m", "n")" : fmt::format("{}, {}", 2 * width, 3 * height);
  const std::string turned = symbolic ? R"("n", "m")" : fmt::format("{}, {}", 3 * height, 2 * width);
  const std::string dims = symbolic ? "    m = T.int64()\n    n = T.int64()\n" : "";
  const std::string rows = symbolic ? fmt::format("n // {}", height) : "3";
  const std::string columns = symbolic ? fmt::format("m // {}", width) : "2";
  const std::string load = fmt::format("A[j * {1} + v, i * {0} + u]", height, width);
  const std::string value = from == to ? load : fmt::format("T.Cast(\"{}\", {})", to, load);
  return fmt::format(R"(
@T.prim_func
def kernel(A: T.Buffer(({}), "{}"), B: T.Buffer(({}), "{}")):
    T.func_attr({{"tirx.noalias": True}})
{}    for i in range({}):
        for j in range({}):
            for u in T.unroll({}):
                for v in T.vectorized({}):
                    B[i * {} + u, j * {} + v] = {}
)",
                     shape, from, turned, to, dims, rows, columns, height, width, height, width, value);
}

std::string ir_of(const std::string& text) {
  Text t(text);
  REQUIRE_MESSAGE(t.f, t.problem);
  codegen::JitOptions options;
  options.opt_level = 0;
  return codegen::Jit::create(options).value()->llvm_ir(t.ctx, t.f, "kernel", false).value();
}

bool in_registers(const std::string& text) {
  const std::string made = ir_of(text);
  return made.find("shufflevector") != std::string::npos && made.find("masked.gather") == std::string::npos;
}

}  // namespace

TEST_CASE("copies that transpose move whole vectors") {
  for (const int height : {2, 4, 8, 16})
    for (const int width : {2, 4, 8, 16})
      for (const bool symbolic : {false, true}) {
        CAPTURE(height);
        CAPTURE(width);
        CAPTURE(symbolic);
        const std::string text = transposition(height, width, "float32", "float32", symbolic);
        CHECK(in_registers(text));
        Case c;
        c.symbols = {{"m", 2 * width + 1}, {"n", 3 * height + 1}};
        CHECK(both(text, c) == "");
      }
}

TEST_CASE("copies that transpose keep, or convert, elements of every width") {
  for (const char* type : {"int8", "uint8", "float16", "bfloat16", "int16", "int32", "float64", "int64"})
    CHECK(both(transposition(8, 16, type, type, false)) == "");
  for (const auto& [from, to] : {std::pair("float16", "float32"), std::pair("bfloat16", "float32"),
                                 std::pair("int8", "int32"), std::pair("float32", "float64")}) {
    CAPTURE(from);
    const std::string text = transposition(16, 8, from, to, true);
    CHECK(in_registers(text));
    Case c;
    c.symbols = {{"m", 16}, {"n", 48}};
    CHECK(both(text, c) == "");
  }
}

TEST_CASE("a copy over its own source is done element by element") {
  const std::string text = R"(
@T.prim_func
def kernel(A: T.Buffer((8, 8), "float32")):
    for u in T.unroll(4):
        for v in T.vectorized(4):
            A[u, v + 4] = A[v + 4, u]
)";
  CHECK(both(text) == "");
  CHECK(ir_of(text).find("shufflevector <4 x float> %") == std::string::npos);
}
