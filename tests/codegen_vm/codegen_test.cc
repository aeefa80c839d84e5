// Code generation from lowered Relax built by hand: the code, its debug info, and its results on the machine.
#include <doctest/doctest.h>

#include "rldb/bytecode/builtin/absent.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/bytecode/serialise.h"
#include "rldb/codegen/vm/compile.h"
#include "rldb/source/diagnostic_codegen.h"
#include "rldb/vm/machine.h"

using namespace rldb;
using namespace rldb::ir;
using bytecode::Executable;
using runtime::Value;

namespace {

// Writes functions of a module, binding by binding.
class Writer {
 public:
  void begin(std::vector<const Var*> params) {
    params_ = std::move(params);
    frames_.assign(1, {});
  }
  const Var* bind(std::string_view name, const Expr* value) {
    const Var* v = ctx.var(name, value->type);
    frames_.back().push_back(ctx.binding(v, value));
    return v;
  }
  const Var* match_cast(std::string_view name, const Expr* value, const Type* type) {
    const Var* v = ctx.var(name, type);
    frames_.back().push_back(ctx.match_cast(v, value, type));
    return v;
  }
  void open() { frames_.emplace_back(); }
  const SeqExpr* close(const Expr* result) {
    std::vector<const BindingBlock*> blocks;
    if (!frames_.back().empty()) blocks.push_back(ctx.block(frames_.back()));
    frames_.pop_back();
    return ctx.seq(blocks, result);
  }
  void end(std::string_view name, const Expr* result) {
    const Type* type = result->type;
    module.set(name, ctx.function(params_, close(result), type, true, {}));
  }

  const Call* packed(std::string_view symbol, std::vector<const Expr*> args, const Type* type = nullptr) {
    return ctx.call_typed(ctx.extern_func(symbol), args, type ? type : ctx.any());
  }
  const Call* op(std::string_view name, std::vector<const Expr*> args, const Type* type = nullptr) {
    return ctx.call_typed(ctx.op(name), args, type ? type : ctx.any());
  }
  const Call* builtin(std::string_view symbol, std::vector<const Expr*> args, const Type* type = nullptr) {
    return op("relax.call_builtin_with_ctx", {ctx.extern_func(symbol), ctx.tuple(args)}, type);
  }

  Result<Executable> compile() {
    diagnostics.clear();
    return codegen::compile_vm(ctx, module.build(), diagnostics);
  }
  Executable good() {
    auto exe = compile();
    REQUIRE_MESSAGE(exe.ok(), (exe.ok() ? std::string() : diagnostics.all()[0].message));
    REQUIRE(bytecode::verify(exe.value()).ok());
    return std::move(exe).value();
  }

  Context ctx;
  ModuleBuilder module{ctx};
  source::Diagnostics diagnostics;

 private:
  std::vector<const Var*> params_;
  std::vector<std::vector<const Binding*>> frames_;
};

class Runner {
 public:
  explicit Runner(Executable exe) {
    registry.register_function(
        "add", [](vm::PackedArgs a) -> runtime::Result<Value> { return Value::of_int(a[0].as_int() + a[1].as_int()); });
    vm::Environment env;
    env.registry = &registry;
    auto linked = vm::Program::link(std::make_shared<const Executable>(std::move(exe)), env);
    REQUIRE(linked.ok());
    program = linked.value();
  }
  Value run(const char* f, std::vector<Value> args) {
    vm::Outcome o = vm::call(program, f, args);
    REQUIRE_MESSAGE(o.finished(), (o.fault ? o.fault->error.message : std::string()));
    return o.value;
  }
  runtime::PackedRegistry registry;
  std::shared_ptr<const vm::Program> program;
};

Value I(std::int64_t v) { return Value::of_int(v); }

}  // namespace

TEST_CASE("straight code: constants, immediates, tuples, copies, names") {
  Writer w;
  const Var* x = w.ctx.var("x", w.ctx.int64());
  w.begin({x});
  const Var* a = w.bind("a", w.packed("add", {x, w.ctx.i64(5)}));
  const Var* b = w.bind("b", a);
  const Var* t = w.bind("t", w.ctx.tuple(std::vector<const Expr*>{a, b, w.ctx.string("s")}));
  const Var* g = w.bind("g", w.ctx.tuple_get(t, 1).value());
  const Var* big = w.bind("big", w.packed("add", {g, w.ctx.i64(std::int64_t(1) << 60)}));
  w.end("main", big);
  Executable exe = w.good();
  CHECK(as_text(exe) ==
        "@main:\n"
        "  call  add              in: %0, i5       dst: %1\n"
        "  call  vm.builtin.copy  in: %1           dst: %2\n"
        "  call  vm.builtin.make_tuple in: %1, %2, c[0] dst: %3\n"
        "  call  vm.builtin.tuple_getitem in: %3, i1       dst: %1\n"
        "  call  add              in: %1, c[1]     dst: %2\n"
        "  ret   %2\n"
        "\n"
        "@add packed_func;\n"
        "\n"
        "@vm.builtin.copy packed_func;\n"
        "\n"
        "@vm.builtin.make_tuple packed_func;\n"
        "\n"
        "@vm.builtin.tuple_getitem packed_func;\n"
        "\n");
  CHECK(exe.functions[0].register_file_size == 4);
  // The names follow the registers: %1 is `a` until `g` overwrites it.
  CHECK(exe.debug.variable_at(0, 1, 1)->name == "a");
  CHECK(exe.debug.variable_at(0, 1, 3)->name == "a");
  CHECK(exe.debug.variable_at(0, 1, 4)->name == "g");
  CHECK(exe.debug.variable_at(0, 0, 5)->is_parameter);
  CHECK(exe.debug.variable_at(0, 0, 5)->type == "T.int64");
  CHECK(exe.debug.instruction(0)->variable == "a");
  CHECK(exe.debug.instruction(0)->binding == a->id);
  Runner r(exe);
  CHECK(r.run("main", {I(1)}).as_int() == 6 + (std::int64_t(1) << 60));
}

TEST_CASE("a name that a listing cannot show is refused") {
  for (const char* name : {"\x1b[2J", "a\nb", "a\x7f", "\xc2\x9b"}) {
    Writer w;
    w.begin({});
    w.end("main", w.bind("x", w.packed(name, {})));
    CHECK(!w.compile().ok());
    REQUIRE(w.diagnostics.all().size() == 1);
    CHECK(w.diagnostics.all()[0].id == source::DiagId(diag::FunctionNameNotText));
  }
}

TEST_CASE("a conditional writes one register in both branches") {
  Writer w;
  const Var* c = w.ctx.var("c", w.ctx.boolean());
  const Var* x = w.ctx.var("x", w.ctx.int64());
  w.begin({c, x});
  w.open();
  const Var* p = w.bind("p", w.packed("add", {x, w.ctx.i64(1)}, w.ctx.int64()));
  const SeqExpr* yes = w.close(p);
  w.open();
  const SeqExpr* no = w.close(x);
  const Var* r = w.bind("r", w.ctx.if_expr(c, yes, no, w.ctx.int64()));
  w.end("main", r);
  Executable exe = w.good();
  CHECK(as_text(exe).find("@main:\n"
                          "  call  vm.builtin.read_if_cond in: %0           dst: %2\n"
                          "  If    %2, 4\n"
                          "  call  add              in: %1, i1       dst: %2\n"
                          "  call  vm.builtin.copy  in: %2           dst: %3\n"
                          "  goto  2\n"
                          "  call  vm.builtin.copy  in: %1           dst: %3\n"
                          "  ret   %3\n") == 0);
  CHECK(exe.debug.variable_at(0, 2, 3)->name == "p");
  CHECK(exe.debug.variable_at(0, 2, 5) == nullptr);  // not in the other branch
  CHECK(exe.debug.variable_at(0, 3, 6)->name == "r");
  Runner run(exe);
  CHECK(run.run("main", {Value::of_bool(true), I(4)}).as_int() == 5);
  CHECK(run.run("main", {Value::of_bool(false), I(4)}).as_int() == 4);
}

TEST_CASE("calls of functions, of closures, recursion; void results have no register") {
  Writer w;
  const Type* i64 = w.ctx.int64();
  const Var* n = w.ctx.var("n", i64);
  const Type* ft = w.ctx.func_type(std::vector<const Type*>{i64}, i64);
  w.begin({n});
  const Var* m = w.bind("m", w.ctx.call_typed(w.ctx.global_var("inc", ft), std::vector<const Expr*>{n}, i64));
  const Var* f = w.bind("f", w.op("relax.make_closure", {w.ctx.global_var("inc", ft), w.ctx.tuple({})}, ft));
  const Var* k = w.bind("k", w.ctx.call_typed(f, std::vector<const Expr*>{m}, i64));
  w.bind("_", w.packed("add", {n, n}, w.ctx.void_type()));
  w.bind("_", w.op("relax.vm.kill_object", {m}, w.ctx.void_type()));
  w.end("main", k);
  const Var* y = w.ctx.var("y", i64);
  w.begin({y});
  w.end("inc", w.bind("z", w.packed("add", {y, w.ctx.i64(1)}, i64)));
  Executable exe = w.good();
  std::string text = as_text(exe);
  CHECK(exe.functions[0].name == "inc");
  CHECK(text.find("call  inc              in: %0           dst: %1\n") != std::string::npos);
  CHECK(text.find("make_closure in: f[inc]       dst: %2\n") != std::string::npos);
  CHECK(text.find("invoke_closure in: %vm, %2, %1  dst: %3\n") != std::string::npos);
  CHECK(text.find("call  add              in: %0, %0       dst: %void\n") != std::string::npos);
  CHECK(text.find("call  vm.builtin.null_value in:              dst: %1\n") != std::string::npos);
  Runner r(exe);
  CHECK(r.run("main", {I(40)}).as_int() == 42);
}

TEST_CASE("storage and tensors") {
  Writer w;
  const Type* tt = w.ctx.tensor(std::vector<const Expr*>{w.ctx.i64(2)}, runtime::DType::Float(32));
  w.begin({});
  const Var* s =
      w.bind("s", w.op("relax.vm.alloc_storage", {w.ctx.shape(std::vector<const Expr*>{w.ctx.i64(8)}), w.ctx.i64(0),
                                                  w.ctx.dtype(runtime::DType::UInt(8)), w.ctx.string("global")}));
  const Var* t = w.bind("t", w.op("relax.vm.alloc_tensor",
                                  {s, w.ctx.i64(0), w.ctx.shape(std::vector<const Expr*>{w.ctx.i64(2)}),
                                   w.ctx.dtype(runtime::DType::Float(32)), w.ctx.i64(0)},
                                  tt));
  w.end("main", t);
  Executable exe = w.good();
  CHECK(as_text(exe).find("vm.builtin.alloc_storage in: %vm, c[0], i0, c[1], c[2] dst: %0\n") != std::string::npos);
  CHECK(as_text(exe).find("vm.builtin.alloc_tensor in: %0, i0, c[3], c[4] dst: %1\n") != std::string::npos);
  Value v = Runner(exe).run("main", {});
  CHECK(v.as_tensor().shape() == std::vector<std::int64_t>{2});
}

TEST_CASE("the shape heap's slots get their names back") {
  Writer w;
  Context& c = w.ctx;
  const Var* n = c.var("n", c.int64());
  const Var* m = c.var("m", c.int64());
  const Expr* twice = c.binary(BinaryKind::Mul, n, c.i64(2));
  const Type* xt = c.tensor(std::vector<const Expr*>{n, c.i64(4)}, runtime::DType::Float(32));
  const Type* yt = c.tensor(std::vector<const Expr*>{m}, runtime::DType::Float(32));
  const Var* x = c.var("x", xt);
  const Var* y = c.var("y", c.tensor_ndim(1, runtime::DType::Float(32)));

  // shape_func(H): H[1] = H[0] * 2
  const Buffer* h = c.buffer("H", std::vector<const Expr*>{c.i64(3)}, runtime::DType::Int(64));
  const Expr* h0 = c.load(h, std::vector<const Expr*>{c.i64(0)});
  const Stmt* body = c.store(h, c.binary(BinaryKind::Mul, h0, c.i64(2)), std::vector<const Expr*>{c.i64(1)});
  w.module.set("shape_func", c.prim_func(std::vector<PrimParam>{{h->data, h}}, c.void_type(), body, {}));

  const Type* heap_type = c.tensor_ndim(1, runtime::DType::Int(64));
  w.begin({x, y});
  const Var* heap = w.bind("shape_heap", w.builtin("vm.builtin.alloc_shape_heap", {c.i64(3)}, heap_type));
  const Expr* ctx_x = c.string("ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n, 4))) ");
  w.bind("_", w.packed("vm.builtin.match_shape", {x, heap, c.i64(2), c.i64(1), c.i64(0), c.i64(0), c.i64(4), ctx_x},
                       c.void_type()));
  w.bind("_", c.call_typed(c.global_var("shape_func", c.any()), std::vector<const Expr*>{heap}, c.void_type()));
  w.bind("_",
         w.packed("vm.builtin.match_shape",
                  {y, heap, c.i64(1), c.i64(1), c.i64(2), c.string("ErrorContext(match_cast, ty=R.Tensor((m,))) ")},
                  c.void_type()));
  w.match_cast("z", y, yt);
  const Type* st = c.shape_type(std::vector<const Expr*>{twice, n});
  const Var* s =
      w.bind("s", w.packed("vm.builtin.make_shape", {heap, c.i64(2), c.i64(1), c.i64(1), c.i64(1), c.i64(0)}, st));
  w.end("main", s);
  Executable exe = w.good();
  const bytecode::FunctionDebug& d = *exe.debug.function(exe.find_function("main"));
  REQUIRE(d.slots.size() == 3);
  CHECK(d.slots[0].text == "n");
  CHECK(d.slots[0].is_variable);
  CHECK(d.slots[0].bound_by == "parameter `x`, dimension 0");
  CHECK(d.slots[1].text == "n * 2");
  CHECK_FALSE(d.slots[1].is_variable);
  CHECK(d.slots[1].bound_by == "computed");
  CHECK(d.slots[2].text == "m");
  CHECK(d.slots[2].bound_by == "match_cast to `z`, dimension 0");
  CHECK(d.heap_register == 2);
  bytecode::Pc start = exe.functions[std::size_t(exe.find_function("main"))].start;
  CHECK(exe.debug.instruction(start + 1)->slots_written == std::vector<std::int32_t>{0});
  CHECK(exe.debug.instruction(start + 2)->slots_written == std::vector<std::int32_t>{1});
  CHECK(exe.debug.instruction(start + 2)->slots_read == std::vector<std::int32_t>{0});
  CHECK(exe.debug.instruction(start + 4)->slots_read == std::vector<std::int32_t>{1, 0});
  // And everything survives a file.
  auto back = bytecode::load(bytecode::serialise(exe).value());
  REQUIRE(back.ok());
  CHECK(back->debug.function(back->find_function("main"))->slots[1].text == "n * 2");
}

TEST_CASE("symbols bound by a match_cast of a tuple are found through its fields") {
  Writer w;
  Context& c = w.ctx;
  const Var* k = c.var("k", c.int64());
  const Type* unknown = c.tensor_ndim(1, runtime::DType::Float(32));
  const Var* x = c.var("x", c.tuple_type(std::vector<const Type*>{unknown, unknown}));
  const Type* known = c.tensor(std::vector<const Expr*>{k}, runtime::DType::Float(32));
  w.begin({x});
  const Var* heap =
      w.bind("h", w.builtin("vm.builtin.alloc_shape_heap", {c.i64(2)}, c.tensor_ndim(1, runtime::DType::Int(64))));
  const Var* field = w.bind("f", c.tuple_get(x, 1).value());
  w.bind("_",
         w.packed("vm.builtin.match_shape", {field, heap, c.i64(1), c.i64(1), c.i64(1), c.string("")}, c.void_type()));
  w.bind("_", w.packed("vm.builtin.match_prim_value", {k, heap, c.i64(2), c.i64(0), c.string("")}, c.void_type()));
  w.match_cast("y", x, c.tuple_type(std::vector<const Type*>{unknown, known}));
  w.end("main", field);
  // `k` itself has no register here: only the slots matter.
  CHECK_FALSE(w.compile().ok());
  w.begin({x, k});
  const Var* heap2 =
      w.bind("h", w.builtin("vm.builtin.alloc_shape_heap", {c.i64(2)}, c.tensor_ndim(1, runtime::DType::Int(64))));
  const Var* field2 = w.bind("f", c.tuple_get(x, 1).value());
  w.bind("_", w.packed("vm.builtin.match_shape", {field2, heap2, c.i64(1), c.i64(1), c.i64(1), c.string("")},
                       c.void_type()));
  w.match_cast("y", x, c.tuple_type(std::vector<const Type*>{unknown, known}));
  w.bind("_", w.packed("vm.builtin.match_prim_value", {k, heap2, c.i64(1), c.i64(0), c.string("")}, c.void_type()));
  w.end("main", field2);
  Executable exe = w.good();
  const bytecode::FunctionDebug& d = *exe.debug.function(exe.find_function("main"));
  CHECK(d.slots[1].text == "k");
  CHECK(d.slots[1].bound_by == "match_cast to `y`, dimension 0");
  CHECK(d.slots[0].bound_by == "parameter `k`");
}

TEST_CASE("what has no code is diagnosed, all of it") {
  Writer w;
  Context& c = w.ctx;
  const Var* x = c.var("x", c.any());
  const Var* n = c.var("n", c.int64());
  const Var* y = c.var("y", c.tensor(std::vector<const Expr*>{c.i64(2)}, runtime::DType::Float(32)));
  w.begin({x, y});
  w.bind("a", w.op("relax.nn.relu", {y}, y->type));
  w.bind("b", c.shape(std::vector<const Expr*>{n}));
  w.bind("c", w.packed("f", {c.binary(BinaryKind::Add, n, c.i64(1))}));
  w.bind("d", w.packed("f", {n}));
  w.bind("e", c.call_typed(c.global_var("nowhere", c.any()), std::vector<const Expr*>{x}, c.any()));
  w.bind("g", w.op("relax.vm.alloc_tensor", {x}));
  w.end("main", x);
  auto exe = w.compile();
  REQUIRE_FALSE(exe.ok());
  CHECK(exe.error().text.find("6 errors") != std::string::npos);
  REQUIRE(w.diagnostics.error_count() == 6);
  auto has = [&](std::size_t i, const char* part) {
    return w.diagnostics.all()[i].message.find(part) != std::string::npos;
  };
  CHECK(has(0, "CodeGenVM cannot handle this intrinsic now: relax.nn.relu"));
  CHECK(has(1, "symbolic shape"));
  CHECK(has(2, "scalar expression `n + 1`"));
  CHECK(has(3, "variable `n`"));
  CHECK(has(4, "the module does not have it"));
  CHECK(has(5, "device index"));
}

TEST_CASE("an operator over open types is called by its text") {
  Writer w;
  const Var* x = w.ctx.var("x", w.ctx.any());
  w.begin({x});
  w.bind("a", w.op("relax.nn.relu", {x}));
  w.end("main", x);
  Executable exe = w.good();
  CHECK(exe.find_function(builtin::CallOperator) >= 0);
  REQUIRE(w.diagnostics.all().size() == 1);
  CHECK(w.diagnostics.all()[0].id == diag::OperatorAtRunTime);
}

TEST_CASE("registers are reused: a long chain needs a few") {
  Writer w;
  const Var* x = w.ctx.var("x", w.ctx.int64());
  w.begin({x});
  const Var* last = x;
  for (int i = 0; i < 1000; ++i)
    last = w.bind("lv" + std::to_string(i), w.packed("add", {last, w.ctx.i64(1)}, w.ctx.int64()));
  w.end("main", last);
  Executable exe = w.good();
  CHECK(exe.functions[0].register_file_size == 3);
  CHECK(exe.debug.functions[0].variables.size() == 1001);
  CHECK(Runner(exe).run("main", {I(0)}).as_int() == 1000);
}

TEST_CASE("branches nested too deep are refused, not a crash") {
  Writer w;
  const Var* c = w.ctx.var("c", w.ctx.boolean());
  const Var* x = w.ctx.var("x", w.ctx.int64());
  w.begin({c, x});
  const SeqExpr* inner = w.ctx.seq({}, x);
  for (int i = 0; i < 20'000; ++i) {
    w.open();
    inner = w.close(w.bind("r", w.ctx.if_expr(c, inner, w.ctx.seq({}, x), w.ctx.int64())));
  }
  const SeqExpr* body = inner;
  w.end("main", w.bind("r", w.ctx.if_expr(c, body, w.ctx.seq({}, x), w.ctx.int64())));
  auto exe = w.compile();
  REQUIRE_FALSE(exe.ok());
  CHECK(w.diagnostics.all()[0].message.find("nests too deep") != std::string::npos);
}
