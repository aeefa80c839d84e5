// Indices that wrap (`A[i * 3 % 64]`): LLVM's vectoriser takes such an index for one that does not, reads consecutive
// memory from it, outside of the buffer, and stores there. Every form must give the evaluator's values.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/llvm/both_engines.h"

using namespace rldb::codegen::testing;

namespace {

// A loop that goes once round is the worst: its trip count is 0 in the width of the index.
constexpr int kOther = 96;

struct Form {
  const char* name;
  const char* index;  // of i, s (the stride) and m (the modulus)
};
constexpr Form kRemainder = {"%", "i * {s} % {m}"};
// Of moduli that are powers of 2.
constexpr Form kForms[] = {
    kRemainder,
    {"bitwise_and", "T.bitwise_and(i * {s}, {m} - 1)"},
    {"quotient subtracted", "i * {s} - i * {s} // {m} * {m}"},
    {"truncmod", "T.truncmod(i * {s}, {m})"},
    {"two remainders", "(i * {s} % {m} + i) % {m}"},
};

std::string fill(std::string text, int stride, int modulus) {
  const auto put = [&](std::string_view what, int with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what))
      text.replace(at, what.size(), std::to_string(with));
  };
  put("{s}", stride);
  put("{m}", modulus);
  return text;
}

enum class Access { Load, Store, Update };

// One loop per stride, in one kernel.
std::string kernel(Access access, const Form& form, int modulus, const std::vector<int>& strides,
                   const std::string& dtype, const std::string& loop, int extent) {
  const auto n = strides.size();
  std::string text = fmt::format(
      "\n@T.prim_func(s_tir=True)\ndef kernel(A: T.Buffer(({0}, {1}), \"{3}\"), B: T.Buffer(({0}, {2}), \"{3}\")):\n"
      "    T.func_attr({{\"tirx.noalias\": True}})\n",
      n, modulus, extent, dtype);
  for (std::size_t k = 0; k < n; ++k) {
    const std::string wrapped = fmt::format("A[{}, {}]", k, fill(form.index, strides[k], modulus));
    const std::string plain = fmt::format("B[{}, i]", k);
    text += fmt::format("    for i in {}({}):\n        ", loop, extent);
    if (access == Access::Load) text += fmt::format("{} = {}\n", plain, wrapped);
    if (access == Access::Store) text += fmt::format("{} = {}\n", wrapped, plain);
    if (access == Access::Update) text += fmt::format("{0} = {0} + {1}\n", wrapped, plain);
  }
  return text;
}

std::vector<int> strides(int first, int last, int step = 1) {
  std::vector<int> out;
  for (int s = first; s <= last; s += step) out.push_back(s);
  return out;
}

}  // namespace

TEST_CASE("wrapping indices: every stride and power of two") {
  for (int modulus = 2; modulus <= 128; modulus *= 2) {
    CAPTURE(modulus);
    for (const int extent : {modulus, kOther})
      CHECK(both(kernel(Access::Load, kRemainder, modulus, strides(1, 128), "float32", "range", extent)) == "");
  }
}

TEST_CASE("wrapping indices: other moduli") {
  for (const int modulus : {1, 3, 12, 48, 96, 127}) {
    CAPTURE(modulus);
    CHECK(both(kernel(Access::Load, kRemainder, modulus, strides(1, 128, 9), "float32", "range", kOther)) == "");
  }
}

TEST_CASE("wrapping indices: loads, stores and updates of every dtype") {
  for (const char* dtype :
       {"int8", "uint8", "int16", "int32", "uint32", "int64", "float16", "bfloat16", "float64", "bool"})
    for (const Access access : {Access::Load, Access::Store, Access::Update})
      for (const int modulus : {8, 64}) {
        if (access == Access::Update && std::string_view(dtype) == "bool") continue;
        CAPTURE(dtype);
        CAPTURE(modulus);
        CHECK(both(kernel(access, kRemainder, modulus, {1, 2, 3, 5, 7, 16, 33}, dtype, "range", modulus)) == "");
      }
}

TEST_CASE("wrapping indices: every form, access and kind of loop") {
  for (const Form& form : kForms)
    for (const Access access : {Access::Load, Access::Store, Access::Update})
      for (const char* loop : {"range", "T.vectorized", "T.unroll", "T.parallel"}) {
        // Lanes and threads that write one element have no order.
        const bool ordered = std::string_view(loop) == "range" || std::string_view(loop) == "T.unroll";
        if (access != Access::Load && !ordered) continue;
        CAPTURE(form.name);
        CAPTURE(loop);
        for (const int modulus : {8, 64})
          CHECK(both(kernel(access, form, modulus, {1, 3, 4, 5, 9, 15}, "float32", loop, modulus)) == "");
      }
}

TEST_CASE("wrapping indices: symbolic extents, outer variables, and narrow arithmetic") {
  for (const char* index :
       {"(i * 3 + j) % 64", "(i + j * 7) % 64", "T.bitwise_and(i * 5, 63)",
        "T.Cast(\"int64\", T.Cast(\"uint8\", i * 3)) % 64", "T.shift_right(i * 12, T.int64(2)) % 64"}) {
    CAPTURE(index);
    const std::string text = fmt::format(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((5, "n"), "float32")):
    n = T.int64()
    for j, i in T.grid(T.int64(5), n):
        B[j, i] = A[{}]
)",
                                         index);
    for (const std::int64_t n : {1, 7, 64, 100, 1000}) {
      Case c;
      c.symbols["n"] = n;
      CHECK(both(text, c) == "");
    }
  }
}

TEST_CASE("wrapping indices: an inner loop that is unrolled away leaves the outer one to the vectoriser") {
  CHECK(both(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((256,), "float32")):
    T.func_attr({"tirx.noalias": True})
    for i in range(128):
        for j in range(2):
            B[i * 2 + j] = A[(i * 6 + j * 3) % 64] + A[(i * 5 + j) % 32]
)") == "");
}

TEST_CASE("wrapping indices: data of any size in an index") {
  for (const char* dtype : {"int64", "int32"})
    for (const char* index : {"(-D[i]) % 6", "(D[i] - 1) % 6", "(D[i] * 3 + i) % 6", "(D[i] + D[i]) // 2 % 6",
                              "(D[i] * D[i]) % 6", "T.truncmod(-D[i], 3) + 3"}) {
      for (const bool let : {false, true}) {
        std::string at = index;
        if (let)
          for (std::size_t k = at.find("D[i]"); k != std::string::npos; k = at.find("D[i]")) at.replace(k, 4, "d");
        CAPTURE(dtype);
        CAPTURE(at);
        const std::string text = fmt::format(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((6,), "float32"), D: T.Buffer((16,), "{0}"), B: T.Buffer((16,), "float32")):
    for i in T.serial({1}(16)):
        d: T.let[T.{0}] = D[i]
        B[i] = A[{2}]
)",
                                             dtype, fmt::format("T.{}", dtype), at);
        Case c;
        c.low = c.high = std::string_view(dtype) == "int64" ? -9223372036854775808.0 : -2147483648.0;
        CHECK(both(text, c) == "");
      }
    }
}
