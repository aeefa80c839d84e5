// Each rule of ir/verifier.h is broken in isolation, by IR made by hand.
#include "rldb/ir/verifier.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "rldb/ir/context.h"

using namespace rldb;
using namespace rldb::ir;

namespace {

// Declares `relax.print` impure and infers what a test specifies.
struct FakeTyper : CallTyper {
  const Type* inferred = nullptr;
  bool is_known(std::string_view) const override { return inferred != nullptr; }
  Result<Span<NamedAttr>> complete_attrs(Context&, const CallSpec& call) const override { return call.attrs; }
  Result<const Type*> infer(Context&, const CallSpec&) const override { return inferred; }
  bool is_pure(const Call& call) const override { return as<Op>(call.callee)->name != "relax.print"; }
};

struct Rules {
  Context ctx;
  FakeTyper typer;
  DType f32 = DType::Float(32);
  const Type* t = nullptr;

  Rules() {
    ctx.set_typer(&typer);
    t = tensor({ctx.i64(2)});
  }
  const TensorType* tensor(std::initializer_list<const Expr*> dims) { return ctx.tensor(ctx.list(dims), f32); }
  const Var* var(std::string_view name) { return ctx.var(name, t); }
  const Call* op(std::string_view name, std::initializer_list<const Expr*> args, const Type* type,
                 std::initializer_list<const Type*> ty_args = {}, std::initializer_list<NamedAttr> attrs = {}) {
    return ctx.call_typed(ctx.op(name), ctx.list(args), type, ctx.list(attrs), ctx.list(ty_args));
  }
  const Call* exp(const Expr* x) { return op("relax.exp", {x}, t); }
  const Tuple* tuple(std::initializer_list<const Expr*> items) { return ctx.tuple(ctx.list(items)); }
  const BindingBlock* block(std::initializer_list<const Binding*> b, bool dataflow = false) {
    return ctx.block(ctx.list(b), dataflow);
  }
  const SeqExpr* seq(std::initializer_list<const BindingBlock*> b, const Expr* result) {
    return ctx.seq(ctx.list(b), result);
  }
  const Function* function(std::initializer_list<const Var*> params, const SeqExpr* body, const Type* ret = nullptr,
                           bool pure = true, std::initializer_list<NamedAttr> attrs = {}) {
    return ctx.function(ctx.list(params), body, ret != nullptr ? ret : body->body->type, pure, ctx.list(attrs));
  }
  // The numbers of the rules that a module breaks: "5 7".
  std::string broken(std::initializer_list<ModuleEntry> entries) {
    ModuleBuilder b(ctx);
    for (const ModuleEntry& e : entries) b.set(e.name, e.function);
    return numbers(b.build());
  }
  std::string numbers(const Module* m) {
    source::Diagnostics out;
    bool good = verify(ctx, m, out);
    CHECK(good == out.all().empty());
    std::string result;
    for (const source::Diagnostic& d : out.all()) {
      REQUIRE(d.message.starts_with("[rule "));
      std::string number = d.message.substr(6, d.message.find(']') - 6);
      result += (result.empty() ? "" : " ") + number;
      last = d.message;
    }
    return result;
  }
  std::string broken(const Function* f) { return broken({{"main", f}}); }
  std::string broken(const PrimFunc* f) { return broken({{"kernel", f}}); }
  std::string last;
};

}  // namespace

TEST_CASE("a well-formed function breaks no rule") {
  Rules r;
  const Var *x = r.var("x"), *gv = r.var("gv");
  const Var* lv = r.ctx.dataflow_var("lv", r.t);
  const auto* body = r.seq({r.block({r.ctx.binding(lv, r.exp(x)), r.ctx.binding(gv, r.exp(lv))}, true)}, gv);
  CHECK(r.broken(r.function({x}, body)) == "");
}

TEST_CASE("rule 1: every expression has a type") {
  Rules r;
  const Var* x = r.var("x");
  Var untyped = *r.var("y");
  untyped.type = nullptr;
  const Var* y = &untyped;
  const auto* body = r.seq({r.block({r.ctx.binding(y, r.exp(x))})}, x);
  CHECK(r.broken(r.function({x}, body)) == "1");
}

TEST_CASE("rule 2: global variables exist, names are unique") {
  Rules r;
  const Var *x = r.var("x"), *y = r.var("y");
  const Type* params[] = {r.t};
  const auto* ft = r.ctx.func_type(params, r.t);
  const auto* call = r.ctx.call_typed(r.ctx.global_var("missing", ft), r.ctx.list<const Expr*>({x}), r.t);
  CHECK(r.broken(r.function({x}, r.seq({r.block({r.ctx.binding(y, call)})}, y))) == "2");
  CHECK(r.last.find("`missing`") != std::string::npos);
  const Var* z = r.var("z");
  const auto* f = r.function({z}, r.seq({}, z));
  const Var* w = r.var("w");
  const auto* g = r.function({w}, r.seq({}, w));
  const Module twice{r.ctx.list<ModuleEntry>({{"f", f}, {"f", g}}), {}, {}, {}, "Module"};
  CHECK(r.numbers(&twice) == "2");
}

TEST_CASE("rule 3: a public name is the global_symbol") {
  Rules r;
  const Var* x = r.var("x");
  const auto* f = r.function({x}, r.seq({}, x), nullptr, true, {r.ctx.named("global_symbol", r.ctx.attr("other"))});
  CHECK(r.broken(f) == "3");
}

TEST_CASE("rule 4: a variable is parameter of one function only") {
  Rules r;
  const Var* x = r.var("x");
  CHECK(r.broken({{"f", r.function({x}, r.seq({}, x))}, {"g", r.function({x}, r.seq({}, r.ctx.i64(1)))}}) == "4");
}

TEST_CASE("rule 5: variables are defined before use, symbolic ones too") {
  Rules r;
  const Var *x = r.var("x"), *y = r.var("y"), *z = r.var("z");
  const auto* late = r.seq({r.block({r.ctx.binding(y, r.exp(z)), r.ctx.binding(z, r.exp(x))})}, y);
  CHECK(r.broken(r.function({x}, late)) == "5");
  // A type may not mention an unbound symbolic variable.
  const Var* n = r.ctx.var("n", r.ctx.int64());
  const Var *a = r.ctx.var("a", r.tensor({n})), *b = r.var("b");
  const auto* unbound = r.seq({r.block({r.ctx.binding(a, r.op("relax.exp", {b}, a->type))})}, b);
  CHECK(r.broken(r.function({b}, unbound)) == "5");
  CHECK(r.last == "[rule 5] symbolic variable `n` is never bound");
  // A computed dim does not define its variable.
  const Var* c = r.ctx.var("c", r.tensor({r.ctx.binary(BinaryKind::Mul, n, r.ctx.i64(2))}));
  CHECK(r.broken(r.function({c}, r.seq({}, c))) == "5");
}

TEST_CASE("rule 5: a signature and match_cast define symbolic variables") {
  Rules r;
  const Var* n = r.ctx.var("n", r.ctx.int64());
  const Var* k = r.ctx.var("k", r.ctx.int64());
  const Var* y = r.ctx.var("y", r.tensor({r.ctx.binary(BinaryKind::Add, n, r.ctx.i64(1))}));
  const Var* x = r.ctx.var("x", r.tensor({n}));
  const Var* z = r.ctx.var("z", r.tensor({k}));
  const auto* body = r.seq({r.block({r.ctx.match_cast(z, y, z->type)})}, x);
  CHECK(r.broken(r.function({y, x}, body)) == "");
}

TEST_CASE("rule 6: each variable is defined once") {
  Rules r;
  const Var *x = r.var("x"), *y = r.var("y");
  const auto* body = r.seq({r.block({r.ctx.binding(y, r.exp(x)), r.ctx.binding(y, r.exp(x))})}, y);
  CHECK(r.broken(r.function({x}, body)) == "6");
}

TEST_CASE("rule 7: dataflow variables stay in their block") {
  Rules r;
  const Var *x = r.var("x"), *y = r.var("y");
  const Var* lv = r.ctx.dataflow_var("lv", r.t);
  const auto* escapes =
      r.seq({r.block({r.ctx.binding(lv, r.exp(x))}, true), r.block({r.ctx.binding(y, r.exp(lv))})}, y);
  CHECK(r.broken(r.function({x}, escapes)) == "7");
  const Var* p = r.var("p");
  const Var* outside = r.ctx.dataflow_var("lv", r.t);
  CHECK(r.broken(r.function({p}, r.seq({r.block({r.ctx.binding(outside, r.exp(p))})}, p))) == "7");
}

TEST_CASE("rule 8: variables of a branch are invisible outside") {
  Rules r;
  const Var *x = r.var("x"), *y = r.var("y"), *inner = r.var("inner"), *z = r.var("z");
  const Var* cond = r.ctx.var("cond", r.ctx.tensor(r.ctx.list<const Expr*>({}), DType::Bool()));
  const auto* branch =
      r.ctx.if_expr(cond, r.seq({r.block({r.ctx.binding(inner, r.exp(x))})}, inner), r.seq({}, x), r.t);
  const auto* body = r.seq({r.block({r.ctx.binding(y, branch), r.ctx.binding(z, r.exp(inner))})}, z);
  CHECK(r.broken(r.function({cond, x}, body)) == "8");
}

TEST_CASE("rule 9: sequences only as function and branch bodies") {
  Rules r;
  const Var *x = r.var("x"), *y = r.var("y");
  CHECK(r.broken(r.function({x}, r.seq({r.block({r.ctx.binding(y, r.seq({}, x))})}, y))) == "9");
}

TEST_CASE("rule 10: arguments, fields and conditions are leaves") {
  Rules r;
  const Var *x = r.var("x"), *y = r.var("y");
  CHECK(r.broken(r.function({x}, r.seq({r.block({r.ctx.binding(y, r.exp(r.exp(x)))})}, y))) == "10");
  const Var* p = r.var("p");
  CHECK(r.broken(r.function({p}, r.seq({}, r.exp(p)))) == "10");
  const Var *a = r.var("a"), *b = r.ctx.var("b", r.tuple({r.exp(a)})->type);
  CHECK(r.broken(r.function({a}, r.seq({r.block({r.ctx.binding(b, r.tuple({r.exp(a)}))})}, b))) == "10");
}

TEST_CASE("rule 11: no if in dataflow blocks") {
  Rules r;
  const Var *x = r.var("x"), *y = r.var("y");
  const Var* cond = r.ctx.var("cond", r.ctx.tensor(r.ctx.list<const Expr*>({}), DType::Bool()));
  const auto* branch = r.ctx.if_expr(cond, r.seq({}, x), r.seq({}, x), r.t);
  CHECK(r.broken(r.function({cond, x}, r.seq({r.block({r.ctx.binding(y, branch)}, true)}, y))) == "11");
}

TEST_CASE("rule 12: no impure call in dataflow blocks or pure functions") {
  Rules r;
  const auto* note = r.op("relax.print", {r.ctx.string("")}, r.ctx.void_type());
  auto body = [&](const Var* x, bool dataflow) {
    return r.seq({r.block({r.ctx.binding(r.ctx.var("_", r.ctx.void_type()), note)}, dataflow)}, x);
  };
  const Var *a = r.var("a"), *b = r.var("b"), *c = r.var("c"), *d = r.var("d");
  CHECK(r.broken(r.function({a}, body(a, false))) == "12");
  CHECK(r.broken(r.function({b}, body(b, true), nullptr, false)) == "12");
  CHECK(r.broken(r.function({c}, body(c, false), nullptr, false)) == "");
  NamedAttr force = r.ctx.named("relax.force_pure", r.ctx.attr(true));
  CHECK(r.broken(r.function({d}, body(d, false), nullptr, true, {force})) == "");
}

TEST_CASE("rule 12: a packed function is impure") {
  Rules r;
  const Var *x = r.var("x"), *y = r.var("y");
  const auto* call = r.ctx.call_typed(r.ctx.extern_func("f"), r.ctx.list<const Expr*>({x}), r.t);
  CHECK(r.broken(r.function({x}, r.seq({r.block({r.ctx.binding(y, call)})}, y))) == "12");
}

TEST_CASE("rule 13: force_pure requires is_pure") {
  Rules r;
  const Var* x = r.var("x");
  NamedAttr force = r.ctx.named("relax.force_pure", r.ctx.attr(true));
  CHECK(r.broken(r.function({x}, r.seq({}, x), nullptr, false, {force})) == "13");
}

TEST_CASE("rule 14: no PrimFunc inside of a Relax function") {
  Rules r;
  const Var* x = r.var("x");
  const auto* f = r.ctx.prim_func({}, r.ctx.void_type(), r.ctx.evaluate(r.ctx.i32(0)), {});
  const Var* g = r.ctx.var("g", f->type);
  CHECK(r.broken(r.function({x}, r.seq({r.block({r.ctx.binding(g, f)})}, x))) == "14");
}

TEST_CASE("rule 15: shape values are integers") {
  Rules r;
  const Var* x = r.var("x");
  ShapeExpr s = *r.ctx.shape(r.ctx.list<const Expr*>({r.ctx.i64(2)}));
  s.values = r.ctx.list<const Expr*>({r.ctx.float_imm(r.f32, 2)});
  const Var* y = r.ctx.var("y", r.ctx.shape_type_ndim(1));
  CHECK(r.broken(r.function({x}, r.seq({r.block({r.ctx.binding(y, &s)})}, x))) == "15");
}

TEST_CASE("rule 16: an annotation does not contradict the value's type, nor a call's type its operands") {
  Rules r;
  const Var *x = r.var("x"), *y = r.ctx.var("y", r.tensor({r.ctx.i64(3)}));
  CHECK(r.broken(r.function({x}, r.seq({r.block({r.ctx.binding(y, r.exp(x))})}, x))) == "16");
  const Var *a = r.var("a"), *b = r.ctx.var("b", r.ctx.tensor_ndim(1, r.f32));
  CHECK(r.broken(r.function({a}, r.seq({r.block({r.ctx.binding(b, r.exp(a))})}, b))) == "");
  const Var *p = r.var("p"), *q = r.var("q");
  r.typer.inferred = r.tensor({r.ctx.i64(5)});
  CHECK(r.broken(r.function({p}, r.seq({r.block({r.ctx.binding(q, r.exp(p))})}, q))) == "16");
  r.typer.inferred = nullptr;
  // A declared result is trusted, and so is an annotation more precise than can be proved.
  const Var* u = r.var("u");
  CHECK(r.broken(r.function({u}, r.seq({}, u), r.tensor({r.ctx.i64(9)}))) == "");
  const Var *d = r.ctx.var("d", r.ctx.tensor_ndim(1, r.f32)), *e = r.ctx.var("e", r.tensor({r.ctx.i64(3)}));
  CHECK(r.broken(r.function({d}, r.seq({r.block({r.ctx.binding(e, d)})}, e))) == "");
}

namespace {

// kernel(A: 2 x float32, B: 2 x float32)
const PrimFunc* copy_kernel(Rules& r) {
  Context& c = r.ctx;
  const Expr* two[] = {c.i64(2)};
  const Buffer *a = c.buffer("A", two, r.f32), *b = c.buffer("B", two, r.f32);
  const Var* i = c.var("i", c.int64());
  const Expr* at[] = {i};
  const Stmt* s = c.for_stmt(i, c.i64(0), c.i64(2), ForKind::Serial, c.store(b, c.load(a, at), at));
  return c.prim_func(c.list<PrimParam>({{c.var("a", c.pointer()), a}, {c.var("b", c.pointer()), b}}), c.void_type(), s,
                     {});
}

std::string call_kernel(Rules& r, const Expr* args, const Type* out, std::initializer_list<const Var*> params,
                        std::string_view op = "relax.call_tir", std::initializer_list<NamedAttr> attrs = {}) {
  const PrimFunc* k = copy_kernel(r);
  const auto* call = r.op(op, {r.ctx.global_var("kernel", r.ctx.relax_type_of(k)), args}, out, {out}, attrs);
  const Var* y = r.ctx.var("y", out);
  const auto* f = r.function(params, r.seq({r.block({r.ctx.binding(y, call)})}, y));
  return r.broken({{"kernel", k}, {"main", f}});
}

}  // namespace

TEST_CASE("rule 17: normal form of the call_tir family") {
  Rules r;
  const Var* x = r.var("x");
  CHECK(call_kernel(r, r.tuple({x}), r.t, {x}) == "");
  const Var* packed = r.ctx.var("t", r.tuple({x})->type);
  CHECK(call_kernel(r, packed, r.t, {packed}) == "17");
  const Var *a = r.var("a"), *b = r.var("b");
  CHECK(call_kernel(r, r.tuple({a, b}), r.t, {a, b}) == "17");
  CHECK(r.last.find("`kernel` has 2 parameters, but 2 arguments and 1 output were given") != std::string::npos);
  const Var* c = r.var("c");
  CHECK(call_kernel(r, r.tuple({c}), r.tensor({r.ctx.i64(3)}), {c}) == "17");
  CHECK(r.last.find("but `B` of `kernel` is R.Tensor((2,), dtype=\"float32\")") != std::string::npos);
  auto inplace = [&](std::int64_t at) {
    return r.ctx.named("inplace_indices", r.ctx.attr_ints(std::vector<std::int64_t>{at}));
  };
  const Var *d = r.var("d"), *e = r.var("e"), *g = r.var("g");
  CHECK(call_kernel(r, r.tuple({d, e}), r.t, {d, e}, "relax.call_tir_inplace", {inplace(1)}) == "");
  CHECK(call_kernel(r, r.tuple({g}), r.t, {g}, "relax.call_tir_inplace", {inplace(-1)}) == "17");
}

TEST_CASE("rule 18: a symbolic variable belongs to one function") {
  Rules r;
  const Var* n = r.ctx.var("n", r.ctx.int64());
  const Var *x = r.ctx.var("x", r.tensor({n})), *y = r.ctx.var("y", r.tensor({n}));
  CHECK(r.broken({{"f", r.function({x}, r.seq({}, x))}, {"g", r.function({y}, r.seq({}, y))}}) == "18");
}

TEST_CASE("rule 19: no undefined variable or buffer") {
  Rules r;
  Context& c = r.ctx;
  const Expr* two[] = {c.i64(2)};
  const Buffer *a = c.buffer("A", two, r.f32), *b = c.buffer("B", two, r.f32);
  const Var* i = c.var("i", c.int64());
  const Expr* at[] = {i};
  const Expr* zero[] = {c.i64(0)};
  auto params = c.list<PrimParam>({{c.var("a", c.pointer()), a}});
  CHECK(r.broken(c.prim_func(params, c.void_type(), c.store(a, c.float_imm(r.f32, 0), at), {})) == "19");
  CHECK(r.broken(c.prim_func(params, c.void_type(), c.store(a, c.load(b, zero), zero), {})) == "19");
  // Over memory that has a name, but not declared itself.
  Buffer over = *a;
  over.name = "A_1";
  CHECK(r.broken(c.prim_func(params, c.void_type(), c.store(c.buffer(over), c.float_imm(r.f32, 0), zero), {})) == "19");
}

TEST_CASE("rule 20: no nested redefinition") {
  Rules r;
  Context& c = r.ctx;
  const Var* i = c.var("i", c.int64());
  const Stmt* inner = c.for_stmt(i, c.i64(0), c.i64(2), ForKind::Serial, c.evaluate(i));
  const Stmt* again = c.for_stmt(i, c.i64(0), c.i64(2), ForKind::Serial, inner);
  CHECK(r.broken(c.prim_func({}, c.void_type(), again, {})) == "20");
  const Stmt* both[] = {inner, inner};
  CHECK(r.broken(c.prim_func({}, c.void_type(), c.seq_stmt(both), {})) == "");
}

TEST_CASE("rule 21: block values and domains are sane") {
  Rules r;
  Context& c = r.ctx;
  const Var* v = c.var("v", c.int64());
  SBlock b{};
  b.name = "b";
  b.iter_vars = c.list<IterVar>({{v, {c.i64(0), c.i64(2)}, IterKind::Spatial}});
  b.body = c.evaluate(v);
  SBlockRealize none = *c.realize(c.list<const Expr*>({c.i64(0)}), c.bool_imm(true), c.sblock(b));
  CHECK(r.broken(c.prim_func({}, c.void_type(), &none, {})) == "");
  none.iter_values = {};
  CHECK(r.broken(c.prim_func({}, c.void_type(), &none, {})) == "21");
  b.iter_vars = c.list<IterVar>({{v, {c.i64(0), c.i64(-1)}, IterKind::Spatial}});
  const Stmt* negative = c.realize(c.list<const Expr*>({c.i64(0)}), c.bool_imm(true), c.sblock(b));
  CHECK(r.broken(c.prim_func({}, c.void_type(), negative, {})) == "21");
}

TEST_CASE("rule 22: as many indices as dims") {
  Rules r;
  Context& c = r.ctx;
  const Expr* two[] = {c.i64(2)};
  const Buffer* a = c.buffer("A", two, r.f32);
  BufferStore s = *as<BufferStore>(c.store(a, c.float_imm(r.f32, 0), two));
  s.indices = c.list<const Expr*>({c.i64(0), c.i64(1)});
  auto params = c.list<PrimParam>({{c.var("a", c.pointer()), a}});
  CHECK(r.broken(c.prim_func(params, c.void_type(), &s, {})) == "22");
}

TEST_CASE("findings carry the place of the binding and of the definition") {
  Rules r;
  const Var *x = r.var("x"), *y = r.var("y");
  const Binding* second = r.ctx.binding(y, r.exp(x));
  const auto* body = r.seq({r.block({r.ctx.binding(y, r.exp(x)), second})}, y);
  source::Span definition{source::FileId{1}, 10, 11};
  source::Span use{source::FileId{1}, 20, 30};
  r.ctx.spans().set(y, definition);
  r.ctx.spans().set(second, use);
  ModuleBuilder b(r.ctx);
  b.set("main", r.function({x}, body));
  source::Diagnostics out;
  CHECK_FALSE(verify(r.ctx, b.build(), out));
  REQUIRE(out.all().size() == 1);
  CHECK(out.all()[0].span == use);
  REQUIRE(out.all()[0].notes.size() == 1);
  CHECK(out.all()[0].notes[0].span == definition);
}

TEST_CASE("nesting without end is reported, not followed") {
  Rules r;
  const Var* x = r.var("x");
  const Var* cond = r.ctx.var("cond", r.ctx.tensor(r.ctx.list<const Expr*>({}), DType::Bool()));
  const SeqExpr* s = r.seq({}, x);
  for (int k = 0; k < 5000; ++k) {
    const Var* v = r.var("v");
    s = r.seq({r.block({r.ctx.binding(v, r.ctx.if_expr(cond, s, r.seq({}, x), r.t))})}, v);
  }
  ModuleBuilder b(r.ctx);
  b.set("main", r.function({cond, x}, s));
  source::Diagnostics out;
  CHECK_FALSE(verify(r.ctx, b.build(), out));
  REQUIRE(out.all().size() == 1);
  CHECK(out.all()[0].message.starts_with("[limit]"));
}

TEST_CASE("100,000 bindings") {
  Rules r;
  const Var *x = r.var("x"), *last = x;
  std::vector<const Binding*> bindings;
  for (int k = 0; k < 100000; ++k) {
    const Var* v = r.var("lv");
    bindings.push_back(r.ctx.binding(v, r.exp(last)));
    last = v;
  }
  CHECK(r.broken(r.function({x}, r.seq({r.ctx.block(bindings)}, last))) == "");
}
