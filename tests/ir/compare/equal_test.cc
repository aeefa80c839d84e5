// Structural equality, differences and hashes.
#include "rldb/ir/equal.h"

#include <doctest/doctest.h>

#include "rldb/ir/context.h"

namespace rldb::ir {
namespace {

struct Fixture {
  Context ctx;
  const DType f32 = DType::Float(32);
  const Expr* relu(const Expr* x) {
    const Expr* args[] = {x};
    return ctx.call_typed(ctx.op("relax.nn.relu"), args, x->type);
  }
  // def f(x: R.Tensor((n, 4))): with R.dataflow(): lv = relu(x); gv = relu(lv); return gv
  const Function* function(std::string_view x_name = "x", std::int64_t dim = 4, int length = 2, bool pure = true) {
    const Expr* dims[] = {ctx.var("n", ctx.int64()), ctx.i64(dim)};
    const Type* t = ctx.tensor(dims, f32);
    const Var* x = ctx.var(x_name, t);
    std::vector<const Binding*> bindings;
    const Var* last = x;
    for (int i = 0; i < length; ++i) {
      const bool is_output = i + 1 == length;
      const Var* v = is_output ? ctx.var("gv", t) : ctx.dataflow_var("lv", t);
      bindings.push_back(ctx.binding(v, relu(last)));
      last = v;
    }
    const BindingBlock* blocks[] = {ctx.block(bindings, true)};
    const Var* params[] = {x};
    return ctx.function(params, ctx.seq(blocks, last), t, pure, {});
  }
  const Module* module(const Expr* f) {
    ModuleBuilder b(ctx);
    b.set("main", f);
    return b.build();
  }
  // for i in n: B[i] = A[i] + 1
  const PrimFunc* prim(std::string_view name, bool swap = false, double value = 1) {
    const Expr* n[] = {ctx.var(name, ctx.prim(DType::Int(32)))};
    const Buffer* a = ctx.buffer("A", n, f32);
    const Buffer* b = ctx.buffer("B", n, f32);
    const Var* i = ctx.var("i", ctx.prim(DType::Int(32)));
    const Expr* at[] = {i};
    const Stmt* body =
        ctx.store(swap ? a : b, ctx.binary(BinaryKind::Add, ctx.load(swap ? b : a, at), ctx.float_imm(f32, value)), at);
    const PrimParam params[] = {{a->data, a}, {b->data, b}};
    return ctx.prim_func(params, nullptr, ctx.for_stmt(i, ctx.i32(0), n[0], ForKind::Serial, body), {});
  }
};

TEST_CASE_FIXTURE(Fixture, "equal: names do not count, structure does") {
  const Function* a = function("x");
  const Function* b = function("y");
  CHECK(structural_equal(a, b));
  CHECK(structural_hash(a) == structural_hash(b));
  CHECK_FALSE(structural_equal(a, function("x", 5)));
  CHECK(structural_hash(a) != structural_hash(function("x", 5)));
  CHECK_FALSE(structural_equal(a, function("x", 4, 3)));
  CHECK_FALSE(structural_equal(a, function("x", 4, 2, false)));
  CHECK(structural_equal(prim("n"), prim("m")));
  CHECK(structural_hash(prim("n")) == structural_hash(prim("m")));
  CHECK_FALSE(structural_equal(prim("n"), prim("n", true)));
  CHECK(structural_hash(prim("n")) != structural_hash(prim("n", true)));
  CHECK_FALSE(structural_equal(prim("n"), prim("n", false, 2)));
}

TEST_CASE_FIXTURE(Fixture, "equal: of two contexts") {
  Fixture other;
  for (int i = 0; i < 10; ++i) other.ctx.var("shift ids", other.ctx.any());
  CHECK(structural_equal(function(), other.function()));
  CHECK(structural_hash(function()) == structural_hash(other.function()));
  CHECK(structural_equal(module(function()), other.module(other.function())));
}

TEST_CASE_FIXTURE(Fixture, "equal: the hash is the same in every process") {
  // The kernel cache keeps hashes on disk: a change here must change the format number in hash.cc.
  CHECK(structural_hash(ctx.i64(7)) == structural_hash(Fixture().ctx.i64(7)));
  CHECK(structural_hash(ctx.i64(7)) == 18244174785057545238ull);
  CHECK(structural_hash(prim("n")) == 6017494443240473888ull);
}

TEST_CASE_FIXTURE(Fixture, "equal: free variables") {
  const Expr* x = ctx.var("x", ctx.int64());
  const Expr* y = ctx.var("y", ctx.int64());
  const Expr* one = ctx.i64(1);
  const auto plus = [&](const Expr* a, const Expr* b) { return ctx.binary(BinaryKind::Add, a, b); };
  CHECK(structural_equal(plus(x, one), plus(x, ctx.i64(1))));
  CHECK_FALSE(structural_equal(plus(x, one), plus(y, one)));
  CHECK(structural_equal(plus(x, one), plus(y, one), {.map_free_vars = true}));
  // A variable may not correspond to two.
  CHECK_FALSE(structural_equal(plus(x, x), plus(x, y), {.map_free_vars = true}));
  CHECK_FALSE(structural_equal(plus(x, y), plus(x, x), {.map_free_vars = true}));
  // Also where both sides share nodes.
  const Expr* shared = plus(x, one);
  const Var* px[] = {cast<Var>(x)};
  const Var* py[] = {cast<Var>(y)};
  const Expr* r[] = {shared};
  CHECK_FALSE(structural_equal(ctx.lambda(px, r), ctx.lambda(py, r)));
}

TEST_CASE_FIXTURE(Fixture, "equal: the first difference has a path") {
  const auto d = first_difference(module(function("x", 4, 3)), module(function("x", 4, 2)));
  REQUIRE(d);
  CHECK(d->path == "main.body.blocks[0].bindings[1].var");
  const auto shape = first_difference(module(function("x", 4)), module(function("x", 5)));
  REQUIRE(shape);
  CHECK(shape->path == "main.params[0].type.shape[1].value");
  CHECK(shape->left == "int64(4)");
  CHECK(shape->right == "int64(5)");
  const auto value = first_difference(prim("n"), prim("n", false, 2));
  REQUIRE(value);
  CHECK(value->path == "body.body.value.b.value");
  ModuleBuilder b(ctx);
  const auto missing = first_difference(module(function()), b.build());
  REQUIRE(missing);
  CHECK(missing->path == "main");
  CHECK(missing->right == "nothing");
  CHECK_FALSE(first_difference(module(function()), module(function())).has_value());
}

TEST_CASE_FIXTURE(Fixture, "equal: match_cast defines what its type mentions first") {
  const auto make = [&](bool same) {
    const Expr* n = ctx.var("n", ctx.int64());
    const Expr* m = ctx.var("m", ctx.int64());
    const Expr* dims[] = {n};
    const Expr* other[] = {same ? n : m};
    const Var* x = ctx.var("x", ctx.any());
    const Var* v = ctx.var("v", ctx.tensor(dims, f32));
    const Var* w = ctx.var("w", ctx.tensor(other, f32));
    const Binding* bindings[] = {ctx.match_cast(v, x, v->type), ctx.match_cast(w, x, w->type)};
    const BindingBlock* blocks[] = {ctx.block(bindings)};
    const Var* params[] = {x};
    return ctx.function(params, ctx.seq(blocks, w), ctx.any(), true, {});
  };
  CHECK(structural_equal(make(true), make(true)));
  CHECK(structural_equal(make(false), make(false)));
  CHECK_FALSE(structural_equal(make(true), make(false)));
  CHECK(structural_hash(make(true)) != structural_hash(make(false)));
}

TEST_CASE_FIXTURE(Fixture, "equal: attributes go by name, constants by content") {
  const NamedAttr ab[] = {ctx.named("a", ctx.attr(1)), ctx.named("b", ctx.attr(2))};
  const NamedAttr ba[] = {ctx.named("b", ctx.attr(2)), ctx.named("a", ctx.attr(1))};
  const NamedAttr ac[] = {ctx.named("a", ctx.attr(1)), ctx.named("b", ctx.attr(3))};
  const auto call = [&](Span<NamedAttr> attrs) { return ctx.call_typed(ctx.op("relax.x"), {}, ctx.any(), attrs); };
  CHECK(structural_equal(call(ab), call(ba)));
  CHECK(structural_hash(call(ab)) == structural_hash(call(ba)));
  const auto d = first_difference(call(ab), call(ac));
  REQUIRE(d);
  CHECK(d->path == "attrs[\"b\"]");
  const auto constant = [&](float v) {
    auto t = runtime::Tensor::empty({1}, f32).value();
    runtime::store_double(t->data(), f32, v);
    return ctx.constant(t);
  };
  CHECK(structural_equal(constant(1), constant(1)));
  CHECK(structural_hash(constant(1)) == structural_hash(constant(1)));
  CHECK_FALSE(structural_equal(constant(1), constant(2)));
}

TEST_CASE_FIXTURE(Fixture, "equal: types of bindings can be left out") {
  const auto make = [&](const Type* t) {
    const Var* x = ctx.var("x", ctx.any());
    const Expr* args[] = {x};
    const Binding* b[] = {ctx.binding(ctx.var("y", t), ctx.call_typed(ctx.op("relax.x"), args, t))};
    const BindingBlock* blocks[] = {ctx.block(b)};
    const Var* params[] = {x};
    return ctx.function(params, ctx.seq(blocks, b[0]->var), ctx.any(), true, {});
  };
  CHECK_FALSE(structural_equal(make(ctx.any()), make(ctx.tensor_ndim(2, f32))));
  CHECK(structural_equal(make(ctx.any()), make(ctx.tensor_ndim(2, f32)), {.compare_types = false}));
}

TEST_CASE_FIXTURE(Fixture, "equal: depth costs no C stack") {
  const auto chain = [&](int length, const Expr* end) {
    const Expr* e = ctx.i64(0);
    for (int i = 0; i < length; ++i) e = ctx.binary(BinaryKind::Add, e, ctx.i64(i));
    return ctx.binary(BinaryKind::Mul, e, end);
  };
  const Expr* a = chain(200000, ctx.i64(1));
  const Expr* b = chain(200000, ctx.i64(1));
  CHECK(structural_equal(a, b));
  CHECK(expr_equal(a, b));
  CHECK(expr_hash(a) == expr_hash(b));
  CHECK(structural_hash(a) == structural_hash(b));
  const auto d = first_difference(a, chain(199999, ctx.i64(1)));
  CHECK(d.has_value());
  const Expr* nested = ctx.var("x", ctx.any());
  const Expr* other = nested;
  for (int i = 0; i < 100000; ++i) {
    nested = relu(nested);
    other = relu(other);
  }
  CHECK(structural_equal(nested, other));
}

}  // namespace
}  // namespace rldb::ir
