#include <doctest/doctest.h>

#include "frontend_helper.h"
#include "rldb/ir/scalar.h"

using namespace rldb;
using frontend::testing::Reading;
using frontend::testing::round_trip;

TEST_CASE("the root block is made when a function holds blocks, and only then") {
  Reading r(R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def blocks(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                A[vi] = T.float32(0)
    @T.prim_func(s_tir=True)
    def plain(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.float32(0)
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const auto* root = ir::as<ir::SBlockRealize>(r.prim_func("blocks")->body);
  REQUIRE(root);
  CHECK(root->block->name == "root");
  CHECK(ir::isa<ir::ForStmt>(r.prim_func("plain")->body));
}

TEST_CASE("reads and writes are inferred when the text does not give them") {
  Reading r(R"(
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 8):
        with T.sblock("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const auto* root = ir::as<ir::SBlockRealize>(r.prim_func("f")->body);
  REQUIRE(root);
  const auto* inner = ir::as<ir::ForStmt>(ir::as<ir::ForStmt>(root->block->body)->body);
  const ir::SBlock* b = ir::as<ir::SBlockRealize>(inner->body)->block;
  REQUIRE(b->reads.size() == 1);  // not B: the block initialises it
  CHECK(b->reads[0].buffer->name == "A");
  REQUIRE(b->writes.size() == 1);
  CHECK(ir::print_region(b->writes[0]) == "B[vi]");
}

TEST_CASE("regions are relaxed over loops inside the block") {
  Reading r(R"(
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            for j in range(4):
                B[vi] = B[vi] + A[vi * 4 + j]
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const auto* root = ir::as<ir::SBlockRealize>(r.prim_func("f")->body);
  const ir::SBlock* b = ir::as<ir::SBlockRealize>(ir::as<ir::ForStmt>(root->block->body)->body)->block;
  REQUIRE(b->reads.size() == 2);
  const ir::Range a = b->reads[1].region[0];
  CHECK(ir::print_expr(a.min) == "vi * T.int32(4)");
  CHECK(ir::is_const(a.extent, 4));
}

TEST_CASE("int32 by default, int64 where the text says so") {
  Reading r(R"(
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((T.int64(4),), "float32")):
    for i in range(4):
        A[i] = T.float32(0)
    for j in range(T.int64(4)):
        B[j] = T.float32(0)
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const auto* seq = ir::as<ir::SeqStmt>(r.prim_func("f")->body);
  REQUIRE(seq);
  CHECK(ir::as<ir::ForStmt>(seq->stmts[0])->var->dtype() == ir::DType::Int(32));
  CHECK(ir::as<ir::ForStmt>(seq->stmts[1])->var->dtype() == ir::DType::Int(64));
}

TEST_CASE("statements whose scope is the rest of the block") {
  Reading r(R"(
@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    i = T.launch_thread("threadIdx.x", 16)
    x = T.bind(i + 1)
    A[i] = T.Cast("float32", x)
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const auto* a = ir::as<ir::AttrStmt>(r.prim_func("f")->body);
  REQUIRE(a);
  CHECK(a->key == "thread_extent");
  REQUIRE(a->thread_var);
  const auto* body = ir::as<ir::SeqStmt>(a->body);
  REQUIRE(body);
  CHECK(body->stmts.size() == 2);
}

TEST_CASE("TensorIR programs come back the same") {
  const char* const programs[] = {
      R"(
@T.prim_func(s_tir=True)
def f(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (n, 4), "float32")
    for i, j in T.grid(n, 4):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i * 4 + j < n * 4)
            B[vi, vj] = T.max(A[vi, vj], T.float32(0)) * T.if_then_else(vi < 2, T.float32(1), T.exp(A[vi, vj]))
)",
      R"(
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), n: T.int32):
    assert n > 0, ("ValueError", ["n is ", "bad"])
    for i in T.serial(0, n, annotations={"k": 1}):
        if i < 8:
            A[i] = T.float32(1)
        else:
            A[i] = T.Select(i > 2, T.float32(2), T.float32(3))
    for i in T.vectorized(4):
        A[i] = A[i] + T.float32(1)
    while A[0] < T.float32(3):
        A[0] = A[0] + T.float32(1)
)",
      R"(
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i in range(4):
        with T.sblock("outer"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi * 4:vi * 4 + 4, 0:16])
            T.writes(C[vi * 4:vi * 4 + 4, 0:16])
            B = T.sblock_alloc_buffer((16, 16), scope="local")
            A0 = T.match_buffer(A[vi * 4:vi * 4 + 4, 0:16], (4, 16), offset_factor=1)
            for x, y in T.grid(4, 16):
                with T.sblock("inner"):
                    vx, vy = T.axis.remap("SS", [x, y])
                    B[vx, vy] = A0[vx, vy]
                    C[vi * 4 + vx, vy] = B[vx, vy]
)",
  };
  for (const char* p : programs) CHECK(round_trip(p) == "");
}
