// Reductions of rows, chains of nests over them, and transposes: the scheduled code gives the evaluator's bits,
// whatever the sizes, with and without tests of bounds.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/llvm/both_engines.h"

using namespace rldb;
using namespace rldb::codegen::testing;

namespace {

struct RowSize {
  std::int64_t rows, length;
};
// Around the number of lanes (16 for 32 bits, with AVX-512), and around pieces of rows.
constexpr RowSize kSizes[] = {{1, 1},
                              {1, 40},
                              {3, 16},
                              {4, 9},
                              {8, 15},
                              {15, 33},
                              {16, 64},
                              {17, 20},
                              {33, 47},
                              {50, 0},
                              {0, 5},
                              // Rows whose lanes are elements: around blocks of vectors, and few of them.
                              {1, 1003},
                              {2, 259},
                              {3, 130},
                              {20, 512},
                              {17, 543}};

std::string rows_kernel(std::string_view type, std::string_view out, std::string_view init, std::string_view step) {
  return fmt::format(R"(
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def kernel(a: T.handle, b: T.handle):
    T.func_attr({{"tirx.noalias": True}})
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "{}")
    B = T.match_buffer(b, (n,), "{}")
    for i, k in T.grid(n, m):
        with T.sblock("reduce"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = {}
            B[vi] = {}
)",
                     type, out, init, step);
}

std::vector<runtime::Value> run(runtime::Kernel& kernel, const std::vector<runtime::Value>& args) {
  std::vector<runtime::Value> copies;
  for (const runtime::Value& v : args) copies.push_back(runtime::deep_copy(v).value());
  const auto done = runtime::call_kernel(kernel, copies);
  if (!done.ok()) FAIL_CHECK(done.error().message);
  return copies;
}

// One kernel of each engine, run with all sizes.
void check_sizes(const std::string& text, double low = -4, double high = 4, bool checked = true) {
  Text t(text);
  REQUIRE_MESSAGE(t.f, t.problem);
  const auto signature = eval::signature_of(t.f, "kernel").value();
  codegen::JitOptions options;
  options.check_bounds = checked;
  auto jit = codegen::Jit::create(options).value();
  auto compiled = jit->add(t.ctx, t.f, "kernel");
  REQUIRE_MESSAGE(compiled.ok(), compiled.error().text);
  auto evaluated = eval::make_eval_kernel(t.f, signature, nullptr, nullptr);
  for (const RowSize& size : kSizes) {
    Case c;
    c.symbols = {{"n", size.rows}, {"m", size.length}};
    c.low = low;
    c.high = high;
    CAPTURE(text);
    CAPTURE(size.rows);
    CAPTURE(size.length);
    const auto args = make_arguments(signature, c);
    const auto wanted = run(*evaluated, args), got = run(**compiled, args);
    for (std::size_t i = 0; i < args.size(); ++i) CHECK(runtime::compare(got[i], wanted[i], {0, 0, true}) == "");
  }
}

}  // namespace

TEST_CASE("rows: sums and extremes in the order of the text") {
  for (const char* t : {"float32", "float64", "float16", "bfloat16", "int64", "int8"})
    check_sizes(rows_kernel(t, t, fmt::format("T.{}(0)", t), "B[vi] + A[vi, vk]"));
  check_sizes(rows_kernel("float32", "float32", "T.float32(0)", "B[vi] + A[vi, vk]"), -4, 4, false);
  check_sizes(rows_kernel("uint8", "uint8", "T.uint8(0)", "T.max(B[vi], A[vi, vk])"), 0, 200);
  check_sizes(rows_kernel("float16", "float32", "T.float32(0)", "B[vi] + T.Cast(\"float32\", A[vi, vk])"));
  check_sizes(rows_kernel("int8", "int32", "0", "B[vi] + T.Cast(\"int32\", A[vi, vk])"));
  check_sizes(rows_kernel("float32", "float32", "T.float32(0)", "B[vi] + T.exp(A[vi, vk])"));
}

TEST_CASE("rows: NaN and zeros of both signs in extremes") {
  for (const char* step : {"T.max(B[vi], T.sqrt(A[vi, vk]))", "T.min(T.sqrt(A[vi, vk]), B[vi])",
                           "T.max(B[vi], A[vi, vk] * T.float32(0))", "T.min(B[vi], A[vi, vk] * T.float32(0))"})
    check_sizes(rows_kernel("float32", "float32", "T.float32(0)", step), -0.2, 4);
  for (const char* step : {"T.max(B[vi], T.sqrt(A[vi, vk]))", "T.min(T.sqrt(A[vi, vk]), B[vi])",
                           "T.max(B[vi], A[vi, vk])", "T.min(A[vi, vk] * T.float16(0), B[vi])"})
    check_sizes(rows_kernel("float16", "float16", "T.float16(0)", step), -0.2, 4);
}

TEST_CASE("rows: two results, one of which may need the other as it was") {
  const auto kernel = [](std::string_view index, std::string_view first, std::string_view p, std::string_view v) {
    return fmt::format(R"(
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def kernel(a: T.handle, b: T.handle, c: T.handle):
    T.func_attr({{"tirx.noalias": True}})
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    P = T.match_buffer(b, (n,), "{0}")
    V = T.match_buffer(c, (n,), "float32")
    for i, k in T.grid(n, m):
        with T.sblock("both"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = {1}
                V[vi] = T.float32(-3)
            p: T.let[T.{0}] = {2}
            v: T.let[T.float32] = {3}
            P[vi] = p
            V[vi] = v
)",
                       index, first, p, v);
  };
  check_sizes(kernel("int64", "T.int64(-1)", "T.Select(V[vi] >= A[vi, vk], P[vi], vk)",
                     "T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk])"));
  check_sizes(kernel("float32", "T.float32(0)", "P[vi] + V[vi]", "P[vi] - A[vi, vk]"));
}

TEST_CASE("rows: softmax as a chain of nests") {
  for (const char* t : {"float32", "float16"})
    check_sizes(fmt::format(R"(
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def kernel(a: T.handle, b: T.handle):
    T.func_attr({{"tirx.noalias": True}})
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "{0}")
    B = T.match_buffer(b, (n, m), "{0}")
    M = T.sblock_alloc_buffer((n,), "{0}")
    E = T.sblock_alloc_buffer((n, m), "{0}")
    S = T.sblock_alloc_buffer((n,), "{0}")
    for i, k in T.grid(n, m):
        with T.sblock("top"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.{0}(-1000)
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, j in T.grid(n, m):
        with T.sblock("exp"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(A[vi, vj] - M[vi])
    for i, k in T.grid(n, m):
        with T.sblock("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.{0}(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, j in T.grid(n, m):
        with T.sblock("norm"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = E[vi, vj] / S[vi]
)",
                            t));
}

TEST_CASE("rows: transposes of every width, alone and with an operator") {
  for (const char* t : {"float32", "float64", "bfloat16", "int8", "bool"})
    for (const char* value : {"A[vj, vi]", "T.max(A[vj, vi], B[vi, vj])"}) {
      if (std::string_view(t).starts_with("bool") && value[0] == 'T') continue;
      check_sizes(fmt::format(R"(
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def kernel(a: T.handle, b: T.handle, c: T.handle):
    T.func_attr({{"tirx.noalias": True}})
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "{0}")
    B = T.match_buffer(b, (m, n), "{0}")
    C = T.match_buffer(c, (m, n), "{0}")
    for i, j in T.grid(m, n):
        with T.sblock("turn"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = {1}
)",
                              t, value));
    }
}

namespace {

// Elements that are reduced in the order of the text or any other: integers, extremes.
std::string known_rows(std::int64_t n, std::int64_t m, std::string_view type, std::string_view init,
                       std::string_view step) {
  std::string text = rows_kernel(type, type, init, step);
  const auto replace = [&](std::string_view what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
      text.replace(at, what.size(), with);
  };
  replace("    n, m = T.int64(), T.int64()\n", "");
  replace("(n, m)", fmt::format("({}, {})", n, m));
  replace("(n,)", fmt::format("({},)", n));
  replace("T.grid(n, m)", fmt::format("T.grid({}, {})", n, m));
  return text;
}

}  // namespace

TEST_CASE("rows: lanes are elements, rows of known lengths") {
  for (const std::int64_t n : {1, 3, 18})
    for (const std::int64_t m : {32, 33, 40, 63, 64, 95, 256, 271, 517, 1040}) {
      CAPTURE(n);
      CAPTURE(m);
      CHECK(both(known_rows(n, m, "float32", "T.float32(-3.4e38)", "T.max(B[vi], A[vi, vk])")) == "");
      CHECK(both(known_rows(n, m, "int32", "T.int32(1)", "B[vi] * A[vi, vk]")) == "");
      CHECK(both(known_rows(n, m, "int8", "T.int8(5)", "A[vi, vk] + B[vi]")) == "");
      CHECK(both(known_rows(n, m, "int64", "T.int64(7)", "T.min(B[vi], A[vi, vk] - T.int64(1))")) == "");
    }
}

TEST_CASE("rows: extremes in lanes with NaN and zeros of both signs") {
  // Few of a row's elements are below the lower limit: some rows have none.
  for (const std::int64_t m : {300, 517})
    for (const char* step :
         {"T.max(B[vi], T.sqrt(A[vi, vk]))", "T.max(T.sqrt(A[vi, vk]), B[vi])", "T.min(B[vi], T.sqrt(A[vi, vk]))",
          "T.min(T.sqrt(A[vi, vk]), B[vi])", "T.max(B[vi], -T.sqrt(A[vi, vk]))", "T.min(B[vi], -T.sqrt(A[vi, vk]))",
          "T.max(B[vi], T.min(A[vi, vk], T.float32(0)) * T.float32(0))", "T.min(B[vi], T.max(A[vi, vk], T.float32(0)))",
          "T.min(B[vi], T.float32(0) - T.max(A[vi, vk], T.float32(0)))", "T.min(B[vi], A[vi, vk] * T.float32(-0.0))",
          "T.max(A[vi, vk] * T.float32(0), B[vi])", "T.max(B[vi], T.float32(1) / (A[vi, vk] * T.float32(0)))"})
      for (const char* init : {"T.float32(-3.4028234663852886e+38)", "T.float32(3)", "T.float32(0)", "T.float32(-0.0)"})
        for (const double low : {-0.01, 0.0, -4.0}) {
          CAPTURE(step);
          CAPTURE(init);
          CAPTURE(low);
          Case c;
          c.low = low;
          CHECK(both(known_rows(24, m, "float32", init, step), c) == "");
        }
}

TEST_CASE("rows: sums in any order with fast arithmetic") {
  Case c;
  c.jit.fp = codegen::FpMode::Fast;
  c.tolerance = {1e-3, 1e-4, true};
  for (const std::int64_t n : {1, 3, 18})
    for (const std::int64_t m : {33, 256, 517, 1040}) {
      CAPTURE(n);
      CAPTURE(m);
      CHECK(both(known_rows(n, m, "float32", "T.float32(0)", "B[vi] + A[vi, vk]"), c) == "");
      CHECK(both(known_rows(n, m, "float64", "T.float64(5)", "B[vi] + A[vi, vk] * A[vi, vk]"), c) == "");
      Case wide = c;
      wide.tolerance = {8, 0.5, true};
      CHECK(both(known_rows(n, m, "float16", "T.float16(0)", "B[vi] + A[vi, vk]"), wide) == "");
    }
}

TEST_CASE("rows: all elements of several dimensions, into one element or a result without dimensions") {
  for (const std::int64_t m : {40, 517})
    for (const char* step : {"T.max(RESULT, A[vi, vk])", "T.min(RESULT, T.sqrt(A[vi, vk]))", "RESULT + A[vi, vk]"})
      for (const char* result : {"B[0]", "B[()]"}) {
        CAPTURE(m);
        CAPTURE(step);
        CAPTURE(result);
        std::string text = known_rows(30, m, "float32", "T.float32(1)", step);
        const auto replace = [&](std::string_view what, std::string_view with) {
          for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
            text.replace(at, what.size(), with);
        };
        replace("(30,)", std::string_view(result) == "B[0]" ? "(1,)" : "()");
        replace("\"SR\"", "\"RR\"");
        replace("RESULT", result);
        replace("B[vi]", result);
        CHECK(both(text) == "");
      }
}
