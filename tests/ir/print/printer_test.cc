#include "rldb/ir/printer.h"

#include <doctest/doctest.h>

#include "rldb/ir/context.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/runtime/value.h"

using namespace rldb;
using namespace rldb::ir;

namespace {

// Short builders, so that a test reads like the text it expects.
struct Maker {
  Context ctx;
  DType f32 = DType::Float(32);
  DType i32 = DType::Int(32);
  DType i64 = DType::Int(64);

  const Var* sym(std::string_view name) { return ctx.var(name, ctx.int64()); }
  const TensorType* tensor(std::initializer_list<const Expr*> dims, DType t = DType::Float(32)) {
    return ctx.tensor(ctx.list(dims), t);
  }
  const Call* op(std::string_view name, std::initializer_list<const Expr*> args, const Type* type,
                 std::initializer_list<NamedAttr> attrs = {}, std::initializer_list<const Type*> ty_args = {}) {
    return ctx.call_typed(ctx.op(name), ctx.list(args), type, ctx.list(attrs), ctx.list(ty_args));
  }
  const Tuple* tuple(std::initializer_list<const Expr*> items) { return ctx.tuple(ctx.list(items)); }
  const BindingBlock* block(std::initializer_list<const Binding*> b, bool dataflow = false) {
    return ctx.block(ctx.list(b), dataflow);
  }
  const SeqExpr* seq(std::initializer_list<const BindingBlock*> b, const Expr* result) {
    return ctx.seq(ctx.list(b), result);
  }
  const Function* function(std::initializer_list<const Var*> params, const SeqExpr* body,
                           std::initializer_list<NamedAttr> attrs, bool pure = true) {
    return ctx.function(ctx.list(params), body, body->body->type, pure, ctx.list(attrs));
  }
  NamedAttr global_symbol(std::string_view name) { return ctx.named("global_symbol", ctx.attr(name)); }
  const Module* module(std::initializer_list<ModuleEntry> entries) {
    ModuleBuilder b(ctx);
    for (const ModuleEntry& e : entries) b.set(e.name, e.function);
    return b.build();
  }
  runtime::Value value(std::vector<std::int64_t> shape, DType t, std::initializer_list<double> data) {
    auto x = runtime::Tensor::empty(std::move(shape), t).value();
    std::size_t k = 0;
    for (double v : data) runtime::store_double(x->data() + t.bytes() * k++, t, v);
    return runtime::Value(x);
  }
};

// C = A * B with a reduction, symbolic in n.
const PrimFunc* matmul(Maker& m, DType index) {
  Context& c = m.ctx;
  const Var* n = c.var("n", c.prim(index));
  auto num = [&](std::int64_t v) { return c.int_imm(index, v); };
  auto buffer = [&](std::string_view name, const Expr* a, const Expr* b) {
    return c.buffer(name, c.list<const Expr*>({a, b}), m.f32);
  };
  const Buffer* a = buffer("A", n, num(16));
  const Buffer* b = buffer("B", num(16), num(32));
  const Buffer* out = buffer("C", n, num(32));
  auto var = [&](std::string_view name) { return c.var(name, c.prim(index)); };
  const Var *i = var("i"), *j = var("j"), *k = var("k"), *vi = var("vi"), *vj = var("vj"), *vk = var("vk");
  auto at = [&](const Expr* x, const Expr* y) { return c.list<const Expr*>({x, y}); };
  SBlock block{};
  block.name = "matmul";
  block.iter_vars = c.list<IterVar>({{vi, {num(0), n}, IterKind::Spatial},
                                     {vj, {num(0), num(32)}, IterKind::Spatial},
                                     {vk, {num(0), num(16)}, IterKind::Reduce}});
  auto point = [&](const Buffer* x, const Expr* p, const Expr* q) {
    return BufferRegion{x, c.list<Range>({{p, num(1)}, {q, num(1)}})};
  };
  block.reads = c.list<BufferRegion>({point(a, vi, vk), point(b, vk, vj)});
  block.writes = c.list<BufferRegion>({point(out, vi, vj)});
  block.init = c.store(out, c.float_imm(m.f32, 0), at(vi, vj));
  const Expr* product = c.binary(BinaryKind::Mul, c.load(a, at(vi, vk)), c.load(b, at(vk, vj)));
  block.body = c.store(out, c.binary(BinaryKind::Add, c.load(out, at(vi, vj)), product), at(vi, vj));
  const Stmt* s = c.realize(c.list<const Expr*>({i, j, k}), c.bool_imm(true), c.sblock(block));
  s = c.for_stmt(k, num(0), num(16), ForKind::Serial, s);
  s = c.for_stmt(j, num(0), num(32), ForKind::Serial, s);
  s = c.for_stmt(i, num(0), n, ForKind::Serial, s);
  SBlock root{};
  root.name = "root";
  root.body = s;
  s = c.realize({}, c.bool_imm(true), c.sblock(root));
  auto handle = [&](std::string_view name) { return c.var(name, c.pointer()); };
  auto params = c.list<PrimParam>({{handle("a"), a}, {handle("b"), b}, {handle("c"), out}});
  return c.prim_func(params, c.void_type(), s, c.list({c.named("tirx.noalias", c.attr(true))}));
}

}  // namespace

TEST_CASE("types in today's spelling") {
  Maker m;
  Context& c = m.ctx;
  const Var* n = m.sym("n");
  CHECK(print_type(c.any()) == "R.Any");
  CHECK(print_type(c.prim(m.i64)) == "T.int64");
  CHECK(print_type(m.tensor({n, c.i64(4)})) == "R.Tensor((n, 4), dtype=\"float32\")");
  CHECK(print_type(m.tensor({c.i64(4)}, DType::Void())) == "R.Tensor((4,))");
  CHECK(print_type(m.tensor({})) == "R.Tensor((), dtype=\"float32\")");
  CHECK(print_type(c.tensor_ndim(2, m.f32)) == "R.Tensor(dtype=\"float32\", ndim=2)");
  CHECK(print_type(c.tensor_ndim(-1, DType::Void())) == "R.Tensor");
  CHECK(print_type(c.shape_type(c.list<const Expr*>({n, c.i64(2)}))) == "R.Shape([n, 2])");
  CHECK(print_type(c.shape_type_ndim(-1)) == "R.Shape(ndim=-1)");
  CHECK(print_type(c.void_type()) == "R.Tuple");
  const Type* pair[] = {c.any(), c.shape_type_ndim(2)};
  CHECK(print_type(c.tuple_type(pair)) == "R.Tuple(R.Any, R.Shape(ndim=2))");
  const Type* one[] = {c.any()};
  CHECK(print_type(c.func_type(one, c.any())) == "R.Callable((R.Any,), R.Any, True)");
  CHECK(print_type(c.opaque_func_type()) == "R.Callable");
  CHECK(print_type(c.opaque_func_type(c.shape_type_ndim(1), true)) == "R.Callable(ret=R.Shape(ndim=1), purity=True)");
}

TEST_CASE("types in older spellings") {
  Maker m;
  Context& c = m.ctx;
  const Var* n = m.sym("n");
  PrintOptions sinfo;
  sinfo.syntax = Syntax::Sinfo;
  CHECK(print_type(c.any(), sinfo) == "R.Object");
  CHECK(print_type(c.int64(), sinfo) == "R.Prim(\"int64\")");
  PrintOptions rfc;
  rfc.syntax = Syntax::Rfc;
  CHECK(print_type(m.tensor({n, c.i64(4)}), rfc) == "R.Tensor[(n, 4), \"float32\"]");
  CHECK(print_type(m.tensor({n}, DType::Void()), rfc) == "R.Tensor[(n,), _]");
  CHECK(print_type(c.tensor_ndim(-1, m.f32), rfc) == "R.Tensor[_, \"float32\"]");
}

TEST_CASE("scalar expressions keep the parentheses they need, and no others") {
  Maker m;
  Context& c = m.ctx;
  const Var* n = m.sym("n");
  const Var* k = m.sym("k");
  auto bin = [&](BinaryKind kind, const Expr* a, const Expr* b) { return c.binary(kind, a, b); };
  using enum BinaryKind;
  CHECK(print_expr(bin(Mul, bin(BinaryKind::Add, n, c.i64(1)), c.i64(4))) == "(n + 1) * 4");
  CHECK(print_expr(bin(Sub, n, bin(Sub, k, c.i64(1)))) == "n - (k - 1)");
  CHECK(print_expr(bin(Sub, bin(Sub, n, k), c.i64(1))) == "n - k - 1");
  CHECK(print_expr(bin(FloorMod, bin(Mul, n, c.i64(2)), k)) == "n * 2 % k");
  CHECK(print_expr(bin(Mul, n, bin(FloorDiv, k, c.i64(2)))) == "n * (k // 2)");
  CHECK(print_expr(bin(Max, n, c.i64(1))) == "T.max(n, 1)");
  CHECK(print_expr(bin(Div, n, c.i64(2))) == "T.Div(n, 2)");
  CHECK(print_expr(bin(Mod, n, c.i64(2))) == "T.truncmod(n, 2)");
  // An expression that would fold when parsed is written as a node.
  CHECK(print_expr(bin(BinaryKind::Add, c.i64(3), c.i64(4))) == "T.Add(3, 4)");
  CHECK(print_expr(bin(BinaryKind::Add, n, c.i64(0))) == "T.Add(n, 0)");
  CHECK(print_expr(bin(LT, c.i64(3), c.i64(4))) == "T.LT(3, 4)");
  const Expr* less = bin(LT, n, k);
  CHECK(print_expr(bin(Or, bin(And, less, less), less)) == "n < k and n < k or n < k");
  CHECK(print_expr(bin(And, bin(Or, less, less), less)) == "(n < k or n < k) and n < k");
  CHECK(print_expr(c.not_(bin(And, less, less))) == "not (n < k and n < k)");
  CHECK(print_expr(c.not_(c.bool_imm(true))) == "T.Not(True)");
  CHECK(print_expr(bin(EQ, less, less)) == "(n < k) == (n < k)");
  CHECK(print_expr(c.i32(5)) == "T.int32(5)");
  CHECK(print_expr(c.float_imm(m.f32, 1e-5)) == "T.float32(1.0000000000000001e-05)");
  CHECK(print_expr(c.float_imm(m.f32, -std::numeric_limits<double>::infinity())) == "T.float32(\"-inf\")");
  CHECK(print_expr(c.cast(m.f32, n)) == "T.Cast(\"float32\", n)");
  CHECK(print_expr(c.intrin(m.f32, ir::intrin::Exp, {c.float_imm(m.f32, 2)})) == "T.exp(T.float32(2.0))");
}

TEST_CASE("a deep chain prints without recursion") {
  Maker m;
  const Expr* e = m.sym("n");
  for (int k = 0; k < 100000; ++k) e = m.ctx.binary(BinaryKind::Add, e, m.ctx.i64(1));
  CHECK(print_expr(e).size() == 1 + 4 * 100000);
}

TEST_CASE("a module of Relax and TensorIR, in TVM's layout") {
  Maker m;
  Context& c = m.ctx;
  const Var* n = m.sym("n");
  const Type* in = m.tensor({n, c.i64(16)});
  const Type* w_type = m.tensor({c.i64(16), c.i64(32)});
  const Type* out = m.tensor({n, c.i64(32)});
  const Var* x = c.var("x", in);
  const Var* w = c.var("w", w_type);
  const Var* lv = c.dataflow_var("lv", out);
  const Var* gv = c.var("gv", out);
  const auto* tir = matmul(m, m.i64);
  const auto* callee = c.global_var("matmul", c.relax_type_of(tir));
  const Call* call = m.op("relax.call_tir", {callee, m.tuple({x, w})}, out, {}, {out});
  const Call* relu = m.op("relax.nn.relu", {lv}, out);
  const auto* f = m.function({x, w}, m.seq({m.block({c.binding(lv, call), c.binding(gv, relu)}, true)}, gv),
                             {m.global_symbol("main")});
  const Module* mod = m.module({{"main", f}, {"matmul", tir}});
  const char* expected = R"py(# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def matmul(A: T.Buffer((n, T.int64(16)), "float32"), B: T.Buffer((T.int64(16), T.int64(32)), "float32"), C: T.Buffer((n, T.int64(32)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i, j, k in T.grid(n, T.int64(32), T.int64(16)):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0.0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @R.function
    def main(x: R.Tensor((n, 16), dtype="float32"), w: R.Tensor((16, 32), dtype="float32")) -> R.Tensor((n, 32), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.matmul, (x, w), out_ty=R.Tensor((n, 32), dtype="float32"))
            gv: R.Tensor((n, 32), dtype="float32") = R.nn.relu(lv)
            R.output(gv)
        return gv)py";
  CHECK(print(mod) == expected);

  PrintOptions sinfo;
  sinfo.syntax = Syntax::Sinfo;
  std::string old = print(mod, sinfo);
  CHECK(old.find("from tvm.script import tir as T") != std::string::npos);
  CHECK(old.find("    @T.prim_func(private=True)\n    def matmul(a: T.handle, B: T.Buffer(") != std::string::npos);
  CHECK(old.find("        T.func_attr({\"tir.noalias\": True})\n        n = T.int64()\n"
                 "        A = T.match_buffer(a, (n, T.int64(16)))\n") != std::string::npos);
  CHECK(old.find("with T.block(\"matmul\"):") != std::string::npos);
  CHECK(old.find("def main(x: R.Tensor((\"n\", 16), dtype=\"float32\")") != std::string::npos);
  CHECK(old.find(":\n        n = T.int64()\n        cls = Module\n") != std::string::npos);
  CHECK(old.find("out_sinfo=R.Tensor((n, 32), dtype=\"float32\"))") != std::string::npos);

  PrintOptions rfc;
  rfc.syntax = Syntax::Rfc;
  std::string first = print(mod, rfc);
  CHECK(first.find("@tvm.script.ir_module\nclass Module:") != std::string::npos);
  CHECK(first.find("lv = R.call_tir(matmul, (x, w), (n, 32), dtype=\"float32\")") != std::string::npos);
  CHECK(first.find("R.outputs(gv)") != std::string::npos);
  CHECK(first.find("n = T.var(\"int64\")") != std::string::npos);
  CHECK(unsayable(mod, Syntax::Current).empty());
  CHECK(unsayable(mod, Syntax::Rfc).empty());
}

TEST_CASE("int32 shapes are quoted where they are first met") {
  Maker m;
  std::string text = print_function("matmul", matmul(m, m.i32));
  CHECK(text.find("def matmul(A: T.Buffer((\"n\", 16), \"float32\"), B: T.Buffer((16, 32), \"float32\"), "
                  "C: T.Buffer((n, 32), \"float32\")):\n    n = T.int32()\n    T.func_attr(") != std::string::npos);
  CHECK(text.find("for i, j, k in T.grid(n, 32, 16):") != std::string::npos);
}

TEST_CASE("computed dims of a signature are strings") {
  Maker m;
  Context& c = m.ctx;
  const Var* n = m.sym("n");
  const Var* x = c.var("x", m.tensor({n}));
  const Var* y = c.var("y", m.tensor({c.binary(BinaryKind::Mul, n, c.i64(4))}));
  const auto* f = m.function({x, y}, m.seq({}, y), {m.global_symbol("f")});
  PrintOptions options;
  options.header = false;
  CHECK(print_function("f", f, options) ==
        "n = TypeVar(\"n\")\n@R.function\ndef f(x: R.Tensor((n,), dtype=\"float32\"), y: R.Tensor((\"n * 4\",), "
        "dtype=\"float32\")) -> R.Tensor((\"n * 4\",), dtype=\"float32\"):\n    return y");
  options.pep695 = true;
  CHECK(print_function("f", f, options).find("def f[n](x: R.Tensor((n,), dtype=\"float32\"), y: R.Tensor((n * 4,)") !=
        std::string::npos);
}

TEST_CASE("branches, local functions, void calls, match_cast") {
  Maker m;
  Context& c = m.ctx;
  const Type* t = m.tensor({c.i64(2)});
  const Var* cond = c.var("cond", m.tensor({}, DType::Bool()));
  const Var* x = c.var("x", t);
  const Var* inner_x = c.var("x", t);
  const Var* y = c.var("y", t);
  const auto* local = m.function({inner_x}, m.seq({}, inner_x), {});
  const Var* g = c.var("g", local->type);
  const Call* g_call = c.call_typed(g, c.list<const Expr*>({x}), t);
  const Var* a = c.var("y", t);
  const If* branch = c.if_expr(cond, m.seq({m.block({c.binding(a, g_call)})}, a), m.seq({}, x), t);
  const Call* note = m.op("relax.print", {c.string("hi"), y}, c.void_type());
  const Var* k = m.sym("k");
  const Type* matched = m.tensor({k});
  const Var* z = c.var("z", c.tensor_ndim(1, m.f32));
  const auto* f = m.function({cond, x},
                             m.seq({m.block({c.binding(g, local), c.binding(y, branch),
                                             c.binding(c.var("_", c.void_type()), note), c.match_cast(z, y, matched)})},
                                   z),
                             {m.global_symbol("main")}, false);
  CHECK(print_function("main", f) == R"py(# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

@R.function(pure=False)
def main(cond: R.Tensor((), dtype="bool"), x: R.Tensor((2,), dtype="float32")) -> R.Tensor(dtype="float32", ndim=1):
    k = T.int64()
    # from tvm.script import relax as R
    
    @R.function
    def g(x_1: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        return x_1

    if cond:
        y_1: R.Tensor((2,), dtype="float32") = g(x)
        y: R.Tensor((2,), dtype="float32") = y_1
    else:
        y: R.Tensor((2,), dtype="float32") = x
    R.print(y, format=R.str("hi"))
    z: R.Tensor(dtype="float32", ndim=1) = R.match_cast(y, R.Tensor((k,), dtype="float32"))
    return z)py");
}

TEST_CASE("constants: scalars in place, others in the metadata") {
  Maker m;
  Context& c = m.ctx;
  CHECK(print_expr(c.constant(m.value({}, m.f32, {1.5}))) == "R.const(1.5, \"float32\")");
  CHECK(print_expr(c.constant(m.value({}, DType::Bool(), {1}))) == "R.const(True, \"bool\")");
  CHECK(print_expr(c.constant(m.value({}, DType::Int(8), {-3}))) == "R.const(-3, \"int8\")");
  CHECK(print_expr(c.constant(m.value({}, DType::UInt(8), {3}))) == "metadata[\"relax.expr.Constant\"][0]");
  const Constant* big = c.constant(m.value({2}, m.f32, {1, 2}));
  const Var* x = c.var("x", big->type);
  const auto* f = m.function({}, m.seq({m.block({c.binding(x, big)})}, x), {m.global_symbol("main")});
  const Module* mod = m.module({{"main", f}});
  std::string plain = print(mod);
  CHECK(plain.find("x: R.Tensor((2,), dtype=\"float32\") = metadata[\"relax.expr.Constant\"][0]") != std::string::npos);
  CHECK(plain.ends_with("\n\n# Metadata omitted. Use show_meta=True in script() method to show it."));
  PrintOptions options;
  options.show_meta = true;
  std::string full = print(mod, options);
  CHECK(full.starts_with("metadata = tvm.ir.load_json(\"\"\"{\n  \\\"root_index\\\": 12,\n"));
  // magic, device, ndim 1, float32, shape 2, 8 bytes, 1.0f 2.0f
  CHECK(full.find("\\\"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAAEA=\\\"") !=
        std::string::npos);
  CHECK(full.find("}\"\"\")\n# from tvm.script import ir as I\n") != std::string::npos);
}

TEST_CASE("names: taken ones get a number, reserved ones too") {
  Maker m;
  Context& c = m.ctx;
  const Type* t = m.tensor({});
  const Var *r = c.var("R", t), *cls = c.var("cls", t), *a = c.var("x", t), *b = c.var("x", t), *kw = c.var("in", t),
            *odd = c.var("a.b", t), *none = c.var("", t);
  const auto* f = m.function({r, cls, a, b, kw, odd, none}, m.seq({}, b), {m.global_symbol("main")});
  std::string text = print(m.module({{"main", f}}));
  for (const char* name : {"R_1: ", "cls_1: ", "x: ", "x_1: ", "in_1: ", "a_b: ", "v: "})
    CHECK_MESSAGE(text.find(name) != std::string::npos, name);
  CHECK(text.find("return x_1") != std::string::npos);
}

TEST_CASE("attributes") {
  Maker m;
  Context& c = m.ctx;
  CHECK(print_attr(c.attr_none()) == "None");
  CHECK(print_attr(c.attr(true)) == "True");
  CHECK(print_attr(c.attr(0.1)) == "0.10000000000000001");
  CHECK(print_attr(c.attr(1.0)) == "1.0");
  CHECK(print_attr(c.attr("a\"b\n")) == "\"a\\\"b\\n\"");
  const Attr* items[] = {c.attr(1), c.attr("x")};
  CHECK(print_attr(c.attr_list(items)) == "[1, \"x\"]");
  CHECK(print_attr(c.attr_list(std::span(items, 1), true)) == "(1,)");
  const NamedAttr fields[] = {c.named("b", c.attr(1)), c.named("a", c.attr(m.f32))};
  CHECK(print_attr(c.attr_dict(fields)) == "{\"a\": \"float32\", \"b\": 1}");
  const Attr* map[] = {c.attr_node(c.lambda(c.list<const Var*>({m.sym("i")}), c.list<const Expr*>({m.sym("j")})))};
  CHECK(print_attr(c.attr_opaque("T.index_map", map, {})) == "T.index_map(lambda i: (j,))");
}

TEST_CASE("calls with forms of their own") {
  Maker m;
  Context& c = m.ctx;
  const Type* t = m.tensor({});
  const Var* x = c.var("x", t);
  const auto* ext = c.extern_func("f");
  CHECK(print_expr(c.call_typed(ext, c.list<const Expr*>({x}), t, {}, c.list<const Type*>({t}))) ==
        "R.call_packed(\"f\", x, ty_args=(R.Tensor((), dtype=\"float32\"),))");
  CHECK(print_expr(m.op("relax.call_pure_packed", {ext, x}, t, {}, {c.any()})) ==
        "R.call_pure_packed(\"f\", x, ty_args=(R.Any,))");
  CHECK(print_expr(m.op("relax.assert_op", {x, c.string("bad {}"), x}, c.void_type())) ==
        "R.assert_op(x, x, format=R.str(\"bad {}\"))");
  CHECK(print_expr(m.op("relax.call_tir_inplace", {c.global_var("g", c.any()), m.tuple({x})}, t,
                        {c.named("inplace_indices", c.attr_ints(std::vector<std::int64_t>{0}))}, {t})) ==
        "R.call_tir_inplace(cls.g, (x,), out_ty=R.Tensor((), dtype=\"float32\"), inplace_indices=[0])");
  CHECK(print_expr(m.op("relax.reshape", {x, c.shape(c.list<const Expr*>({c.i64(2)}))}, t)) ==
        "R.reshape(x, R.shape([2]))");
  CHECK(print_expr(c.dtype(m.f32)) == "R.dtype(\"float32\")");
  CHECK(print_expr(m.tuple({})) == "R.tuple()");
  CHECK(print_expr(c.extern_func("g")) == "R.ExternFunc(\"g\")");
}

namespace {

struct Numbered : Decorator {
  std::vector<const Node*> nodes;
  std::string gutter(const Node* n) override { return n == mark ? "=> " : "   "; }
  std::string trailer(const Node* n) override { return n == mark ? "  # 1.0" : ""; }
  std::string below(const Node* n) override { return n == mark ? "^^^\n" : ""; }
  void line(int number, const Node* n) override {
    CHECK(number == int(nodes.size()) + 1);
    nodes.push_back(n);
  }
  const Node* mark = nullptr;
};

}  // namespace

TEST_CASE("decorated: gutter, trailer, lines below, and the node of each line") {
  Maker m;
  Context& c = m.ctx;
  const Type* t = m.tensor({});
  const Var *x = c.var("x", t), *y = c.var("y", t);
  const Binding* b = c.binding(y, m.op("relax.exp", {x}, t));
  const auto* f = m.function({x}, m.seq({m.block({b})}, y), {m.global_symbol("main")});
  Numbered d;
  d.mark = b;
  PrintOptions options;
  options.header = false;
  std::string text = print_function("main", f, options, &d);
  CHECK(text ==
        "   @R.function\n   def main(x: R.Tensor((), dtype=\"float32\")) -> R.Tensor((), dtype=\"float32\"):\n"
        "=>     y: R.Tensor((), dtype=\"float32\") = R.exp(x)  # 1.0\n^^^\n       return y");
  REQUIRE(d.nodes.size() == 4);
  CHECK(d.nodes[0] == f);
  CHECK(d.nodes[1] == f);
  CHECK(d.nodes[2] == b);
  CHECK(d.nodes[3] == f->body);
}

TEST_CASE("100,000 bindings of one name") {
  Maker m;
  Context& c = m.ctx;
  const Type* t = m.tensor({});
  const Var* last = c.var("x", t);
  const Var* x = last;
  std::vector<const Binding*> bindings;
  for (int k = 0; k < 100000; ++k) {
    const Var* v = c.var("lv", t);
    bindings.push_back(c.binding(v, m.op("relax.exp", {last}, t)));
    last = v;
  }
  const auto* f = m.function({x}, m.seq({c.block(bindings)}, last), {m.global_symbol("main")});
  std::string text = print(m.module({{"main", f}}));
  CHECK(text.find("lv_99999: ") != std::string::npos);
}
