// Expressions: each operator, dtype, conversion and intrinsic, JIT against evaluator.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/llvm/both_engines.h"

using namespace rldb::codegen::testing;

namespace {

Case sized(std::int64_t n, double low = -4, double high = 4) {
  Case c;
  c.symbols["n"] = n;
  c.low = low;
  c.high = high;
  c.jit.opt_level = 1;  // the full pipeline is for the last test: it is ten times slower
  return c;
}

}  // namespace

TEST_CASE("operators on floats of every width") {
  for (const char* t : {"float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"})
    for (const char* e :
         {"A[i] + B[i]", "A[i] - B[i]", "A[i] * B[i]", "A[i] / B[i]", "T.min(A[i], B[i])", "T.max(A[i], B[i])",
          "A[i] * B[i] + A[i]", "T.truncmod(A[i], B[i])", "T.floordiv(A[i], B[i])", "T.floormod(A[i], B[i])",
          "T.Select(A[i] < B[i], A[i], B[i])", "T.if_then_else(A[i] >= B[i], A[i], B[i])"}) {
      CAPTURE(t);
      CAPTURE(e);
      CHECK(both(elementwise(e, t, t, t), sized(67)) == "");
    }
}

// The number is not NaN: the optimiser turns these into calls of the C library.
TEST_CASE("the larger and the smaller of a float16 and a number, at each level of the optimiser") {
  for (const int level : {0, 1, 2, 3})
    for (const char* e :
         {"T.max(A[i], T.float16(0))", "T.min(T.float16(3), A[i])", "T.max(T.min(A[i], B[i]), T.float16(0))"}) {
      CAPTURE(level);
      CAPTURE(e);
      auto all = sized(67);
      all.jit.opt_level = level;
      CHECK(both(elementwise(e, "float16", "float16", "float16"), all) == "");
    }
}

TEST_CASE("operators on integers of every width wrap") {
  for (const char* t : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
    for (const char* e : {"A[i] + B[i]", "A[i] - B[i]", "A[i] * B[i] * A[i] * B[i]", "T.min(A[i], B[i])",
                          "T.max(A[i], B[i])", "T.bitwise_and(A[i], B[i])", "T.bitwise_or(A[i], B[i])",
                          "T.bitwise_xor(A[i], B[i])", "T.bitwise_not(A[i])", "T.popcount(A[i])", "T.clz(A[i])"}) {
      CAPTURE(t);
      CAPTURE(e);
      CHECK(both(elementwise(e, t, t, t), sized(67, t[0] == 'u' ? 0 : -120, 120)) == "");
    }
}

TEST_CASE("divisions of integers, by variables and by constants") {
  for (const char* t : {"int8", "int32", "int64", "uint8", "uint32", "uint64"}) {
    const bool is_unsigned = t[0] == 'u';
    for (const char* e : {"A[i] // B[i]", "A[i] % B[i]", "T.truncdiv(A[i], B[i])", "T.truncmod(A[i], B[i])"}) {
      CAPTURE(t);
      CAPTURE(e);
      CHECK(both(elementwise(e, t, t, t), sized(67, 1, 120)) == "");
      if (!is_unsigned) CHECK(both(elementwise(e, t, t, t), sized(67, -120, -1)) == "");
    }
    for (const int d : {1, 3, 8, -1, -3, -8}) {
      if (is_unsigned && d < 0) continue;
      for (const char* e : {"A[i] // T.{0}({1})", "A[i] % T.{0}({1})", "T.truncdiv(A[i], T.{0}({1}))",
                            "T.truncmod(A[i], T.{0}({1}))"}) {
        const std::string text = fmt::format(fmt::runtime(e), t, d);
        CAPTURE(text);
        CHECK(both(elementwise(text, t, t, t), sized(67, is_unsigned ? 0 : -120, 120)) == "");
      }
    }
  }
  CHECK(both(elementwise("A[i] // (B[i] - B[i])", "int32", "int32", "int32"), sized(5)) == "");  // an error on both
  CHECK(jit_error(elementwise("A[i] % (B[i] - B[i])", "int32", "int32", "int32"), sized(5))
            .find("integer division by zero") == 0);
}

TEST_CASE("comparisons and logic") {
  for (const char* t : {"float32", "float16", "int32", "uint8", "float64"})
    for (const char* e : {"A[i] == B[i]", "A[i] != B[i]", "A[i] < B[i]", "A[i] <= B[i]", "A[i] > B[i]", "A[i] >= B[i]",
                          "A[i] < B[i] and B[i] > A[i]", "A[i] < B[i] or A[i] > B[i]", "not (A[i] < B[i])"}) {
      CAPTURE(t);
      CAPTURE(e);
      CHECK(both(elementwise(e, t, t, "bool"), sized(67, 0, 4)) == "");
    }
  for (const char* e : {"A[i] and B[i]", "A[i] or B[i]", "not A[i]", "T.bitwise_xor(A[i], B[i])"}) {
    CAPTURE(e);
    CHECK(both(elementwise(e, "bool", "bool", "bool"), sized(67, -1, 1)) == "");
  }
}

TEST_CASE("conversions between all dtypes") {
  const char* all[] = {"bool",   "int8",   "int16",   "int32",    "int64",   "uint8",   "uint16",
                       "uint32", "uint64", "float16", "bfloat16", "float32", "float64", "float8_e4m3fn"};
  for (const char* from : all)
    for (const char* to : all) {
      CAPTURE(from);
      CAPTURE(to);
      const std::string text = elementwise(fmt::format("T.Cast(\"{}\", A[i])", to), from, from, to);
      CHECK(both(text, sized(67, from[0] == 'u' ? 0 : -100, 100)) == "");
    }
  // Out of range.
  for (const char* to : {"int8", "int32", "int64", "uint8", "uint64", "float16"}) {
    CAPTURE(to);
    CHECK(both(elementwise(fmt::format("T.Cast(\"{}\", A[i])", to), "float32", "float32", to),
               sized(67, -1e20, 1e20)) == "");
    CHECK(both(elementwise(fmt::format("T.Cast(\"{}\", A[i])", to), "float64", "float64", to),
               sized(67, -1e10, 1e10)) == "");
  }
  CHECK(both(elementwise("T.reinterpret(\"int32\", A[i])", "float32", "float32", "int32"), sized(9)) == "");
  CHECK(both(elementwise("T.reinterpret(\"float16\", A[i])", "int16", "int16", "float16"), sized(9)) == "");
}

// The rows of the table whose last column begins with this.
static std::vector<std::string> rows_of(std::string_view evaluate) {
  constexpr std::pair<std::string_view, std::string_view> kRows[] = {
#define RLDB_INTRINSIC(id, name, arity, dtype, purity, how) {name, #how},
#include "rldb/ir/intrinsic/intrinsic.def"
  };
  std::vector<std::string> names;
  for (const auto& [name, how] : kRows)
    if (how.starts_with(evaluate)) names.emplace_back(name);
  return names;
}

TEST_CASE("intrinsics of one float") {
  std::vector<std::string> names;
  for (const char* kind : {"Libm1", "Formula1", "Native"})
    for (std::string& name : rows_of(kind)) names.push_back(std::move(name));
  REQUIRE(names.size() >= 25);
  for (const char* t : {"float32", "float64", "float16", "bfloat16"})
    for (const std::string& f : names) {
      CAPTURE(t);
      CAPTURE(f);
      CHECK(both(elementwise(fmt::format("T.{}(A[i])", f), t, t, t), sized(33)) == "");
      CHECK(both(elementwise(fmt::format("T.{}(A[i])", f), t, t, t), sized(33, 0, 1)) == "");
    }
  for (const char* f : {"isnan", "isinf", "isfinite"}) {
    CAPTURE(f);
    CHECK(both(elementwise(fmt::format("T.{}(A[i] / T.float32(0))", f), "float32", "float32", "bool"),
               sized(9, -1, 1)) == "");
    CHECK(both(elementwise(fmt::format("T.{}(T.sqrt(A[i]))", f), "float32", "float32", "bool"), sized(9, -1, 1)) == "");
  }
}

namespace {

struct OwnRow {
  std::string_view name, arity, rule, how;
};

// The dtypes of a row's operands and result in which the JIT accepts it; B may have to be an integer (ldexp).
std::vector<std::string> accepted_texts(const OwnRow& row) {
  std::string call = fmt::format("T.{}(A[i]", row.name);
  for (int i = 1; i < row.arity[0] - '0'; ++i) call += i == 1 ? ", B[i]" : ", A[i]";
  call += ")";
  std::vector<std::string> texts;
  for (const char* t : {"float32", "float64", "float16", "bfloat16", "int8", "int32", "int64", "uint16"})
    for (const char* b : {t, "int32"}) {
      const char* result = row.rule == "Bool" ? "bool" : row.rule == "Int32" ? "int32" : t;
      std::string text = elementwise(call, t, b, result);
      if (!jit_error(text, sized(9, 0, 4)).empty()) continue;
      texts.push_back(std::move(text));
      break;
    }
  return texts;
}

}  // namespace

TEST_CASE("intrinsics with bodies of their own, in each dtype that they take") {
  constexpr OwnRow kRows[] = {
#define RLDB_INTRINSIC(id, name, arity, dtype, purity, how) {name, #arity, #dtype, #how},
#include "rldb/ir/intrinsic/intrinsic.def"
  };
  std::size_t rows = 0;
  for (const OwnRow& row : kRows) {
    if (!row.how.starts_with("Own(")) continue;
    CAPTURE(row.name);
    const std::vector<std::string> texts = accepted_texts(row);
    CHECK(!texts.empty());
    for (const std::string& text : texts) {
      CAPTURE(text);
      CHECK(both(text, sized(33)) == "");
      CHECK(both(text, sized(33, 0, 1)) == "");
      CHECK(both(text, sized(33, 0, 9)) == "");
    }
    ++rows;
  }
  CHECK(rows >= 19);
}

TEST_CASE("intrinsics of two and three") {
  std::vector<std::string> names = rows_of("Libm2");
  for (std::string& name : rows_of("Formula2")) names.push_back(std::move(name));
  for (const char* t : {"float32", "float64", "float16"})
    for (const std::string& f : names) {
      if (std::string(t) == "float16" && f == "nextafter") continue;
      CAPTURE(t);
      CAPTURE(f);
      CHECK(both(elementwise(fmt::format("T.{}(A[i], B[i])", f), t, t, t), sized(33, 0.1, 4)) == "");
    }
}

// The same bits from the evaluator, and from instructions on numbers and on vectors: any float32, also those that are
// not finite.
TEST_CASE("formulas of elementary functions on arbitrary bits") {
  std::vector<std::string> calls{"T.sigmoid({0})", "T.exp10({0})"};
  for (const std::string& name : rows_of("Formula1")) calls.push_back("T." + name + "({0})");
  for (const std::string& name : rows_of("Formula2")) {
    calls.push_back("T." + name + "({0}, {1})");
    calls.push_back("T." + name + "({0}, T.float32(3))");
    calls.push_back("T." + name + "({0}, T.float32(-0.5))");
  }
  REQUIRE(calls.size() >= 12);
  for (const std::string& call : calls)
    for (const char* bits :
         {"{}[i]", "{}[i] // 64 + 1065353216", "{}[i] // 128 - 1082130432", "{}[i] // 100000000 * 8388608"}) {
      const auto number = [&](const char* buffer) {
        return fmt::format("T.reinterpret(\"float32\", {})", fmt::format(fmt::runtime(bits), buffer));
      };
      const std::string text = fmt::format(fmt::runtime(call), number("A"), number("B"));
      CAPTURE(text);
      for (const int level : {0, 3}) {
        Case c = sized(1003, -2147483647, 2147483647);
        c.jit.opt_level = level;
        CHECK(both(elementwise(text, "int32", "int32", "float32"), c) == "");
      }
    }
}

TEST_CASE("what has no code is refused by name") {
  CHECK(jit_error(elementwise("T.call_extern(\"float32\", \"nothing\", A[i])", "float32", "float32", "float32"))
            .find("call_extern") != std::string::npos);
}

TEST_CASE("vector code of the full pipeline") {
  for (const char* t : {"float32", "float16", "bfloat16", "float64", "int32", "int8", "uint8"})
    for (const char* e : {"A[i] * B[i] + A[i]", "T.max(A[i], B[i])", "T.if_then_else(A[i] < B[i], A[i], A[i] - B[i])",
                          "T.Cast(\"{}\", T.Cast(\"float32\", A[i]) * T.float32(0.5))"}) {
      const std::string text = fmt::format(fmt::runtime(e), t);
      CAPTURE(text);
      Case c = sized(1003, t[0] == 'u' ? 0 : -4);
      c.jit.opt_level = 3;
      CHECK(both(elementwise(text, t, t, t), c) == "");
    }
}

TEST_CASE("division after a change of sign: a large unsigned number is a negative signed one") {
  struct Change {
    const char* from;
    const char* to;
  };
  constexpr Change kAll[] = {{"uint8", "int8"},   {"uint16", "int16"}, {"uint32", "int32"}, {"uint64", "int64"},
                             {"uint8", "int16"},  {"int8", "uint8"},   {"int32", "uint32"}, {"uint64", "int32"},
                             {"uint32", "int64"}, {"int64", "int8"},   {"uint16", "int8"},  {"bool", "int8"}};
  for (const Change& c : kAll)
    for (const char* form :
         {"{a} // {b}", "{a} % {b}", "T.truncdiv({a}, {b})", "T.truncmod({a}, {b})", "({a} + {a}) // {b}",
          "({a} * {a}) % {b}", "T.max({a}, {b}) // {b}", "T.min({a}, {b}) // {b}"}) {
      CAPTURE(c.from);
      CAPTURE(c.to);
      CAPTURE(form);
      std::string expr = form;
      const auto put = [&](std::string_view what, const std::string& with) {
        for (std::size_t at = expr.find(what); at != std::string::npos; at = expr.find(what))
          expr.replace(at, what.size(), with);
      };
      put("{a}", fmt::format("T.Cast(\"{}\", A[i])", c.to));
      put("{b}", fmt::format("T.{}(3)", c.to));
      Case wide;
      wide.low = -1e19;
      wide.high = 1e19;
      CHECK(both(elementwise(expr, c.from, c.from, c.to), wide) == "");
      CHECK(both(elementwise(expr, c.from, c.from, c.to)) == "");
    }
}

TEST_CASE("conversions to float of short loops: the sign of what was widened counts") {
  for (const char* narrow : {"int8", "int16", "int32"})
    for (const char* wide : {"uint16", "uint32", "uint64"})
      for (const char* to : {"float32", "float64"}) {
        CAPTURE(narrow);
        CAPTURE(wide);
        const std::string text = fmt::format(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((8,), "{0}"), B: T.Buffer((8,), "{2}"), C: T.Buffer((8,), "{2}")):
    T.func_attr({{"tirx.noalias": True}})
    for i in range(8):
        C[i] = T.fabs(T.Cast("{2}", T.Cast("{1}", A[i]))) + T.min(B[i], T.Cast("{2}", T.Cast("{1}", A[i])))
)",
                                             narrow, wide, to);
        CHECK(both(text) == "");
      }
}
