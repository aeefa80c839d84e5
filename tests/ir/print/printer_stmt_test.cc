// Statements of TensorIR, one form per case.
#include <doctest/doctest.h>

#include "rldb/ir/context.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/printer.h"

using namespace rldb;
using namespace rldb::ir;

namespace {

struct Stmts {
  Context c;
  DType f32 = DType::Float(32);
  const Var* var(std::string_view name) { return c.var(name, c.prim(DType::Int(32))); }
  const Buffer* buffer(std::string_view name, std::int64_t n, std::string_view scope = "global") {
    const Expr* shape[] = {c.i32(n)};
    return c.buffer(name, shape, f32, scope);
  }
  Span<const Expr*> at(const Expr* e) { return c.list<const Expr*>({e}); }
  const Stmt* set(const Buffer* b, const Expr* i) { return c.store(b, c.float_imm(f32, 1), at(i)); }
  const Stmt* seq(std::initializer_list<const Stmt*> s) { return c.seq_stmt(c.list(s)); }
  std::string function(const Stmt* body, std::initializer_list<PrimParam> params, Syntax syntax = Syntax::Current) {
    PrintOptions options;
    options.header = false;
    options.syntax = syntax;
    std::string text = print_function("f", c.prim_func(c.list(params), c.void_type(), body, {}), options);
    return text.substr(text.find(":\n") + 2);
  }
};

}  // namespace

TEST_CASE("loops of every kind") {
  Stmts s;
  Context& c = s.c;
  auto loop = [&](ForKind kind, std::int64_t min, std::int64_t n, std::initializer_list<NamedAttr> notes = {},
                  std::string_view tag = {}) {
    const Var* i = s.var("i");
    return print_stmt(c.for_stmt(i, c.i32(min), c.i32(n), kind, c.evaluate(i), c.list(notes), tag));
  };
  CHECK(loop(ForKind::Serial, 0, 8) == "for i in range(8):\n    T.evaluate(i)");
  CHECK(loop(ForKind::Serial, 2, 8).starts_with("for i in range(2, 10):"));
  CHECK(loop(ForKind::Serial, 0, 8, {c.named("k", c.attr(1))})
            .starts_with("for i in T.serial(8, annotations={\"k\": 1}):"));
  CHECK(loop(ForKind::Parallel, 0, 8).starts_with("for i in T.parallel(8):"));
  CHECK(loop(ForKind::Vectorized, 0, 8).starts_with("for i in T.vectorized(8):"));
  CHECK(loop(ForKind::Unrolled, 1, 8).starts_with("for i in T.unroll(1, 9):"));
  CHECK(loop(ForKind::ThreadBinding, 0, 8, {}, "threadIdx.x")
            .starts_with("for i in T.thread_binding(8, thread=\"threadIdx.x\"):"));
}

TEST_CASE("a grid ends where an extent depends on it") {
  Stmts s;
  Context& c = s.c;
  const Var *i = s.var("i"), *j = s.var("j"), *k = s.var("k");
  const Stmt* inner = c.for_stmt(k, c.i32(0), i, ForKind::Serial, c.evaluate(k));
  const Stmt* middle = c.for_stmt(j, c.i32(0), c.i32(3), ForKind::Serial, inner);
  CHECK(print_stmt(c.for_stmt(i, c.i32(0), c.i32(2), ForKind::Serial, middle)) ==
        "for i, j in T.grid(2, 3):\n    for k in range(i):\n        T.evaluate(k)");
}

TEST_CASE("loop names are free again after the loop") {
  Stmts s;
  Context& c = s.c;
  const Var *i = s.var("i"), *j = s.var("i");
  const Stmt* a = c.for_stmt(i, c.i32(0), c.i32(2), ForKind::Serial, c.evaluate(i));
  const Stmt* b = c.for_stmt(j, c.i32(0), c.i32(2), ForKind::Parallel, c.evaluate(j));
  CHECK(print_stmt(s.seq({a, b})) ==
        "for i in range(2):\n    T.evaluate(i)\nfor i in T.parallel(2):\n    T.evaluate(i)");
}

TEST_CASE("branches, while, lets, asserts") {
  Stmts s;
  Context& c = s.c;
  const Buffer* a = s.buffer("A", 4);
  const PrimParam param{c.var("a", c.pointer()), a};
  const Expr* cond = c.binary(BinaryKind::LT, c.load(a, s.at(c.i32(0))), c.float_imm(s.f32, 2));
  const Var* v = c.var("v", c.prim(s.f32));
  std::string_view parts[] = {"a", "b"};
  const Stmt* body = s.seq({c.if_stmt(cond, s.set(a, c.i32(0)), s.set(a, c.i32(1))),
                            c.while_stmt(cond, s.set(a, c.i32(0))), c.bind(v, c.load(a, s.at(c.i32(2)))),
                            c.assert_stmt(cond, "ValueError", parts), c.store(a, v, s.at(c.i32(3)))});
  CHECK(s.function(body, {param}) == R"(    if A[0] < T.float32(2.0):
        A[0] = T.float32(1.0)
    else:
        A[1] = T.float32(1.0)
    while A[0] < T.float32(2.0):
        A[0] = T.float32(1.0)
    v: T.let[T.float32] = A[2]
    assert A[0] < T.float32(2.0), ("ValueError", ["a", "b"])
    A[3] = v)");
  std::string old = s.function(body, {param}, Syntax::Sinfo);
  CHECK(old.find("    v: T.float32 = A[2]\n    assert A[0] < T.float32(2.0), \"ab\"\n") != std::string::npos);
}

TEST_CASE("allocations by scope") {
  Stmts s;
  Context& c = s.c;
  const Buffer *local = s.buffer("l", 4, "local"), *shared = s.buffer("s", 4, "shared"),
               *other = s.buffer("o", 4, "wmma.a");
  const Stmt* body =
      s.seq({c.alloc_buffer(local), c.alloc_buffer(shared), c.alloc_buffer(other),
             c.evaluate(c.intrin(DType::Handle(), ir::intrin::AddressOf, {c.load(local, s.at(c.i32(1)))}))});
  CHECK(s.function(body, {}) == R"(    l = T.alloc_local((4,))
    s = T.alloc_shared((4,))
    o = T.alloc_buffer((4,), scope="wmma.a")
    T.address_of(l[1]))");
  CHECK(s.function(body, {}, Syntax::Sinfo).starts_with("    l = T.decl_buffer((4,), scope=\"local\")\n"));
}

TEST_CASE("launched threads: flat when last, else a with block; shared ones are declared above") {
  Stmts s;
  Context& c = s.c;
  const Attr* items[] = {c.attr("threadIdx.x")};
  const Attr* thread = c.attr_opaque("T.iter_var", items, {});
  const Var *tx = s.var("tx"), *ty = s.var("ty");
  auto launch = [&](const Var* v) { return c.attr_stmt(thread, "thread_extent", c.i32(4), c.evaluate(v), v); };
  CHECK(s.function(s.seq({launch(tx), launch(ty)}), {}) == R"(    with T.launch_thread("threadIdx.x", 4) as tx:
        T.evaluate(tx)
    with T.launch_thread("threadIdx.x", 4) as ty:
        T.evaluate(ty))");
  // Without `with` as a whole body only; older texts have it so at the end, too.
  CHECK(s.function(launch(tx), {}) == R"(    tx = T.launch_thread("threadIdx.x", 4)
    T.evaluate(tx))");
  CHECK(s.function(s.seq({launch(tx), launch(tx)}), {}) == R"(    tx = T.env_thread("threadIdx.x")
    with T.launch_thread(tx, 4):
        T.evaluate(tx)
    with T.launch_thread(tx, 4):
        T.evaluate(tx))");
  const Stmt* seq = c.attr_stmt(c.attr_none(), "pragma_scope", c.string("seq"), c.evaluate(c.i32(0)));
  CHECK(s.function(seq, {}) == "    T.attr({\"pragma_scope\": \"seq\"})\n    T.evaluate(0)");
}

TEST_CASE("blocks: single axes, predicate, attributes, allocation, match_buffer") {
  Stmts s;
  Context& c = s.c;
  const Buffer* a = s.buffer("A", 16);
  const Buffer* tmp = s.buffer("tmp", 4);
  const Var *v = s.var("v"), *i = s.var("i"), *stride = s.var("s0");
  Buffer sub = *s.buffer("S", 4);
  sub.strides = s.at(stride);
  sub.offset_factor = 1;
  SBlock b{};
  b.name = "b";
  b.iter_vars = c.list<IterVar>({{v, {c.i32(0), c.i32(16)}, IterKind::Spatial}});
  b.alloc_buffers = c.list<const Buffer*>({tmp});
  b.match_buffers = c.list<MatchBufferRegion>({{c.buffer(sub), {a, c.list<Range>({{c.i32(4), c.i32(4)}})}}});
  b.annotations = c.list<NamedAttr>({c.named("k", c.attr("x"))});
  b.body = s.set(tmp, v);
  const Expr* value = c.binary(BinaryKind::Mul, i, c.i32(2));
  const Stmt* realize = c.realize(s.at(value), c.binary(BinaryKind::LT, i, c.i32(7)), c.sblock(b));
  const Stmt* body = c.for_stmt(i, c.i32(0), c.i32(8), ForKind::Serial, realize);
  CHECK(s.function(body, {{c.var("a", c.pointer()), a}}) == R"(    for i in range(8):
        with T.sblock("b"):
            v = T.axis.spatial(16, i * 2)
            T.where(i < 7)
            T.reads()
            T.writes()
            T.sblock_attr({"k": "x"})
            tmp = T.sblock_alloc_buffer((4,))
            s0 = T.int32()
            S = T.match_buffer(A[4:8], (4,), strides=(s0,), offset_factor=1)
            tmp[v] = T.float32(1.0))");
}

TEST_CASE("vectors and predicates") {
  Stmts s;
  Context& c = s.c;
  const Buffer* a = s.buffer("A", 16);
  const Var* i = s.var("i");
  const Expr* ramp = c.ramp(i, c.i32(1), c.i32(4));
  const Expr* strided = c.ramp(c.i32(0), c.i32(2), c.i32(4));
  CHECK(print_stmt(c.store(a, c.load(a, s.at(strided)), s.at(ramp))) == "A[i:i + 4] = A[0:8:2]");
  PrintOptions tir;
  tir.tensor_ir = true;
  CHECK(print_expr(c.broadcast(c.float_imm(s.f32, 1), c.i32(4)), tir) == "T.Broadcast(T.float32(1.0), 4)");
  CHECK(print_expr(c.call_typed(c.op("tir.reinterpret"), s.at(i), c.prim(s.f32)), tir) ==
        "T.reinterpret(\"float32\", i)");
  CHECK(print_expr(c.call_typed(c.op("tir.call_extern"), c.list<const Expr*>({c.string("f"), i}), c.prim(s.f32)),
                   tir) == "T.call_extern(\"float32\", \"f\", i)");
}

TEST_CASE("a nest deeper than the limit is cut visibly") {
  Stmts s;
  Context& c = s.c;
  const Stmt* body = c.evaluate(c.i32(0));
  for (int k = 0; k < 3000; ++k) body = c.if_stmt(c.bool_imm(true), body);
  CHECK(print_stmt(body).find("<nested too deep to print>") != std::string::npos);
  ModuleBuilder b(c);
  b.set("f", c.prim_func({}, c.void_type(), body, {}));
  CHECK(unsayable(b.build(), Syntax::Current) == std::vector<std::string>{"module: nesting deeper than 1000"});
}
