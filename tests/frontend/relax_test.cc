#include <doctest/doctest.h>

#include "frontend/frontend_helper.h"
#include "rldb/frontend/parse.h"

using namespace rldb;
using frontend::testing::Reading;
using frontend::testing::round_trip;

namespace {

std::string type_of(const Reading& r, std::string_view function) {
  const ir::Function* f = r.function(function);
  return f ? ir::print_type(f->ret_type) : "no function\n" + r.rendered();
}

}  // namespace

TEST_CASE("a nested call becomes bindings") {
  Reading r(R"(
@R.function
def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
    z = R.multiply(R.add(x, y), R.exp(x))
    return z
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const ir::Function* f = r.function("main");
  REQUIRE(f);
  REQUIRE(f->body->blocks.size() == 1);
  CHECK(f->body->blocks[0]->bindings.size() == 3);
  CHECK(type_of(r, "main") == "R.Tensor((2, 3), dtype=\"float32\")");
}

// As in TVM's NormalizeCallTIR: the fields of a tuple that is a parameter are bound and passed in line.
TEST_CASE("a tuple parameter as the arguments of call_tir is unpacked") {
  Reading t(R"(@I.ir_module
class Module:
    @T.prim_func(private=True)
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        for i in range(16):
            C[i] = A[i] + B[i]

    @R.function
    def main(args: R.Tuple(R.Tensor((16,), "float32"), R.Tensor((16,), "float32"))):
        cls = Module
        with R.dataflow():
            c = R.call_tir(cls.f, args, out_ty=R.Tensor((16,), "float32"))
            R.output(c)
        return c
)");
  INFO(t.rendered());
  REQUIRE(t.result.ok);
  const std::string text = ir::print(t.result.module);
  INFO(text);
  CHECK(text.find("lv: R.Tensor((16,), dtype=\"float32\") = args[0]") != std::string::npos);
  CHECK(text.find("R.call_tir(cls.f, (lv, lv1), out_ty") != std::string::npos);
}

TEST_CASE("symbolic variables in every spelling give the same module") {
  const std::string body = R"(
    with R.dataflow():
        lv: R.Tensor((n, 4), dtype="float32") = R.exp(x)
        gv: R.Tensor((n * 4,), dtype="float32") = R.reshape(lv, R.shape([n * 4]))
        R.output(gv)
    return gv
)";
  const std::string quoted =
      "@R.function\ndef main(x: R.Tensor((\"n\", 4), dtype=\"float32\")) -> "
      "R.Tensor((\"n * 4\",), dtype=\"float32\"):\n    n = T.int64()" +
      body;
  const std::string type_var =
      "n = TypeVar(\"n\")\n@R.function\ndef main(x: R.Tensor((n, 4), dtype=\"float32\")) -> "
      "R.Tensor((\"n * 4\",), dtype=\"float32\"):" +
      body;
  const std::string generic =
      "@R.function\ndef main[n](x: R.Tensor((n, 4), dtype=\"float32\")) -> "
      "R.Tensor((n * 4,), dtype=\"float32\"):" +
      body;
  Reading a(quoted), b(type_var), c(generic);
  REQUIRE_MESSAGE(a.result.ok, a.rendered());
  REQUIRE_MESSAGE(b.result.ok, b.rendered());
  REQUIRE_MESSAGE(c.result.ok, c.rendered());
  CHECK(ir::structural_equal(a.result.module, b.result.module));
  CHECK(ir::structural_equal(a.result.module, c.result.module));
}

TEST_CASE("fields of a tensor's header are the operators that read them") {
  const std::string head = "@R.function\ndef main(x: R.Tensor(dtype=\"float32\"), i: T.int64):\n    return (";
  const char* const pairs[][2] = {
      {"x.ndim", "R.inspect.tensor_ndim(x)"},
      {"x.dtype.type_code", "R.inspect.tensor_dtype_code(x)"},
      {"x.dtype.bits", "R.inspect.tensor_dtype_bits(x)"},
      {"x.dtype.lanes", "R.inspect.tensor_dtype_lanes(x)"},
      {"x.shape[0]", "R.inspect.tensor_shape_i(x, 0)"},
      {"x.shape[i]", "R.inspect.tensor_shape_i(x, i)"},
      {"x.strides[i]", "R.inspect.tensor_stride_i(x, i)"},
      {"x.byte_offset", "R.inspect.tensor_byte_offset(x)"},
      {"x.elem_offset", "R.inspect.tensor_elem_offset(x)"},
  };
  for (const auto& [field, call] : pairs) {
    CAPTURE(field);
    Reading a(head + field + ",)\n"), b(head + call + ",)\n");
    REQUIRE_MESSAGE(a.result.ok, a.rendered());
    REQUIRE_MESSAGE(b.result.ok, b.rendered());
    CHECK(ir::structural_equal(a.result.module, b.result.module));
  }
  // A shape that the type tells is read off the type.
  Reading known("@R.function\ndef main(x: R.Tensor((2, 3), \"float32\")):\n    return (x.shape[1],)\n");
  REQUIRE_MESSAGE(known.result.ok, known.rendered());
  CHECK(ir::print(known.result.module).find("inspect") == std::string::npos);
}

TEST_CASE("devices by their kinds") {
  for (const char* kind : {"cpu", "cuda", "rocm", "opencl", "metal", "vulkan", "hexagon", "webgpu"}) {
    const std::string head = "@R.function\ndef main(x: R.Tensor((2,), \"float32\")):\n    y = R.hint_on_device(x, R.";
    Reading a(head + kind + "(1))\n    return y\n");
    CHECK_MESSAGE(a.result.ok, a.rendered());
  }
}

TEST_CASE("blocks in the old spelling below imports in the new one") {
  Reading a(R"(
# from tvm.script import tirx as T

@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("a"):
            v = T.axis.spatial(8, i)
            C[v] = A[v] + T.float32(1)
    for i in range(8):
        with T.block("b"):
            v = T.axis.spatial(8, i)
            B[v] = C[v] * T.float32(2)
)");
  REQUIRE_MESSAGE(a.result.ok, a.rendered());
  CHECK(ir::print(a.result.module).find("C = T.sblock_alloc_buffer((8,))") != std::string::npos);
}

TEST_CASE("the old spelling is the new one") {
  Reading a(R"(
@I.ir_module
class Module:
    @T.prim_func
    def f(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (4,), "float32")
        B = T.match_buffer(b, (4,), "float32")
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Object:
        cls = Module
        lv = R.call_tir(cls.f, (x,), out_sinfo=R.Tensor((4,), "float32"))
        gv: R.Object = R.call_packed("g", lv, sinfo_args=(R.Object,))
        return gv
)");
  Reading b(R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Any:
        cls = Module
        lv = R.call_tir(cls.f, (x,), out_ty=R.Tensor((4,), "float32"))
        gv: R.Any = R.call_packed("g", lv, ty_args=(R.Any,))
        return gv
)");
  REQUIRE_MESSAGE(a.result.ok, a.rendered());
  REQUIRE_MESSAGE(b.result.ok, b.rendered());
  const auto d = ir::first_difference(a.result.module, b.result.module);
  CHECK_MESSAGE(!d, (d ? d->path + ": " + d->left + " <> " + d->right : std::string()));
}

TEST_CASE("functions may call each other in any order, annotated or not") {
  Reading r(R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        y = Module.later(x)
        return y

    @R.function
    def later(x: R.Tensor(("a", "b"), "float32")):
        a, b = T.int64(), T.int64()
        y = R.reshape(x, R.shape([a * b]))
        return y
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  CHECK(type_of(r, "main") == "R.Tensor((6,), dtype=\"float32\")");
}

TEST_CASE("recursion without a return annotation is read") {
  const std::string text = R"(
@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
        if c:
            y = R.add(x, x)
        else:
            z = R.exp(x)
            y = Module.main(c, z)
        return y
)";
  Reading r(text);
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  CHECK(round_trip(text) == "");
}

TEST_CASE("outputs of a dataflow block are ordinary variables, the rest are not") {
  Reading r(R"(
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = R.exp(x)
        y = R.exp(y)
        z = R.exp(y)
        R.output(y, z)
    return z
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const auto bindings = r.function("main")->body->blocks[0]->bindings;
  REQUIRE(bindings.size() == 3);
  CHECK(bindings[0]->var->is_dataflow());
  CHECK_FALSE(bindings[1]->var->is_dataflow());
  CHECK_FALSE(bindings[2]->var->is_dataflow());
}

TEST_CASE("RFC 0089's programs are read in their own spelling") {
  Reading r(R"(
@tvm.script.ir_module
class MyIRModule:
    @T.prim_func
    def tir_exp_func(x: T.handle, y: T.handle):
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        with T.grid(n) as i:
            Y[i] = T.exp(X[i])

    @R.function
    def relax_func(x: R.Tensor[(n, k), "float32"], w: R.Tensor[_, "float32"]):
        with R.dataflow():
            lv0 = R.match_shape(w, (k, m))
            lv1: R.Tensor[(n, m), "float32"] = R.dot(x, lv0)
            lv2: R.Tensor[(n * m,), "float32"] = R.flatten(lv1)
            lv3: R.Shape = (n * m,)
            gv0 = R.call_tir(tir_exp_func, [lv2], lv3, dtype="float32")
            R.outputs(gv0)
        R.call_packed("custom_inplace_update", gv0)
        return gv0
)");
  CHECK_MESSAGE(r.result.ok, r.rendered());
  REQUIRE(r.function("relax_func"));
  REQUIRE(r.prim_func("tir_exp_func"));
  CHECK(r.prim_func("tir_exp_func")->params[0].buffer != nullptr);
}

TEST_CASE("constants: numbers, lists, dtypes") {
  Reading r(R"(
@R.function
def main():
    a = R.const(1)
    b = R.const(1.5)
    c = R.const([[1, 2, 3], [4, 5, 6]], "int64")
    d = R.const(True)
    return (a, b, c, d)
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  CHECK(type_of(r, "main") ==
        "R.Tuple(R.Tensor((), dtype=\"int32\"), R.Tensor((), dtype=\"float32\"), R.Tensor((2, 3), dtype=\"int64\"), "
        "R.Tensor((), dtype=\"bool\"))");
}

TEST_CASE("a constant of the metadata block") {
  Reading r(R"X(
metadata = tvm.ir.load_json("""{
  \"root_index\": 5,
  \"nodes\": [
    {\"type\": \"ffi.String\", \"data\": \"relax.expr.Constant\"},
    {\"type\": \"None\"},
    {\"type\": \"ffi.Tensor\", \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAAgAQABAAAAAAAAAAQAAAAAAAAAAQAAAA==\"},
    {\"type\": \"relax.expr.Constant\", \"data\": {\"span\": 1, \"ty\": 1, \"data\": 2}},
    {\"type\": \"ffi.Array\", \"data\": [3]},
    {\"type\": \"ffi.Map\", \"data\": [0, 4]}
  ]
}""")
@R.function
def main():
    x = R.add(metadata["relax.expr.Constant"][0], R.const([2], "int32"))
    return x
)X");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const auto* call = ir::as<ir::Call>(r.function("main")->body->blocks[0]->bindings[0]->value);
  REQUIRE(call);
  const auto* c = ir::as<ir::Constant>(call->args[0]);
  REQUIRE(c);
  CHECK(c->value->as_tensor().shape() == std::vector<std::int64_t>{1});
  CHECK(c->value->as_tensor().at(0) == 1.0);
}

TEST_CASE("purity of a function in RFC 0089's spelling comes from its body") {
  const std::string text = R"(
@R.function
def effect(x: R.Tensor[(n,), "float32"]):
    R.call_packed("custom_print", x)
    return x

@R.function
def calls(x: R.Tensor[(n,), "float32"]):
    y = effect(x)
    return y

@R.function
def clean(x: R.Tensor[(n,), "float32"]):
    s: R.Shape = R.call_pure_packed("f", x, sinfo_args=R.Shape(ndim=1))
    return R.add(x, x)
)";
  const Reading r(text);
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  CHECK_FALSE(r.function("effect")->is_pure);
  CHECK_FALSE(r.function("calls")->is_pure);
  CHECK(r.function("clean")->is_pure);
}

TEST_CASE("an annotation types a packed call in RFC 0089's spelling") {
  const Reading r(R"(
@R.function
def f(x: R.Tensor[(n,), "float32"]):
    s: R.Shape = R.call_packed("shape_func", x)
    return s
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  CHECK(r.function("f")->ret_type->kind == ir::TypeKind::Shape);
}

TEST_CASE("a lone function goes by its global_symbol") {
  const Reading r(R"(
@R.function
def expected(x: R.Tensor((2,), "float32")):
    R.func_attr({"global_symbol": "main"})
    return x
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  CHECK(r.function("main") != nullptr);
  CHECK(r.function("expected") == nullptr);
}

TEST_CASE("a declared result gives way to a finer one of the body, and to that only") {
  const Reading r(R"(
@R.function
def fine(x: R.Tensor((2, 3), "float32")) -> R.Tensor(ndim=2, dtype="float32"):
    return x

@R.function
def loose(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor((2, 3), "float32"):
    return x
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  CHECK(ir::print_type(r.function("fine")->ret_type) == "R.Tensor((2, 3), dtype=\"float32\")");
  CHECK(ir::print_type(r.function("loose")->ret_type) == "R.Tensor((2, 3), dtype=\"float32\")");
}

TEST_CASE("a variable without parts is returned as R.tuple()") {
  const Reading r(R"(
@R.function(pure=False)
def f(x: R.Tensor((2,), "float32")):
    y = R.print(x, format="{}")
    return y

@R.function
def g(x: R.Tensor((2,), "float32")):
    y = (x,)
    return y
)");
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  CHECK(ir::isa<ir::Tuple>(r.function("f")->body->body));
  CHECK(ir::isa<ir::Var>(r.function("g")->body->body));
}

TEST_CASE("what once came back different comes back the same") {
  for (const char* text : {
           // a void variable that is read
           "@R.function(pure=False)\ndef f(x: R.Tensor):\n    y = R.print(x, format=\"{}\")\n    return y\n",
           "@R.function\ndef f():\n    with R.dataflow():\n        gv: R.Tuple = R.tuple()\n        R.output(gv)\n"
           "    return R.tuple()\n",
           // a local function that calls itself
           "@R.function\ndef f(x: R.Tensor((2,), \"float32\")):\n    @R.function\n"
           "    def g(y: R.Tensor((2,), \"float32\")) -> R.Tensor((2,), \"float32\"):\n        z = g(y)\n"
           "        return z\n    w = g(x)\n    return w\n",
           // the type of an external function
           "@R.function\ndef f(x: R.Tensor((2,), \"float32\")):\n"
           "    y = R.ExternFunc(\"g\", R.Callable(derive_func=\"d\", purity=True))(x)\n    return y\n",
           // a field of a tuple written in place
           "@R.function\ndef f(x: R.Tensor((2,), \"float32\")):\n    y = R.TupleGetItem(R.tuple(x), 0)\n    return y\n",
           "@R.function\ndef f() -> R.Shape:\n    return R.shape_of(R.const(1))\n",
       }) {
    CHECK(round_trip(text) == "");
  }
}

TEST_CASE("programs come back the same") {
  const char* const programs[] = {
      R"(
@R.function
def main(x: R.Tensor((2, 3), "float32"), p: R.Tuple(R.Tensor((3,), "float32"), R.Shape([2, 3]))) -> R.Tensor((2, 3), "float32"):
    a = p[0]
    y = R.match_cast(x, R.Tensor((2, 3), "float32"))
    z = R.add(y, a)
    return z
)",
      R"(
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    R.print(x, format="{}")
    @R.function
    def inner(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        z = R.exp(y)
        return z
    w = inner(x)
    return w
)",
      R"(
@I.ir_module
class Module:
    I.module_attrs({"a": 1})
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("cuda", 0, "global")]})
    @R.function
    def main(x: R.Tensor((2,), "float32", "cuda:0")) -> R.Tensor((2,), "float32", "cuda:0"):
        return x
)",
  };
  for (const char* p : programs) CHECK(round_trip(p) == "");
}

TEST_CASE("a copy to a device has the module's device in its type") {
  const char* const text = R"(
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice({"kind": "cuda", "arch": "sm_80"}, 1, "global")]})
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = R.to_vdevice(x, dst_vdevice="cuda:0:global")
        return y
)";
  Reading r(text);
  REQUIRE_MESSAGE(r.result.ok, r.rendered());
  const auto* t = ir::as<ir::TensorType>(r.function("main")->body->blocks[0]->bindings[0]->var->type);
  REQUIRE(t);
  REQUIRE(t->vdevice);
  CHECK(t->vdevice->target != nullptr);
  CHECK(round_trip(text) == "");
}

TEST_CASE("calls by hand, computed callees, several outputs of an unknown operator") {
  CHECK(round_trip(R"(
@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(private=True)
    def k(A: T.Buffer(16, "float32"), B: T.Buffer(16, "float32")):
        T.evaluate(0)
    @R.function
    def g(x: R.Tensor([16], "float32")) -> R.Tensor([16], "float32"):
        return x
    @R.function
    def main(A: R.Tensor([16], "float32")):
        cls = Module
        a = relax.Call(tvm.ir.Op.get("relax.call_tir"), [cls.k, relax.Tuple([A])], ty_args=[A.ty])
        b = relax.Call(I.Op("relax.add"), [a, A])
        t = (Module.g, b)
        c = t[0](b)
        d = R.some.operator(cls.k, (c,), out_ty=[R.Tensor([16], "float32"), R.Tensor([4], "int8")])
        e = d[1]
        return e
)") == "");
}

TEST_CASE("a scalar parameter that binds a symbolic variable, as older texts write it") {
  const std::string text = R"(# from tvm.script import tir as T
@I.ir_module
class Module:
    @R.function
    def main(_n: R.Prim(value="n"), x: R.Tensor(("m", 4), "float32")) -> R.Shape(["n", "n * 2"]):
        n = T.int64()
        s = R.shape([n, n * 2])
        return s

    @R.function
    def other(x: R.Tensor(("n", "m"), dtype="float32"), _n: R.Prim(value="n")) -> R.Tensor(("n", "m"), dtype="float32"):
        return x
)";
  Reading r(text);
  frontend::verify_parsed(r.ctx, r.sources, r.result, r.diagnostics);
  CHECK(r.messages().empty());
  const ir::Function* f = r.function("main");
  REQUIRE(f);
  const auto* shape = ir::as<ir::ShapeType>(f->ret_type);
  REQUIRE(shape);
  CHECK(shape->values[0] == f->params[0]);
  CHECK(round_trip(text) == "");
}
