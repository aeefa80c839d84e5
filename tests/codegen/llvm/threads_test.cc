// Parallel loops in pieces: the same bits at any number of threads, memory of their own, the first fault of several.
#include "rldb/runtime/threads.h"

#include <doctest/doctest.h>

#include "codegen/llvm/both_engines.h"

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
  same_on_threads(R"(
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((50, 40), "float32"), B: T.Buffer((40, 1040), "float32"), C: T.Buffer((50, 1040), "float32")):
    T.func_attr({"tirx.noalias": True})
    for i, j, k in T.grid(50, 1040, 40):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)",
                  product);
  Case sized;
  sized.symbols = {{"n", 300}, {"m", 1000}};
  same_on_threads(elementwise("T.exp(A[i]) + B[i]", "float32", "float32", "float32"), sized);
  same_on_threads(R"(
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
)",
                  sized);
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
