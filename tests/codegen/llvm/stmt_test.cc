// Statements, blocks and buffers, JIT against evaluator.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/llvm/both_engines.h"

using namespace rldb::codegen::testing;
using rldb::codegen::FpMode;

namespace {

Case with(std::map<std::string, std::int64_t> symbols) {
  Case c;
  c.symbols = std::move(symbols);
  return c;
}
// Reductions fuse multiply and add.
Case close(std::map<std::string, std::int64_t> symbols, double tolerance = 1e-5) {
  Case c = with(std::move(symbols));
  c.tolerance = {tolerance, tolerance, true};
  return c;
}

}  // namespace

TEST_CASE("loops of every kind") {
  for (const char* kind : {"range", "T.serial", "T.parallel", "T.vectorized", "T.unroll"}) {
    CAPTURE(kind);
    CHECK(both(fmt::format(R"(
@T.prim_func
def kernel(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in {}(16):
        B[i] = A[i] * T.float32(2)
)",
                           kind)) == "");
  }
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((20,), "int32"), n: T.int32):
    for i in range(3, n):
        A[i] = i * 2
)",
             with({{"n", 11}})) == "");
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((20,), "int32"), n: T.int32):
    for i in range(n):
        A[i] = A[i] + i
)",
             with({{"n", 0}})) == "");
}

TEST_CASE("a loop with a step, break and continue") {
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((20,), "int32")):
    for i in T.serial(0, 20, step=3):
        A[i] = i
)") == "");
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((20,), "int32")):
    for i in range(20):
        if i == 3:
            continue
        if i > 11:
            break
        A[i] = 100 + i
)") == "");
}

TEST_CASE("threads of a GPU are loops as long as none waits for another") {
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((16,), "int32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(4, thread="threadIdx.x"):
            A[bx * 4 + tx] = bx - tx
)") == "");
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((8,), "int32")):
    for ty in T.thread_binding(2, thread="threadIdx.y"):
        tx = T.launch_thread("threadIdx.x", 4)
        A[ty * 4 + tx] = ty - tx
)") == "");
}

TEST_CASE("threads that meet at barriers are loops from barrier to barrier") {
  // Memory of a block and of a thread, bindings, and loops and tests around barriers.
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((2, 8), "float32"), B: T.Buffer((2, 8), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    S = T.alloc_buffer((8,), "float32", scope="shared")
    L = T.alloc_buffer((2,), "float32", scope="local")
    tx = T.launch_thread("threadIdx.x", 8)
    mine: T.let[T.float32] = A[bx, tx] * T.float32(3)
    S[tx] = A[bx, tx]
    L[0] = T.float32(0)
    L[1] = mine
    for k in range(3):
        T.evaluate(T.tvm_storage_sync("shared"))
        L[0] = L[0] + S[(tx + 1) % 8]
        T.evaluate(T.tvm_storage_sync("shared"))
        if k < 2:
            S[tx] = L[0]
            T.evaluate(T.tvm_storage_sync("shared"))
            L[1] = L[1] + S[7 - tx]
    B[bx, tx] = L[0] + L[1] + mine
)") == "");
  // A reduction as a tree, threads in two dimensions, and a block around the barrier.
  CHECK(both(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4,), "float32")):
    for ty in T.thread_binding(4, thread="threadIdx.y"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            with T.sblock("all"):
                vy, vx = T.axis.remap("SS", [ty, tx])
                T.reads(A[vy, vx])
                T.writes(B[vy])
                S = T.sblock_alloc_buffer((4, 16), scope="shared")
                S[vy, vx] = A[vy, vx]
                T.evaluate(T.tvm_storage_sync("shared"))
                for step in range(4):
                    if vx < T.shift_right(8, step):
                        S[vy, vx] = S[vy, vx] + S[vy, vx + T.shift_right(8, step)]
                    T.evaluate(T.tvm_storage_sync("shared"))
                if vx == 0:
                    B[vy] = S[vy, 0]
)") == "");
  // Memory accessed through a bare pointer.
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        p = T.allocate([4], "int32", "local")
        P = T.decl_buffer((2, 2), "int32", data=p, scope="local")
        q = T.allocate([8], "int32", "shared")
        Q = T.decl_buffer((8,), "int32", data=q, scope="shared")
        for i, j in T.grid(2, 2):
            P[i, j] = A[tx] + i * 2 + j
        Q[7 - tx] = A[tx]
        T.evaluate(T.tvm_storage_sync("shared"))
        B[tx] = P[1, 0] * Q[tx] + P[0, 1]
)") == "");
}

TEST_CASE("a product in tiles of shared memory, one tile after the other") {
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((8, 12), "float32"), B: T.Buffer((12, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    by = T.launch_thread("blockIdx.y", 2)
    bx = T.launch_thread("blockIdx.x", 2)
    As = T.alloc_buffer((4, 4), "float32", scope="shared")
    Bs = T.alloc_buffer((4, 4), "float32", scope="shared")
    acc = T.alloc_buffer((1,), "float32", scope="local")
    ty = T.launch_thread("threadIdx.y", 4)
    tx = T.launch_thread("threadIdx.x", 4)
    acc[0] = T.float32(0)
    for ko in range(3):
        first: T.let[T.int32] = ko * 4
        T.evaluate(T.tvm_storage_sync("shared"))
        As[ty, tx] = A[by * 4 + ty, first + tx]
        Bs[ty, tx] = B[first + ty, bx * 4 + tx]
        T.evaluate(T.tvm_storage_sync("shared"))
        for ki in range(4):
            acc[0] = acc[0] + As[ty, ki] * Bs[ki, tx]
    C[by * 4 + ty, bx * 4 + tx] = acc[0]
)") == "");
  // The operands of a condition are read once, before the threads continue.
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        S = T.alloc_buffer((1,), "int32", scope="shared")
        if tx == 0:
            S[0] = 3
        T.evaluate(T.tvm_storage_sync("shared"))
        seen: T.let[T.int32] = S[0]
        T.evaluate(T.tvm_storage_sync("shared"))
        if tx == 0:
            S[0] = 0
        T.evaluate(T.tvm_storage_sync("shared"))
        while S[0] < seen:
            T.evaluate(T.tvm_storage_sync("shared"))
            if tx == 3:
                S[0] = S[0] + 1
            T.evaluate(T.tvm_storage_sync("shared"))
            A[tx] = A[tx] + S[0]
        B[tx] = seen + S[0]
)") == "");
}

TEST_CASE("barriers that not all threads come to together are refused, with the reason") {
  const auto refused = [](const std::string& body) {
    return jit_error(
        "@T.prim_func\ndef kernel(A: T.Buffer((16,), \"float32\")):\n    for tx in T.thread_binding(16, "
        "thread=\"threadIdx.x\"):\n" +
        body);
  };
  CHECK(refused("        if tx < 4:\n            T.evaluate(T.tvm_storage_sync(\"shared\"))\n"
                "        A[tx] = T.float32(1)\n")
            .find("the condition `tx < T.int32(4)`, below which threads meet, may differ between them") !=
        std::string::npos);
  CHECK(refused("        for k in range(tx):\n            T.evaluate(T.tvm_storage_sync(\"shared\"))\n")
            .find("the bound `tx`") != std::string::npos);
  CHECK(refused("        L = T.alloc_buffer((1,), \"int32\", scope=\"local\")\n        L[0] = 0\n"
                "        while L[0] < 3:\n            L[0] = L[0] + 1\n"
                "            T.evaluate(T.tvm_storage_sync(\"shared\"))\n")
            .find("may differ between them") != std::string::npos);
  CHECK(refused("        for k in range(4):\n            if A[0] > T.float32(1):\n                T.break_loop()\n"
                "            T.evaluate(T.tvm_storage_sync(\"shared\"))\n")
            .find("a thread may leave loop `k`") != std::string::npos);
  CHECK(refused("        A[tx] = T.tvm_warp_shuffle(T.uint32(1), A[tx], 0, 32, 32)\n")
            .find("its threads exchange values by `T.tvm_warp_shuffle`") != std::string::npos);
  CHECK(refused("        T.evaluate(T.tvm_storage_sync(\"global\"))\n").find("its blocks wait for each other") !=
        std::string::npos);
  // A loop around the threads is left by the thread that fails, not by later ones.
  CHECK(jit_error(R"(
@T.prim_func
def kernel(A: T.Buffer((4,), "int32")):
    for r in range(3):
        for tx in T.thread_binding(4, thread="threadIdx.x"):
            A[tx] = A[tx] + r
            if r == 2:
                T.break_loop()
            T.evaluate(T.tvm_storage_sync("shared"))
)")
            .find("a thread may leave a loop around those that it meets") != std::string::npos);
  // Memory of a thread that is allocated before the threads start, and declared for all: sharing one would be wrong.
  CHECK(jit_error(R"(
@T.prim_func
def kernel(A: T.Buffer((4,), "int32")):
    p = T.allocate([1], "int32", "local")
    L = T.decl_buffer((1,), "int32", data=p, scope="local")
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        L[0] = A[tx]
        T.evaluate(T.tvm_storage_sync("shared"))
        A[tx] = L[0]
)")
            .find("`L`, which each thread has, is allocated before the threads begin") != std::string::npos);
}

TEST_CASE("if, while, let, assert") {
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    while B[0] < 16:
        if B[0] % 2 == 0:
            A[B[0]] = B[0]
        else:
            A[B[0]] = A[B[0]] - 1
        B[0] = B[0] + 1
)") == "");
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        x: T.let[T.float32] = A[i] + T.float32(1)
        B[i] = x * x
)") == "");
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer(("n",), "float32")):
    n = T.int64()
    assert n == 4, "four please"
    A[0] = T.float32(1)
)",
             with({{"n", 5}})) == "");
  CHECK(jit_error(R"(
@T.prim_func
def kernel(A: T.Buffer(("n",), "float32")):
    n = T.int64()
    assert n == 4, "four please"
    A[0] = T.float32(1)
)",
                  with({{"n", 5}}))
            .find("four please") != std::string::npos);
}

TEST_CASE("blocks with axes, a predicate and init") {
  CHECK(both(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((10, 7), "float32"), B: T.Buffer((10,), "float32")):
    for io, ii, k in T.grid(3, 4, 7):
        with T.sblock("sum"):
            vi = T.axis.spatial(10, io * 4 + ii)
            vk = T.axis.reduce(7, k)
            T.where(io * 4 + ii < 10)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
)") == "");
}

TEST_CASE("reductions in each order of their loops") {
  for (const char* order : {"i, j, k", "i, k, j", "k, i, j", "j, k, i"}) {
    CAPTURE(order);
    CHECK(both(fmt::format(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((5, 6, 7), "float32"), B: T.Buffer((5, 6), "float32")):
    T.func_attr({{"tirx.noalias": True}})
    for {0} in T.grid({1}):
        with T.sblock("max"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = T.float32(-100)
            B[vi, vj] = T.max(B[vi, vj], A[vi, vj, vk])
)",
                           order, [&] {
                             std::string out;
                             for (const char* p = order; *p; ++p)
                               if (*p >= 'i' && *p <= 'k')
                                 out += fmt::format("{}{}", out.empty() ? "" : ", ", 5 + (*p - 'i'));
                             return out;
                           }())) == "");
  }
}

TEST_CASE("reductions that leave rows and columns, of any size, in the order of the text") {
  const char* text = R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer(("m", "n"), "float32"), R: T.Buffer(("m",), "float32"), C: T.Buffer(("n",), "float32")):
    T.func_attr({"tirx.noalias": True})
    m = T.int64()
    n = T.int64()
    for i, k in T.grid(m, n):
        with T.sblock("rows"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                R[vi] = T.float32(0)
            R[vi] = R[vi] + A[vi, vk]
    for j, k in T.grid(n, m):
        with T.sblock("columns"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + A[vk, vj]
)";
  for (const auto& [m, n] : {std::pair{1, 1}, {3, 200}, {200, 3}, {37, 41}, {64, 64}, {129, 67}, {0, 5}, {5, 0}}) {
    CAPTURE(m);
    CAPTURE(n);
    CHECK(both(text, with({{"m", m}, {"n", n}})) == "");
  }
}

namespace {

std::string matmul(const std::string& a, const std::string& b, const std::string& a_shape, const std::string& b_shape,
                   const std::string& t = "float32", const std::string& in = "") {
  const std::string cast = in.empty() ? "" : "T.Cast(\"" + t + "\", ";
  const std::string end = in.empty() ? "" : ")";
  return fmt::format(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer({2}, "{5}"), B: T.Buffer({3}, "{5}"), C: T.Buffer(("m", "n"), "{4}"), kk: T.int64, m: T.int64, n: T.int64):
    T.func_attr({{"tirx.noalias": True}})
    for i, j, k in T.grid(m, n, kk):
        with T.sblock("mm"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{4}(0)
            C[vi, vj] = C[vi, vj] + {6}{0}{7} * {6}{1}{7}
)",
                     a, b, a_shape, b_shape, t, in.empty() ? t : in, cast, end);
}

}  // namespace

TEST_CASE("matrix products, plain and transposed, of sizes around the tiles") {
  for (const auto& [m, n, k] :
       {std::tuple{1, 1, 1}, {2, 100, 33}, {12, 32, 16}, {13, 33, 300}, {31, 65, 257}, {50, 70, 90}, {5, 5, 0}}) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const Case c = close({{"m", m}, {"n", n}, {"kk", k}}, 1e-4);
    CHECK(both(matmul("A[vi, vk]", "B[vk, vj]", "(\"m\", \"kk\")", "(\"kk\", \"n\")"), c) == "");
    CHECK(both(matmul("A[vi, vk]", "B[vj, vk]", "(\"m\", \"kk\")", "(\"n\", \"kk\")"), c) == "");
    CHECK(both(matmul("A[vk, vi]", "B[vj, vk]", "(\"kk\", \"m\")", "(\"n\", \"kk\")"), c) == "");
  }
  const Case c = close({{"m", 30}, {"n", 70}, {"kk", 40}}, 1e-4);
  CHECK(both(matmul("A[vi, vk]", "B[vk, vj]", "(\"m\", \"kk\")", "(\"kk\", \"n\")", "float64"), c) == "");
  CHECK(both(matmul("A[vi, vk]", "B[vj, vk]", "(\"m\", \"kk\")", "(\"n\", \"kk\")", "float32", "float16"), c) == "");
  CHECK(both(matmul("A[vi, vk]", "B[vk, vj]", "(\"m\", \"kk\")", "(\"kk\", \"n\")", "float32", "bfloat16"), c) == "");
  CHECK(both(matmul("A[vi, vk]", "B[vk, vj]", "(\"m\", \"kk\")", "(\"kk\", \"n\")", "float16"),
             with({{"m", 5}, {"n", 70}, {"kk", 9}})) == "");
  CHECK(both(matmul("A[vi, vk]", "B[vk, vj]", "(\"m\", \"kk\")", "(\"kk\", \"n\")", "int32"),
             with({{"m", 5}, {"n", 70}, {"kk", 9}})) == "");
}

TEST_CASE("a scheduled product is the unscheduled one bit for bit") {
  Text t(matmul("A[vi, vk]", "B[vk, vj]", "(\"m\", \"kk\")", "(\"kk\", \"n\")"));
  REQUIRE_MESSAGE(t.f, t.problem);
  Case c;
  c.symbols = {{"m", 61}, {"n", 77}, {"kk", 600}};
  std::vector<rldb::runtime::Value> results;
  for (const bool schedule : {true, false}) {
    rldb::codegen::JitOptions options;
    options.schedule = schedule;
    auto jit = rldb::codegen::Jit::create(options).value();
    auto kernel = jit->add(t.ctx, t.f, "kernel").value();
    auto args = make_arguments(kernel->signature(), c);
    REQUIRE(rldb::runtime::call_kernel(*kernel, args).ok());
    results.push_back(args[2]);
  }
  CHECK(rldb::runtime::compare(results[0], results[1], {0, 0, true}) == "");
}

TEST_CASE("batched products and convolutions") {
  CHECK(both(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((3, 20, 17), "float32"), B: T.Buffer((3, 17, 40), "float32"), C: T.Buffer((3, 20, 40), "float32")):
    T.func_attr({"tirx.noalias": True})
    for b, i, j, k in T.grid(3, 20, 40, 17):
        with T.sblock("mm"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vk, vj]
)",
             close({}, 1e-4)) == "");
  CHECK(both(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((1, 3, 20, 40), "float32"), W: T.Buffer((4, 3, 3, 3), "float32"), C: T.Buffer((1, 4, 20, 40), "float32")):
    T.func_attr({"tirx.noalias": True})
    with T.sblock("root"):
        P = T.sblock_alloc_buffer((1, 3, 22, 42))
        for n, c, h, w in T.grid(1, 3, 22, 42):
            with T.sblock("pad"):
                vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
                P[vn, vc, vh, vw] = T.if_then_else(1 <= vh and vh < 21 and 1 <= vw and vw < 41, A[vn, vc, vh - 1, vw - 1], T.float32(0))
        for n, o, h, w, c, y, x in T.grid(1, 4, 20, 40, 3, 3, 3):
            with T.sblock("conv"):
                vn, vo, vh, vw, vc, vy, vx = T.axis.remap("SSSSRRR", [n, o, h, w, c, y, x])
                with T.init():
                    C[vn, vo, vh, vw] = T.float32(0)
                C[vn, vo, vh, vw] = C[vn, vo, vh, vw] + P[vn, vc, vh + vy, vw + vx] * W[vo, vc, vy, vx]
)",
             close({}, 1e-4)) == "");
  // Pooling reads under a condition that moves with the vector.
  CHECK(both(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((4, 50), "float32"), C: T.Buffer((4, 50), "float32")):
    T.func_attr({"tirx.noalias": True})
    for h, w, x in T.grid(4, 50, 3):
        with T.sblock("pool"):
            vh, vw, vx = T.axis.remap("SSR", [h, w, x])
            with T.init():
                C[vh, vw] = T.float32(-100)
            C[vh, vw] = T.max(C[vh, vw], T.if_then_else(1 <= vw + vx and vw + vx < 51, A[vh, vw + vx - 1], T.float32(-100)))
)") == "");
}

TEST_CASE("elementwise nests of odd inner sizes") {
  for (const char* shape : {"5, 3", "1, 1", "7, 1", "2, 300"}) {
    CAPTURE(shape);
    CHECK(both(fmt::format(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer(({0}), "float32"), s: T.Buffer((), "float32"), B: T.Buffer(({0}), "float32")):
    T.func_attr({{"tirx.noalias": True}})
    for i, j in T.grid({0}):
        with T.sblock("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * s[()] + A[vi, vj]
)",
                           shape)) == "");
  }
  CHECK(both(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((9, 5), "float32"), b: T.Buffer((5,), "float32"), B: T.Buffer((5, 9), "float32")):
    T.func_attr({"tirx.noalias": True})
    for i, j in T.grid(5, 9):
        with T.sblock("t"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] + b[vi]
)") == "");
}

TEST_CASE("allocations: in blocks, flat, small and large, of symbolic size") {
  CHECK(both(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    n = T.int64()
    with T.sblock("root"):
        X = T.sblock_alloc_buffer((n,), "float32")
        Y = T.sblock_alloc_buffer((4,), "float32")
        for i in range(n):
            with T.sblock("x"):
                vi = T.axis.spatial(n, i)
                X[vi] = A[vi] + T.float32(1)
        for i in range(4):
            with T.sblock("y"):
                vi = T.axis.spatial(4, i)
                Y[vi] = X[vi]
        for i in range(n):
            with T.sblock("b"):
                vi = T.axis.spatial(n, i)
                B[vi] = X[vi] * Y[vi % T.int64(4)]
)",
             with({{"n", 5000}})) == "");
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    X = T.alloc_buffer((8,), "float32", scope="local")
    for i in range(8):
        for j in range(8):
            X[j] = A[i * 8 + j]
        for j in range(8):
            B[i * 8 + j] = X[7 - j]
)") == "");
}

TEST_CASE("match_buffer inside a block, with symbolic strides") {
  CHECK(both(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(4, 4):
        with T.sblock("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
            T.writes(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
            s0 = T.int32()
            s1 = T.int32()
            At = T.match_buffer(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), "float32", strides=[s0, s1], offset_factor=1)
            Bt = T.match_buffer(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), "float32", offset_factor=1)
            for x, y in T.grid(4, 4):
                Bt[x, y] = At[y, x] * T.float32(2)
)") == "");
}

TEST_CASE("vectors: ramps, broadcasts, predicates") {
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
        B[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)] + T.Broadcast(T.float32(1), 4)
)") == "");
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    B[T.Ramp(0, 2, 8)] = A[T.Ramp(15, -1, 8)]
)") == "");
}

TEST_CASE("scalar parameters of each kind") {
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer((16,), "float32"), x: T.float32, n: T.int64, b: T.bool):
    for i in range(16):
        A[i] = T.if_then_else(b, A[i] * x, T.Cast("float32", n))
)",
             with({{"n", 3}, {"b", 1}})) == "");
}

TEST_CASE("symbolic dimensions that are expressions") {
  CHECK(both(R"(
@T.prim_func
def kernel(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n * m",), "float32")):
    n = T.int64()
    m = T.int64()
    for i in range(n * m):
        B[i] = A[i // m, i % m]
)",
             with({{"n", 5}, {"m", 9}})) == "");
}

TEST_CASE("fast mode is close") {
  Case c = close({{"m", 30}, {"n", 700}}, 1e-3);
  c.jit.fp = FpMode::Fast;
  CHECK(both(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer(("m", "n"), "float32"), R: T.Buffer(("m",), "float32")):
    m = T.int64()
    n = T.int64()
    for i, k in T.grid(m, n):
        with T.sblock("rows"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                R[vi] = T.float32(0)
            R[vi] = R[vi] + A[vi, vk]
)",
             c) == "");
}

TEST_CASE("every optimisation level") {
  for (const int level : {0, 1, 2, 3}) {
    Case c = with({{"n", 50}});
    c.jit.opt_level = level;
    CHECK(both(elementwise("T.exp(A[i]) + B[i]", "float32", "float32", "float32"), c) == "");
  }
}

TEST_CASE("an index that is loaded itself, also where outputs may be streamed") {
  CHECK(both(R"(
@T.prim_func(s_tir=True)
def kernel(I: T.Buffer(("n", 3), "int32"), A: T.Buffer((8,), "float32"), C: T.Buffer(("n", 3), "float32")):
    T.func_attr({"tirx.noalias": True})
    n = T.int64()
    for i, j in T.grid(n, 3):
        with T.sblock("take"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[T.floormod(I[vi, vj], 8)]
)",
             with({{"n", 50}})) == "");
}

TEST_CASE("a nest around a loop of no iterations does nothing, however many there are around it") {
  const std::string text = R"(
@T.prim_func
def kernel(A: T.Buffer((4294967296, 4294967296, "n"), "float32"), B: T.Buffer((1,), "float32")):
    n = T.int64()
    for i, j in T.grid(T.int64(4294967296), T.int64(4294967296)):
        for k in range({}):
            A[i, j, k] = T.float32(0)
    B[0] = T.float32(1)
)";
  Case c;
  c.symbols["n"] = 0;
  CHECK(both(fmt::format(fmt::runtime(text), "n"), c) == "");
  CHECK(both(fmt::format(fmt::runtime(text), "0"), c) == "");
}
