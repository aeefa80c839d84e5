// Literals, names and the older spellings; forms that a spelling cannot express.
#include <doctest/doctest.h>

#include <limits>

#include "rldb/ir/context.h"
#include "rldb/ir/printer.h"
#include "rldb/runtime/value.h"

using namespace rldb;
using namespace rldb::ir;

namespace {

struct Texts {
  Context ctx;
  DType f32 = DType::Float(32);

  PrintOptions in(Syntax s) {
    PrintOptions o;
    o.syntax = s;
    o.header = false;
    return o;
  }
  const Function* function(std::initializer_list<const Var*> params, std::initializer_list<const Binding*> bindings,
                           const Expr* result, bool pure = true) {
    const BindingBlock* blocks[] = {ctx.block(ctx.list(bindings), false)};
    const NamedAttr attrs[] = {ctx.named("global_symbol", ctx.attr("main"))};
    return ctx.function(ctx.list(params), ctx.seq(blocks, result), result->type, pure, attrs);
  }
  const Module* module(std::string_view name, const Expr* f) {
    ModuleBuilder b(ctx);
    b.set(name, f);
    return b.build();
  }
  const PrimFunc* kernel(std::string_view name, std::initializer_list<const Buffer*> buffers, const Stmt* body) {
    std::vector<PrimParam> params;
    for (const Buffer* b : buffers) params.push_back({b->data, b});
    const NamedAttr attrs[] = {ctx.named("global_symbol", ctx.attr(name)), ctx.named("tirx.noalias", ctx.attr(true))};
    return ctx.prim_func(params, ctx.void_type(), body, attrs, true);
  }
  const Buffer* buffer(std::string_view name, const Expr* dim) {
    return ctx.buffer(name, ctx.list<const Expr*>({dim}), f32);
  }
};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("floats: whole numbers in full, others with 17 digits") {
  Texts t;
  PrintOptions tir;
  tir.tensor_ir = true;
  auto text = [&](double v) { return print_expr(t.ctx.float_imm(DType::Float(64), v), tir); };
  CHECK(text(0.0) == "T.float64(0.0)");
  CHECK(text(-0.0) == "T.float64(-0.0)");
  CHECK(text(1e20) == "T.float64(100000000000000000000.0)");
  CHECK(text(-3.4028234663852886e+38) == "T.float64(-340282346638528859811704183484516925440.0)");
  CHECK(text(123456789012345678.0) == "T.float64(123456789012345680.0)");
  CHECK(text(1e-5) == "T.float64(1.0000000000000001e-05)");
  CHECK(text(0.5) == "T.float64(0.5)");
  CHECK(text(1234567.25) == "T.float64(1234567.25)");
  CHECK(text(std::numeric_limits<double>::infinity()) == "T.float64(\"inf\")");
  CHECK(text(-std::numeric_limits<double>::infinity()) == "T.float64(\"-inf\")");
  CHECK(text(std::numeric_limits<double>::quiet_NaN()) == "T.float64(\"nan\")");
}

TEST_CASE("bools are bare in Relax and typed in TensorIR") {
  Texts t;
  PrintOptions tir;
  tir.tensor_ir = true;
  CHECK(print_expr(t.ctx.bool_imm(true)) == "True");
  CHECK(print_expr(t.ctx.bool_imm(false), tir) == "T.bool(False)");
}

TEST_CASE("a buffer may have the name of its function") {
  Texts t;
  const Buffer* b = t.buffer("f", t.ctx.i64(4));
  const Expr* zero = t.ctx.i64(0);
  const Stmt* body = t.ctx.store(b, t.ctx.float_imm(t.f32, 1), t.ctx.list<const Expr*>({zero}));
  const Module* m = t.module("f", t.kernel("f", {b}, body));
  CHECK(contains(print(m, t.in(Syntax::Current)), "def f(f: T.Buffer((T.int64(4),), \"float32\")):"));
  CHECK(contains(print(m, t.in(Syntax::Rfc)), "f = T.match_buffer(var_f, (T.int64(4),))"));
}

TEST_CASE("in the RFC's spelling a function that is called takes its bare name") {
  Texts t;
  const Type* type = t.ctx.tensor(t.ctx.list<const Expr*>({}), t.f32);
  const Var *g = t.ctx.var("g", type), *y = t.ctx.var("y", type);
  const Expr* args[] = {g};
  const Expr* call = t.ctx.call_typed(t.ctx.global_var("g", t.ctx.any()), args, type);
  const Function* f = t.function({g}, {t.ctx.binding(y, call)}, y);
  const Module* m = t.module("main", f);
  CHECK(contains(print(m, t.in(Syntax::Current)), " = cls.g(g)"));
  CHECK(contains(print(m, t.in(Syntax::Rfc)), " = g(g_1)"));
  CHECK(contains(print_function("main", f, t.in(Syntax::Rfc)), " = g(g_1)"));
}

TEST_CASE("older spellings of a PrimFunc") {
  Texts t;
  const Var* n = t.ctx.var("n", t.ctx.int64());
  const Buffer *a = t.buffer("A", n), *b = t.buffer("B", t.ctx.i64(4));
  const Expr* zero = t.ctx.i64(0);
  const Stmt* body = t.ctx.store(b, t.ctx.load(a, t.ctx.list<const Expr*>({zero})), t.ctx.list<const Expr*>({zero}));
  const Module* m = t.module("f", t.kernel("f", {a, b}, body));
  CHECK(print(m, t.in(Syntax::Sinfo)) ==
        "@I.ir_module\nclass Module:\n    @T.prim_func\n"
        "    def f(var_A: T.handle, B: T.Buffer((T.int64(4),), \"float32\")):\n"
        "        T.func_attr({\"tir.noalias\": True})\n"
        "        n = T.int64()\n"
        "        A = T.match_buffer(var_A, (n,))\n"
        "        B[T.int64(0)] = A[T.int64(0)]");
}

TEST_CASE("scalars of a Relax function are wrapped in the older spelling") {
  Texts t;
  const Var* n = t.ctx.var("n", t.ctx.int64());
  const Var* p = t.ctx.var("p", t.ctx.int64());
  const Var* x = t.ctx.var("x", t.ctx.tensor(t.ctx.list<const Expr*>({n}), t.f32));
  const Var* y = t.ctx.var("y", t.ctx.any());
  const Expr* args[] = {x, n, p, t.ctx.bool_imm(true), t.ctx.i64(3)};
  const Expr* call = t.ctx.call_typed(t.ctx.extern_func("f"), args, t.ctx.any());
  const Module* m = t.module("main", t.function({x, p}, {t.ctx.binding(y, call)}, y, false));
  std::string old = print(m, t.in(Syntax::Sinfo));
  CHECK(contains(old, "def main(x: R.Tensor((\"n\",), dtype=\"float32\"), p: R.Prim(\"int64\")) -> R.Object:"));
  CHECK(contains(old, "R.call_packed(\"f\", x, R.prim_value(n), p, R.prim_value(True), R.prim_value(3))"));
  CHECK(contains(print(m, t.in(Syntax::Current)), "R.call_packed(\"f\", x, n, p, True, 3)"));
  // In the RFC an annotation is the call's type: without a type there is none.
  CHECK(contains(print(m, t.in(Syntax::Rfc)), "y = R.call_packed(\"f\", x, n, p, True, 3)"));
}

TEST_CASE("dims that compute with a parameter are bare after it, a string before it") {
  Texts t;
  const Var* k = t.ctx.var("k", t.ctx.int64());
  const Expr* twice = t.ctx.binary(BinaryKind::Mul, k, t.ctx.i64(2));
  const Var* a = t.ctx.var("a", t.ctx.tensor(t.ctx.list<const Expr*>({k, twice}), t.f32));
  const Var* b = t.ctx.var("b", t.ctx.tensor(t.ctx.list<const Expr*>({k, twice}), t.f32));
  std::string text = print(t.module("main", t.function({a, k, b}, {}, b)), t.in(Syntax::Current));
  CHECK(contains(text,
                 "a: R.Tensor((\"k\", \"k * 2\"), dtype=\"float32\"), k: T.int64, "
                 "b: R.Tensor((k, k * 2), dtype=\"float32\")) -> R.Tensor((k, k * 2), dtype=\"float32\"):"));
}

TEST_CASE("a buffer that nothing declares is declared at the start of its function") {
  Texts t;
  const Buffer *b = t.buffer("B", t.ctx.i64(4)), *lost = t.buffer("lost", t.ctx.i64(4));
  const Expr* zero = t.ctx.i64(0);
  const Stmt* body = t.ctx.store(b, t.ctx.load(lost, t.ctx.list<const Expr*>({zero})), t.ctx.list<const Expr*>({zero}));
  std::string text = print(t.module("f", t.kernel("f", {b}, body)), t.in(Syntax::Current));
  CHECK(contains(text, "        lost = T.Buffer((T.int64(4),))\n        B[T.int64(0)] = lost[T.int64(0)]"));
}

TEST_CASE("tensors of attributes have their own place in the metadata") {
  Texts t;
  auto x = runtime::Tensor::empty({}, DType::Int(64)).value();
  runtime::store_double(x->data(), DType::Int(64), 5);
  const Attr* a = t.ctx.attr(static_cast<const Expr*>(t.ctx.constant(runtime::Value(x))));
  CHECK(print_attr(a) == "metadata[\"ffi.Tensor\"][0]");
}

TEST_CASE("what a spelling cannot say") {
  Texts t;
  const Expr* zero = t.ctx.i64(0);
  const Buffer *b = t.buffer("B", t.ctx.i64(4)), *flat = t.buffer("F", t.ctx.i64(4));
  const NamedAttr notes[] = {t.ctx.named("k", t.ctx.attr(1))};
  auto kernel = [&](std::span<const NamedAttr> annotations) {
    const Stmt* both[] = {t.ctx.alloc_buffer(flat, annotations),
                          t.ctx.store(b, t.ctx.float_imm(t.f32, 1), t.ctx.list<const Expr*>({zero}))};
    return t.module("f", t.kernel("f", {b}, t.ctx.seq_stmt(both)));
  };
  CHECK(unsayable(kernel({}), Syntax::Sinfo).empty());
  CHECK(contains(print(kernel({}), t.in(Syntax::Current)), "F = T.alloc_buffer((T.int64(4),))"));
  CHECK(contains(print(kernel({}), t.in(Syntax::Sinfo)), "F = T.decl_buffer((T.int64(4),))"));
  CHECK(unsayable(kernel(notes), Syntax::Current).empty());
  REQUIRE(unsayable(kernel(notes), Syntax::Sinfo).size() == 1);
  CHECK(unsayable(kernel(notes), Syntax::Sinfo)[0] == "f: the annotations of T.alloc_buffer (`F`)");

  // A match_cast that changes more than the shape is not a match_shape.
  const Var* x = t.ctx.var("x", t.ctx.any());
  const Var* y = t.ctx.var("y", t.ctx.tensor(t.ctx.list<const Expr*>({t.ctx.i64(2)}), t.f32));
  const Binding* cast = t.ctx.match_cast(y, x, y->type);
  const Module* r = t.module("main", t.function({x}, {cast}, y));
  CHECK(unsayable(r, Syntax::Sinfo).empty());
  REQUIRE(unsayable(r, Syntax::Rfc).size() == 1);
  CHECK(unsayable(r, Syntax::Rfc)[0] == "main: match_cast to anything but a shape");
}
