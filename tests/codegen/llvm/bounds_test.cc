// Checked code: proved accesses cost nothing, others are tested, and both engines report the same.
#include "rldb/schedule/bounds.h"

#include <doctest/doctest.h>

#include "codegen/llvm/both_engines.h"
#include "rldb/codegen/llvm/jit.h"
#include "rldb/ir/walk.h"

using namespace rldb;
using namespace rldb::codegen::testing;

namespace {

// The number of accesses that are not proved.
int tests_left(const std::string& text) {
  Text t(text);
  REQUIRE_MESSAGE(t.f, t.problem);
  const schedule::BoundsFacts facts = schedule::prove_bounds(t.f);
  int left = 0;
  for (const auto& [node, bad] : facts.unproved) left += bad != 0;
  return left + int(facts.loose.size());
}

// Statements over A: (n, m), B: (n * m,), C: (16, 64), I: (n,) of int64.
std::string over(const std::string& body) {
  std::string text = R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n * m",), "float32"), C: T.Buffer((16, 64), "float32"), I: T.Buffer(("n",), "int64"), k: T.int64):
    n = T.int64()
    m = T.int64()
)";
  std::size_t begin = 0;
  while (begin < body.size()) {
    const std::size_t end = std::min(body.find('\n', begin), body.size());
    text += "    " + body.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

std::string aliased(const std::string& declaration, const std::string& index) {
  return "\n@T.prim_func\ndef kernel(A: T.Buffer((16,), \"float32\"), k: T.int64):\n    B = T.decl_buffer" +
         declaration + R"(, data=A.data)
    B[)" +
         index + R"(] = 1
)";
}

}  // namespace

TEST_CASE("affine accesses are proved") {
  for (const char* body : {
           "for i, j in T.grid(n, m):\n    A[i, j] = B[i * m + j]",
           "for f in range(n * m):\n    A[f // m, f % m] = B[f]",
           "for i, j in T.grid(16, 64):\n    C[15 - i, 63 - j] = C[i, j]",
           "for f in range(1024):\n    C[f // 64, f % 64] = T.float32(1)",
           "for a, b, c in T.grid(4, 4, 64):\n    with T.sblock(\"s\"):\n        vi = T.axis.spatial(16, a * 4 + b)\n  "
           "      "
           "vj = T.axis.spatial(64, c)\n        C[vi, vj] = T.float32(2)",
           "for a, b in T.grid((n + 31) // 32, 32):\n    with T.sblock(\"s\"):\n        vi = T.axis.spatial(n, a * 32 "
           "+ "
           "b)\n        T.where(a * 32 + b < n)\n        I[vi] = vi",
           "for i, j in T.grid(16, 64):\n    C[i, j] = T.if_then_else(1 <= j and j < 63, C[i, j - 1] + C[i, j + 1], "
           "T.float32(0))",
           "for i, j in T.grid(n, m):\n    A[T.min(i + 1, n - 1), T.max(j - 1, T.int64(0))] = T.float32(0)",
           "for i in range(n):\n    if 0 <= k and k < m:\n        A[i, k] = T.float32(3)",
           "for i, j, r in T.grid(n // 2, m, 2):\n    A[i * 2 + r, j] = T.float32(1)",
           "for f in range((n + 1) // 2 * m):\n    A[f // m * 2, f % m] = T.float32(1)",
           "for f in range(n * ((m + 1) // 2)):\n    A[f // ((m + 1) // 2), f % ((m + 1) // 2) * 2] = T.float32(1)",
           "for i in range(n):\n    D = T.decl_buffer((n, m), data=A.data)\n    D[i, 0 * i] = T.float32(1) if False "
           "else "
           "D[n - 1 - i, 0 * i]" /* m may be 0 */,
       }) {
    CAPTURE(std::string(body));
    const bool zero = std::string(body).find("0 * i") != std::string::npos;
    CHECK(tests_left(over(body)) == (zero ? 2 : 0));
  }
}

TEST_CASE("what cannot be known is tested, and found by both engines") {
  Case c;
  c.symbols = {{"n", 5}, {"m", 6}, {"k", 100}};
  for (const char* body : {
           "for i in range(n):\n    A[i, i * 2] = T.float32(1)",
           "for i in range(n):\n    A[i, I[i] + 1000] = T.float32(1)",
           "for i in range(n):\n    A[i, k] = T.float32(1)",
           "for i in range(n):\n    if k < 1000:\n        A[i, k] = T.float32(1)",
           "for i in range(n):\n    if k < m or i == i:\n        A[i, k] = T.float32(1)",
           "for f in range(n * m + 1):\n    A[f // m, f % m] = T.float32(1)",
           "for f in range((n + 1) // 2 * m):\n    A[f // m * 2 + 1, f % m] = T.float32(1)",
           "for f in range(n * ((m + 1) // 2)):\n    A[f // ((m + 1) // 2), f % ((m + 1) // 2) * 2 + 2] = T.float32(1)",
           "for i, j in T.grid(n, m):\n    A[i, j] = B[i * m + j + 1]",
           "for i, j in T.grid(n, m):\n    A[i - 1, j] = T.float32(0)",
           "for i, j in T.grid(16, 64):\n    C[i, j] = T.if_then_else(1 <= j, C[i, j + 1], T.float32(0))",
           "for a, b in T.grid((n + 31) // 32, 32):\n    with T.sblock(\"s\"):\n        vi = T.axis.spatial(n, a * 32 "
           "+ "
           "b)\n        I[vi] = vi",
       }) {
    CAPTURE(body);
    CHECK(tests_left(over(body)) > 0);
    CHECK(both(over(body), c) == "");
    CHECK(jit_error(over(body), c).find("access out of bounds: ") == 0);
  }
}

TEST_CASE("a proof is not taken from one place to another") {
  Case c;
  c.symbols = {{"n", 5}, {"m", 6}, {"k", 100}};
  // A condition holds inside it only; a range only for its own loop.
  for (const char* body : {
           "if 0 <= k and k < m:\n    I[0] = T.int64(1)\nA[0, k] = T.float32(1)",
           "for i in range(n):\n    x = T.bind(i + 3)\n    if x < n:\n        I[x] = x\n    I[x] = x",
           "while I[0] < k:\n    I[0] = k\nA[0, k] = T.float32(1)",
       }) {
    CAPTURE(body);
    CHECK(both(over(body), c) == "");
    CHECK(jit_error(over(body), c).find("access out of bounds: ") == 0);
  }
}

TEST_CASE("narrow integers that wrap are not taken for what they would be") {
  Case c;
  c.symbols = {{"n", 40}};
  const std::string text = R"(
@T.prim_func
def kernel(A: T.Buffer((256,), "float32"), n: T.int32):
    for i in range(n):
        A[(i * 100000000) // 100000000 + 128] = T.float32(1)
)";
  CHECK(tests_left(text) == 0);  // whatever it wraps to, a quotient is between -22 and 21
  CHECK(both(text, c) == "");
}

TEST_CASE("a buffer over another one's data may not reach past it") {
  Case c;
  for (const auto& [declaration, index] : {
           std::pair("((32,), \"float32\"", "k"),
           std::pair("((16,), \"float32\", strides=(4,)", "k // 2"),
           std::pair("((16,), \"float32\", elem_offset=8", "k // 2"),
           std::pair("((16,), \"float64\"", "k // 2"),
           std::pair("((4, 4), \"float32\", strides=(-4, 1)", "k // 16, k % 4"),
           std::pair("((16,), \"float32\", elem_offset=-8", "k - 16"),
           std::pair("((1099511627776,), \"float32\"", "k * k * k * k * k"),
       }) {
    CAPTURE(std::string(declaration));
    const std::string text = aliased(declaration, index);
    c.symbols["k"] = 20;
    CHECK(both(text, c) == "");
    CHECK(jit_error(text, c).find("access out of bounds: `B` reaches past its memory") == 0);
  }
  // An access inside is not an error, however large the declared buffer is.
  c.symbols["k"] = 3;
  CHECK(both(aliased("((32,), \"float32\"", "k"), c) == "");
  CHECK(jit_error(aliased("((32,), \"float32\"", "k"), c) == "");
  CHECK(both(aliased("((8,), \"float64\"", "k"), c) == "");
  CHECK(tests_left(aliased("((8, 2), \"float32\"", "0, 1")) == 0);
}

TEST_CASE("a bare handle is as large as what was passed") {
  Case c;  // a tensor of 16 floats
  const auto text = [](int n) {
    return R"(
@T.prim_func
def kernel(h: T.handle):
    B = T.decl_buffer((32,), "float32", data=h)
    for i in range()" +
           std::to_string(n) + R"():
        B[i] = T.float32(1)
)";
  };
  CHECK(both(text(16), c) == "");
  CHECK(jit_error(text(16), c) == "");
  CHECK(both(text(17), c) == "");
  CHECK(jit_error(text(17), c).find("access out of bounds: `B` reaches past its memory") == 0);
}

TEST_CASE("storage holds what strides and an offset span") {
  Case c;
  const auto text = [](const std::string& fields) {
    return R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    with T.sblock("root"):
        C = T.sblock_alloc_buffer((64, 64), )" +
           fields + R"()
        for i, j in T.grid(64, 64):
            C[i, j] = A[i, j] + T.float32(1)
        for i, j in T.grid(64, 64):
            B[i, j] = C[i, j]
)";
  };
  for (const char* fields :
       {"strides=(72, 1)", "strides=(1, 64)", "strides=(64, 1), elem_offset=100", "elem_offset=7"}) {
    CAPTURE(fields);
    CHECK(jit_error(text(fields), c) == "");
    CHECK(both(text(fields), c) == "");
  }
  CHECK(jit_error(text("strides=(-64, 1)"), c).find("cannot allocate buffer `C`: its stride 0 is -64") == 0);
  CHECK(both(text("strides=(-64, 1)"), c) == "");
}

TEST_CASE("vectors are tested lane by lane") {
  Case c;
  const auto text = [](const std::string& statement) {
    return "\n@T.prim_func\ndef kernel(A: T.Buffer((30,), \"float32\"), k: T.int32):\n    " + statement + "\n";
  };
  c.symbols["k"] = 3;
  for (const char* statement : {
           "A[T.Ramp(k * 8, 1, 8)] = T.Broadcast(T.float32(1), 8)",
           "A[T.Ramp(k * 8, 2, 8)] = T.Broadcast(T.float32(1), 8)",
           "A[T.Ramp(0, 8, 8)] = A[T.Ramp(0, 1, 8)]",
       }) {
    CAPTURE(statement);
    CHECK(both(text(statement), c) == "");
    CHECK(jit_error(text(statement), c).find("access out of bounds: `A`, index 0 is 3") == 0);
  }
  CHECK(tests_left(text("A[T.Ramp(0, 4, 8)] = A[T.Ramp(22, 1, 8)]")) == 0);
}

TEST_CASE("accesses are checked once more in the optimised code") {
  for (const char* body : {
           "for i, j in T.grid(n, m):\n    A[i, j] = B[i * m + j] + C[i % 16, j % 64]",
           "for i in range(n):\n    if I[i] >= 0 and I[i] < n * m:\n        A[i, 0] = B[I[i]]",
           "for i in T.vectorized(64):\n    if i < 61:\n        C[2, i] = C[3, 63 - i]",
           "for i in range(16):\n    for j in T.vectorized(64):\n        C[i, j * 3 % 64] = C[i, j] * T.float32(2)",
       }) {
    CAPTURE(body);
    Case c;
    c.jit.check_accesses = true;
    c.symbols = {{"n", 17}, {"m", 33}};
    CHECK(both(over(body), c) == "");
  }
}

// Without a proof or a test of its own, an access is left to the second check.
TEST_CASE("an access outside of the buffers is found in the optimised code") {
  Case c;
  c.jit.check_accesses = true;
  c.jit.check_bounds = false;
  c.symbols = {{"n", 4}, {"m", 8}, {"k", 40}};
  for (const char* body :
       {"for i in range(n):\n    A[i, 0] = B[i + k]", "for i in T.vectorized(16):\n    C[0, i] = B[i + k]"}) {
    CAPTURE(body);
    CHECK(jit_error(over(body), c).find("outside of its buffers") != std::string::npos);
  }
}
