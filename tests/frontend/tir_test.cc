#include <doctest/doctest.h>

#include "frontend/frontend_helper.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"

using namespace rldb;
using frontend::testing::Reading;
using frontend::testing::round_trip;

TEST_CASE("bit operations of literals and the likelihood of one are folded while they are read, as in TVM") {
  Reading r(R"(
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "uint8")):
    for i in range(16):
        if T.likely(T.bool(True)):
            A[i] = T.bitwise_and(T.int32(12), T.int32(10)) + (T.int32(1) << T.int32(4)) + T.bitwise_xor(T.int32(3), 5)
        A[i] = T.shift_right(i, 0) + T.shift_left(T.int32(1), T.int32(31)) + (T.int32(-8) >> 1)
        A[i] = T.bitwise_or(i, 3)
        B[i] = T.bitwise_and(T.uint8(12), T.uint8(10))
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const std::string text = ir::print(r.result.module);
  CHECK(text.find("if T.bool(True)") != std::string::npos);
  CHECK(text.find("A[i] = 30\n") != std::string::npos);
  CHECK(text.find("A[i] = i + -2147483648 + -4\n") != std::string::npos);
  CHECK(text.find("A[i] = T.bitwise_or(i, 3)\n") != std::string::npos);
  CHECK(text.find("B[i] = T.bitwise_and(T.uint8(12), T.uint8(10))") != std::string::npos);
}

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

TEST_CASE("a plain assignment makes a scalar that later ones write; it was a let in older texts") {
  const char* const body = R"(
def f(A: T.Buffer((10,), "int32")):
    i = T.int32(0)
    x: T.int32 = A[0]
    while i < x:
        i = i + 1
    A[i] = x
)";
  Reading now(std::string("@T.prim_func(s_tir=True)") + body);
  REQUIRE_MESSAGE(now.result.ok, now.rendered());
  const auto* seq = ir::as<ir::SeqStmt>(now.prim_func("f")->body);
  REQUIRE(seq);
  REQUIRE(seq->stmts.size() == 6);
  CHECK(ir::isa<ir::AllocBuffer>(seq->stmts[0]));
  CHECK(ir::isa<ir::BufferStore>(seq->stmts[1]));
  const auto* loop = ir::as<ir::WhileStmt>(seq->stmts[4]);
  REQUIRE(loop);
  const auto* step = ir::as<ir::BufferStore>(loop->body);
  REQUIRE(step);
  CHECK(step->buffer->name == "i");

  Reading then(std::string("# from tvm.script import tir as T\n@T.prim_func") + body);
  REQUIRE_MESSAGE(then.result.ok, then.rendered());
  const auto* lets = ir::as<ir::SeqStmt>(then.prim_func("f")->body);
  REQUIRE(lets);
  CHECK(ir::isa<ir::BindStmt>(lets->stmts[0]));
  CHECK(ir::isa<ir::BindStmt>(lets->stmts[1]));

  CHECK(round_trip(std::string("@T.prim_func(s_tir=True)") + body) == "");
  CHECK(round_trip(R"(
@T.prim_func
def f(A: T.Buffer((4,), T.f16), n: T.i32):
    s: T.int32
    s = n
    s += 1
    v: T.float32[2, 2]
    v[0, 1] = 1.0
    k: T.let[T.int32] = n * 2
    p = A.data
    q = T.local_scalar("float32")
    q = v[0, 1] + T.Cast("float32", s)
    T.buffer_store(A, T.float16(0), [k])
    with T.While(s > 0):
        T.call_extern("void", "f", s, p)
)") == "");
}

TEST_CASE("a star takes what the other targets leave") {
  CHECK(round_trip(R"(
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8, 8, 8), "float32")):
    for ijk in T.grid(8, 8, 8):
        A[ijk] = 1.0
    for i, *jk in T.grid(8, 8, 8):
        A[i, *jk] = 1.0
    for *ij, k in T.grid(*A.shape):
        A[(*ij, k)] = 1.0
    for i, *none in T.grid(8):
        A[i, *none, 0, 0] = 1.0
    for iters in T.grid(*A.shape, 4):
        with T.sblock("x"):
            *vs, vr = T.axis.remap("SSSR", iters)
            A[*vs] = A[*vs] + T.Cast("float32", vr)
)") == "");
  Reading r("@T.prim_func\ndef f():\n    for *i, j, k in T.grid(8):\n        T.evaluate(j)\n");
  REQUIRE(r.messages().size() == 1);
  CHECK(r.messages()[0] == "3:9: 3 loop variables for 1 extents");
}

TEST_CASE("strings of a body name variables that the buffer defines") {
  Reading r(R"(
@T.prim_func(s_tir=True)
def f(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4), strides=["s0", "s1"], elem_offset="off")
    B = T.match_buffer(b, (8,), strides=("t",), buffer_type="auto")
    T.evaluate(A.strides[0] + T.Cast("int64", B.strides[0]))
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const ir::PrimFunc* f = r.prim_func("f");
  REQUIRE(f->params.size() == 2);
  const ir::Buffer* a = f->params[0].buffer;
  REQUIRE(a->strides.size() == 2);
  CHECK(a->strides[0]->dtype() == ir::DType::Int(64));  // that of the shape
  CHECK(a->elem_offset->dtype() == ir::DType::Int(64));
  CHECK(f->params[1].buffer->strides[0]->dtype() == ir::DType::Int(32));
}

TEST_CASE("forms of older texts") {
  CHECK(round_trip(R"(
# from tvm.script import tir as T
@T.prim_func
def f(x: T.Ptr[T.int32], y: T.Ptr("int32", "shared"), A: T.Buffer[(4, 4), "int8"], B: T.Buffer[4]):
    T.func_attr({"tir.noalias": True})
    xx = T.Buffer((16,), "int32", data=x)
    p = T.allocate([16], "int32", "global")
    pp = T.Buffer((16,), "int32", data=p)
    with T.decl_buffer((4,), "float32") as D:
        D[0] = B[0]
    with T.LetStmt(pp[0] * 2) as m:
        xx[m] = 1
    a: T.Ptr("int32") = T.address_of(xx[0])
    b: T.int32 = xx[1]
    T.evaluate(T.call_extern("copy", a, b, dtype=""))
    assert b > 0, "b"
)") == "");
  CHECK(round_trip(R"(
@T.prim_func(s_tir=True)
def f(n: T.int32, A: T.Buffer((16,), "float32")):
    assert n > 0, ("ValueError", "n must be positive")
    assert n > 0, ("TypeError", ["a", "b"])
    for i in T.serial(15, 0, step=-3):
        A[i] = 1.0
    A.vstore([0], A.vload([4], "float32x4"))
    with T.attr(T.iter_var(T.int32(), T.Range(0, 4), "ThreadIndex", "threadIdx.x"), "thread_extent", 4):
        A[0] = 2.0
    T.evaluate(T.int64(-9223372036854775808))
    T.evaluate(T.uint64(9223372036854775809))
    T.tvm_storage_sync("shared", dtype="void")
    with T.sblock("bare", no_realize=True):
        vi = T.axis.spatial(16)
        T.reads()
        T.writes(A[vi])
        A[vi] = 1.0
)") == "");
}

TEST_CASE("a misspelt name under T is an error of its own, an unknown one is kept with a warning") {
  Reading r(R"(
@T.prim_func(s_tir=True)
def f(A: T.Bufer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        with T.sblok("x"):
            vi = T.axis.spatal(4, i)
            A[vi] = T.exq(B[vi])
    T.evaluate(T.some_new_thing(B[0]))
    T.evaluate(T.ptx.some_new_thing(B[0]))
)");
  CHECK(r.messages() == std::vector<std::string>{"3:10: `T.Bufer` is not known", "5:14: `T.sblok` is not known",
                                                 "6:18: `T.axis.spatal` is not known", "7:21: `T.exq` is not known",
                                                 "8:16: `T.some_new_thing` is not known here; it is kept as an "
                                                 "intrinsic"});
  CHECK(r.rendered().find("did you mean `T.sblock`?") != std::string::npos);
}

TEST_CASE("a macro takes further arguments, by position and by name") {
  const auto kernel = [](const char* macro, const char* body) {
    return std::string(macro) +
           "@T.prim_func(s_tir=True)\n"
           "def f(A: T.Buffer((8, 8), \"float32\"), B: T.Buffer((8, 8), \"float32\")):\n"
           "    for i, j in T.grid(8, 8):\n        with T.sblock(\"u\"):\n" +
           body;
  };
  const Reading called(kernel(R"(
@T.macro(hygienic=True)
def assign(i, *args, t1, **kwargs):
    vi, vj = T.axis.remap("SS", [i, args[0]])
    kwargs["t3"][vi, vj] = t1[vi, vj] + kwargs["by"]

)",
                              "            assign(i, j, by=T.float32(1), t1=A, t3=B)\n"));
  const Reading written(kernel("", R"(            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
)"));
  REQUIRE_MESSAGE(called.result.ok, called.rendered());
  CHECK(ir::structural_equal(called.result.module, written.result.module));
  const Reading missing(
      "@T.macro\ndef m(a, *, b):\n    T.evaluate(a + b)\n@T.prim_func\ndef f(n: T.int32):\n    m(n, n)\n");
  CHECK_FALSE(missing.result.ok);
  const Reading twice(
      "@T.macro\ndef m(a, **rest):\n    T.evaluate(a + rest[\"z\"])\n@T.prim_func\ndef f(n: T.int32):\n"
      "    m(n, a=n, z=n)\n");
  CHECK_FALSE(twice.result.ok);
}

TEST_CASE("a scalar of its own in the memory that the call names") {
  Reading r(R"(
@T.prim_func
def f(B: T.Buffer((4,), "float32")):
    s = T.alloc_scalar("int32", scope="local")
    s = 3
    g = T.alloc_scalar()
    B[s] = g
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const std::string text = ir::print(r.result.module);
  CHECK(text.find("s = T.alloc_local((1,), \"int32\")") != std::string::npos);
  CHECK(text.find("g = T.alloc_buffer((1,))") != std::string::npos);
}

TEST_CASE("functions of one operand are what TVM's functions of that name make") {
  Reading r(R"(
@T.prim_func
def f(A: T.Buffer((4,), "int32"), H: T.Buffer((4,), "float16"), C: T.Buffer((4,), "bool")):
    A[0] = T.abs(A[0])
    A[1] = T.floor(A[1])
    A[2] = T.abs(-5)
    C[0] = T.isnan(H[0])
    C[1] = T.isinf(H[1])
    C[2] = T.isfinite(A[2])
    H[0] = T.round(T.float16(2.5))
    H[1] = T.trunc(H[1])
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const std::string text = ir::print(r.result.module);
  for (const char* line : {"A[0] = T.Select(A[0] >= 0, A[0], 0 - A[0])\n", "A[1] = A[1]\n", "A[2] = 5\n",
                           "C[0] = T.isnan(T.Cast(\"float32\", H[0]))\n",
                           "C[1] = T.fabs(H[1]) == T.float16(\"inf\") and not T.isnan(T.Cast(\"float32\", H[1]))\n",
                           "C[2] = T.bool(True)\n", "H[0] = T.float16(2.0)\n", "H[1] = T.trunc(H[1])"})
    CHECK_MESSAGE(text.find(line) != std::string::npos, std::string(line) << text);
}
