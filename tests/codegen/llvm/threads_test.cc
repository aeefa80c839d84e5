// Parallel loops in pieces: the same bits at any number of threads, memory of their own, the first fault of several.
#include "rldb/runtime/threads.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/llvm/both_engines.h"
#include "codegen/llvm/engine/pieces.h"
#include "rldb/ir/walk.h"
#include "rldb/schedule/written_first.h"

using namespace rldb;
using namespace rldb::codegen::testing;

namespace {

struct Threads {
  explicit Threads(std::size_t n) { runtime::set_thread_count(n); }
  ~Threads() { runtime::set_thread_count(0); }
};

constexpr const char* kGather = R"(
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((64,), "float32"), I: T.Buffer((64,), "int64"), B: T.Buffer((64,), "float32")):
    T.func_attr({"tirx.noalias": True, "tirx.is_scheduled": True})
    for i in T.parallel(64, annotations={"pragma_parallel_grain": 1}):
        B[i] = A[T.if_then_else(i >= FIRST, i + 64, i)] + T.Cast("float32", I[i])
)";

std::string gather_from(int first) {
  std::string text = kGather;
  text.replace(text.find("FIRST"), 5, std::to_string(first));
  return text;
}

// Whether the code of a kernel has a loop that may run in pieces.
bool has_pieces(const std::string& text) {
  Text t(text);
  const auto code = codegen::Jit::create({}).value()->llvm_ir(t.ctx, t.f, "kernel", false).value();
  return code.find(codegen::kPiecesHelper) != std::string::npos;
}

// About the loop `i` of a kernel and the memory `R`: whether each iteration reads only what it has written.
bool written_first(const std::string& body) {
  Text t(R"(
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((64, 96), "float32"), B: T.Buffer((64, 96), "float32")):
    with T.sblock("root"):
        T.reads()
        T.writes()
        R = T.sblock_alloc_buffer((8, 12), "float32")
        for i in range(64):
)" + body);
  const ir::ForStmt* loop = nullptr;
  const ir::Buffer* buffer = nullptr;
  ir::walk(t.f->body, [&](const ir::Node* n) {
    if (const auto* l = ir::as<ir::ForStmt>(n); l && !loop) loop = l;
    if (const auto* b = ir::as<ir::SBlock>(n); b && !b->alloc_buffers.empty()) buffer = b->alloc_buffers[0];
    return true;
  });
  REQUIRE(loop);
  REQUIRE(buffer);
  return schedule::writes_before_reads(loop, buffer);
}

void same_on_threads(const std::string& text, const Case& c) {
  for (const std::size_t threads : {1, 2, 7}) {
    const Threads chosen(threads);
    CAPTURE(threads);
    CHECK(both(text, c) == "");
  }
}

}  // namespace

TEST_CASE("threads: a product, softmax and a chain of functions, large enough for pieces") {
  Case product;
  product.tolerance = {1e-5, 1e-5, true};
  const auto product_of = [](const std::string& columns) {
    return fmt::format(R"(
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((50, 40), "float32"), B: T.Buffer((40, {0}), "float32"), C: T.Buffer((50, {0}), "float32")):
    T.func_attr({{"tirx.noalias": True}})
    for i, j, k in T.grid(50, {0}, 40):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)",
                       columns);
  };
  for (const char* columns : {"1056", "1040"}) {
    CHECK(has_pieces(product_of(columns)));
    same_on_threads(product_of(columns), product);
  }
  Case sized;
  sized.symbols = {{"n", 60000}, {"m", 20}};
  const std::string chain = R"(
from tvm.script import tirx as T
@T.prim_func
def kernel(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    T.func_attr({"tirx.noalias": True})
    n = T.int64()
    for i in range(n):
        C[i] = T.exp(A[i]) + B[i]
)";
  CHECK(has_pieces(chain));
  same_on_threads(chain, sized);
  const std::string rows = R"(
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def kernel(a: T.handle, b: T.handle):
    T.func_attr({"tirx.noalias": True})
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    S = T.sblock_alloc_buffer((n,), "float32")
    for i, k in T.grid(n, m):
        with T.sblock("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.exp(A[vi, vk])
    for i, j in T.grid(n, m):
        with T.sblock("norm"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj]) / S[vi]
)";
  CHECK(has_pieces(rows));
  same_on_threads(rows, sized);
}

TEST_CASE("threads: memory whose elements are written before they are read in each iteration") {
  const std::string fill = R"(
            for j, k, l in T.grid(8, 3, 4):
                R[j, k * 4 + l] = A[i, j * 12 + k * 4 + l]
)";
  CHECK(written_first(fill + "            for j, k in T.grid(8, 12):\n                B[i, j * 12 + k] = R[j, k]\n"));
  CHECK(written_first(
      fill + "            for j, k in T.grid(6, 5):\n                B[i, j * 2 + k] = R[j + 2, k * 2 + 1]\n"));
  CHECK(!written_first(fill + "            for j, k in T.grid(8, 12):\n                B[i, j] = R[j + 1, k]\n"));
  CHECK(!written_first("            for j in range(8):\n                B[i, j] = R[j, 0]\n" + fill));
  // Rows that depend on an outer loop, and a remainder.
  const std::string rows = R"(
            for o in range(3):
                for j, k in T.grid(T.min(4, 10 - o * 4), 12):
                    R[j, k] = A[o * 4 + j, k]
                for j, k in T.grid(EXTENT, 12):
                    B[o * 4 + j, k] = R[j, k]
)";
  const auto with = [&](const std::string& extent) {
    std::string text = rows;
    return text.replace(text.find("EXTENT"), 6, extent);
  };
  CHECK(written_first(with("T.min(4, 10 - o * 4)")));
  CHECK(!written_first(with("T.min(4, 11 - o * 4)")));
  CHECK(!written_first(with("4")));
  // Whole pieces of an unknown length, then the rest of it.
  const std::string pieces = R"(
            for o in range(3):
                for j, k in T.grid(T.min(12, 96 - i * o) // 4, 4):
                    R[0, j * 4 + k] = A[o, j * 4 + k]
                for j in range(T.min(12, 96 - i * o) % 4):
                    R[0, START + j] = A[o, j]
                for k in range(EXTENT):
                    B[o, k] = R[0, k]
)";
  const auto joined = [&](const std::string& start, const std::string& extent) {
    std::string text = pieces;
    text.replace(text.find("START"), 5, start);
    return text.replace(text.find("EXTENT"), 6, extent);
  };
  CHECK(written_first(joined("T.min(12, 96 - i * o) // 4 * 4", "T.min(12, 96 - i * o)")));
  CHECK(!written_first(joined("T.min(12, 96 - i * o) // 4 * 4", "T.min(12, 97 - i * o)")));
  CHECK(!written_first(joined("T.min(12, 96 - i * o) // 4 * 3", "T.min(12, 96 - i * o)")));
  CHECK(!written_first(joined("T.min(12, 95 - i * o) // 4 * 4", "T.min(12, 96 - i * o)")));
  // A few of known ones.
  CHECK(written_first(fill + "            for j, k in T.grid(8, T.min(i, 12)):\n                B[i, k] = R[j, k]\n"));
  CHECK(!written_first(fill + "            for j, k in T.grid(8, T.min(i, 13)):\n                B[i, k] = R[j, k]\n"));
  const std::string corner =
      "            for j in range(8):\n                for k in range(T.min(i - j, {})):\n"
      "                    B[i, k] = R[j, k]\n";
  CHECK(written_first(fill + fmt::format(fmt::runtime(corner), 12)));
  CHECK(!written_first(fill + fmt::format(fmt::runtime(corner), 13)));
  // Quotients that move with a loop, also under the name of an axis.
  CHECK(!written_first(R"(
            for j in range(12):
                R[0, j // 2] = A[i, j]
            for j in range(12):
                B[i, j] = R[0, j // 2 + 1]
)"));
  CHECK(!written_first(R"(
            for j in range(12):
                with T.sblock("halves"):
                    v = T.axis.spatial(12, j)
                    R[0, v // 2] = A[i, v]
                    B[i, v] = R[0, v // 2 + 1]
)"));
  // One of two branches, or both.
  const std::string branch = R"(
            if i < 3:
                for j, k in T.grid(8, 12):
                    R[j, k] = T.float32(0)
            else:
                for j, k in T.grid(OTHER, 12):
                    R[j, k] = A[i, j]
            for j, k in T.grid(8, 12):
                R[j, k] = R[j, k] + A[i, k]
            B[i, 0] = R[7, 11]
)";
  const auto other = [&](const std::string& extent) {
    std::string text = branch;
    return text.replace(text.find("OTHER"), 5, extent);
  };
  CHECK(written_first(other("8")));
  CHECK(!written_first(other("7")));
  // Two parts, side by side and with a gap.
  const auto parts = [&](const std::string& second) {
    return written_first(
        "            for j in range(8):\n                for k in range(7):\n                    R[j, k] = A[i, k]\n"
        "                for k in range(5):\n                    R[j, " +
        second + " + k] = A[i, k]\n            for j, k in T.grid(8, 12):\n                B[i, k] = R[j, k]\n");
  };
  CHECK(parts("7"));
  CHECK(!parts("8"));
  // Parts that overlap, single elements at both ends, other parts in the other branch.
  CHECK(parts("6 + 1"));
  const auto ends = [&](const std::string& last, const std::string& other) {
    return written_first(
        "            for j in range(8):\n                if j < 3:\n"
        "                    R[j, 0] = A[i, j]\n"
        "                    for k in range(10):\n                        R[j, 1 + k] = A[i, k]\n"
        "                    R[j, " +
        last +
        "] = A[i, j]\n                else:\n"
        "                    for k in range(8):\n                        R[j, k] = A[i, k]\n"
        "                    for k in range(8):\n                        R[j, " +
        other + " + k] = A[i, k]\n            for j, k in T.grid(8, 12):\n                B[i, k] = R[j, k]\n");
  };
  CHECK(ends("11", "4"));
  CHECK(!ends("10", "4"));
  CHECK(!ends("11", "3"));
  // The last of several vectors begins earlier.
  const auto last = [&](const std::string& most) {
    return written_first(fill +
                         "            for j, k, l in T.grid(8, 3, 5):\n                B[i, j] = R[j, T.min(k * 5, " +
                         most + ") + l]\n");
  };
  CHECK(last("7"));
  CHECK(!last("8"));
  // A diagonal, steps that leave gaps, a loop that may not run, and a write under a condition.
  const std::string read = "            for j in range(8):\n                B[i, j] = R[j, j]\n";
  CHECK(!written_first("            for j in range(8):\n                R[j, j] = A[i, j]\n" + read));
  CHECK(!written_first("            for j, k in T.grid(8, 6):\n                R[j, k * 2] = A[i, j]\n" + read));
  CHECK(!written_first("            for j, k, l in T.grid(8, 12, i):\n                R[j, k] = A[i, j]\n" + read));
  CHECK(written_first("            for j, k, l in T.grid(8, 12, 2):\n                R[j, k] = A[i, j]\n" + read));
  CHECK(
      !written_first("            for j, k in T.grid(8, 12):\n                if A[i, j] > T.float32(0):\n"
                     "                    R[j, k] = A[i, j]\n" +
                     read));
}

TEST_CASE("threads: memory that only the loop uses is each piece's own") {
  same_on_threads(R"(
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((64, 4000), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"tirx.noalias": True, "tirx.is_scheduled": True})
    with T.sblock("root"):
        T.reads()
        T.writes()
        R = T.sblock_alloc_buffer((4000,), "float32")
        for i in T.parallel(64, annotations={"pragma_parallel_grain": 1}):
            for j in range(4000):
                R[j] = A[i, j] * T.float32(2)
            B[i] = R[0]
            for j in range(3999):
                B[i] = T.max(B[i], R[j + 1])
)",
                  {});
}

TEST_CASE("threads: a pool and its padding, whatever the number of rows and columns") {
  const auto pool = [](int size, int window, int stride) {
    return fmt::format(R"(
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((16, {0}, {0}), "float32"), B: T.Buffer((16, {2}, {2}), "float32")):
    T.func_attr({{"tirx.noalias": True}})
    P = T.sblock_alloc_buffer((16, {1}, {1}))
    for c, i, j in T.grid(16, {1}, {1}):
        with T.sblock("pad"):
            vc, vi, vj = T.axis.remap("SSS", [c, i, j])
            P[vc, vi, vj] = T.if_then_else(1 <= vi and vi < {0} + 1 and 1 <= vj and vj < {0} + 1, A[vc, vi - 1, vj - 1], T.float32(-3e38))
    for c, i, j, k, l in T.grid(16, {2}, {2}, {3}, {3}):
        with T.sblock("pool"):
            vc, vi, vj, vk, vl = T.axis.remap("SSSRR", [c, i, j, k, l])
            with T.init():
                B[vc, vi, vj] = T.float32(-3e38)
            B[vc, vi, vj] = T.max(B[vc, vi, vj], P[vc, vi * {4} + vk, vj * {4} + vl])
)",
                       size, size + 2, (size + 2 - window) / stride + 1, window, stride);
  };
  for (const int size : {112, 113, 131})
    for (const int window : {2, 3})
      for (const int stride : {1, 2}) {
        CAPTURE(size);
        CAPTURE(window);
        CAPTURE(stride);
        CHECK(has_pieces(pool(size, window, stride)));
        same_on_threads(pool(size, window, stride), {});
      }
}

TEST_CASE("threads: of several faults, the first in the order of the loop") {
  for (const int first : {0, 5, 40}) {
    const std::string text = gather_from(first);
    std::string alone;
    for (const std::size_t threads : {1, 2, 7})
      for (int again = 0; again < 20; ++again) {
        const Threads chosen(threads);
        const std::string error = jit_error(text);
        REQUIRE(error != "");
        if (alone.empty()) alone = error;
        CHECK(error == alone);
      }
    CHECK(alone.find("is " + std::to_string(first + 64)) != std::string::npos);
  }
}
