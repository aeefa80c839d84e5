// The minimum build, pass by pass.
#include <doctest/doctest.h>

#include "passes/golden.h"

using namespace rldb::passes::testing;

TEST_CASE("ToNonDataflow makes dataflow variables plain, those a local function closes over too") {
  check_golden("ToNonDataflow", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            a = R.add(x, x)
            b = R.multiply(a, x)
            R.output(b)
        c = R.add(b, x)
        return c
)",
               R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        a = R.add(x, x)
        b = R.multiply(a, x)
        c = R.add(b, x)
        return c
)");
}

TEST_CASE("RemovePurityChecking forces purity and unwraps its overrides") {
  check_golden("RemovePurityChecking", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.call_pure_packed("vm.builtin.copy", x, ty_args=(R.Tensor((2,), "float32"),))
        return y

    @R.function(pure=False)
    def noisy(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.print(x, format="{}")
        return x
)",
               R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"relax.force_pure": True})
        y = R.call_packed("vm.builtin.copy", x, ty_args=(R.Tensor((2,), "float32"),))
        return y

    @R.function(pure=False)
    def noisy(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.print(x, format="{}")
        return x
)");
}

TEST_CASE("CallTIRRewrite allocates outputs after the inputs, scalars in place") {
  check_golden("CallTIRRewrite", R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), "float32"), k: T.int64, B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "int32")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "int32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        t = R.call_tir(cls.f, (x, 3), out_ty=[R.Tensor((4,), "float32"), R.Tensor((4,), "int32")])
        y = t[1]
        return y
)",
               R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), "float32"), k: T.int64, B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "int32")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "int32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        a = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"), ty_args=(R.Tensor((4,), "float32"),))
        b = R.builtin.alloc_tensor(R.shape([4]), R.dtype("int32"), 0, R.str("global"), ty_args=(R.Tensor((4,), "int32"),))
        cls.f(x, 3, a, b)
        t = (a, b)
        y = t[1]
        return y
)");
}

TEST_CASE("CallTIRRewrite leaves no dataflow block around what writes to its arguments") {
  check_golden("CallTIRRewrite", R"(
@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(s_tir=True)
    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]

    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.k, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            gv: R.Tensor((4,), dtype="float32") = lv
            R.output(gv)
        return gv
)",
               R"(
@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(s_tir=True)
    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]

    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Module
        alloc: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"), ty_args=(R.Tensor((4,), "float32"),))
        cls.k(x, alloc)
        lv: R.Tensor((4,), dtype="float32") = alloc
        gv: R.Tensor((4,), dtype="float32") = lv
        return gv
)");
}

TEST_CASE("CallTIRRewrite refuses an output whose shape is not known") {
  check_fails("CallTIRRewrite", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Tensor(dtype="float32", ndim=1):
        y = R.call_dps_packed("f", (x,), out_ty=R.Tensor(dtype="float32", ndim=1))
        return y
)",
              "an output needs a known shape and dtype");
}

TEST_CASE("StaticPlanBlockMemory shares storage between lives that do not overlap") {
  check_golden("StaticPlanBlockMemory", R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        a = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        cls.f(x, a)
        b = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        cls.f(a, b)
        c = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        cls.f(b, c)
        d = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        cls.f(c, d)
        return d
)",
               R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        s0: R.Any = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("float32"))
        a = R.memory.alloc_tensor(s0, 0, R.shape([4]), R.dtype("float32"), 0)
        cls.f(x, a)
        s1: R.Any = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("float32"))
        b = R.memory.alloc_tensor(s1, 0, R.shape([4]), R.dtype("float32"), 0)
        cls.f(a, b)
        c = R.memory.alloc_tensor(s0, 0, R.shape([4]), R.dtype("float32"), 0)
        cls.f(b, c)
        d = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        cls.f(c, d)
        return d
)");
}

// TVM gives `c` the storage of `a` here, and main returns the wrong numbers (apache/tvm issues 20190, 20207).
TEST_CASE("StaticPlanBlockMemory keeps storage that is read through a match_cast") {
  const std::string text = run_text("StaticPlanBlockMemory", R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"relax.force_pure": True})
        n = T.int64()
        cls = Module
        a = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        cls.f(x, a)
        m = R.match_cast(a, R.Tensor((n,), "float32"))
        b = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        cls.f(a, b)
        c = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        cls.f(b, c)
        d = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        cls.f(m, d)
        cls.f(c, d)
        return d
)");
  // a, b and c live at once: three storages.
  std::size_t count = 0;
  for (std::size_t at = text.find("alloc_storage("); at != std::string::npos; at = text.find("alloc_storage(", at + 1))
    ++count;
  CHECK_MESSAGE(count == 3, text);
}

TEST_CASE("StaticPlanBlockMemory does not hand a branch's storage to anybody else") {
  const std::string text = run_text("StaticPlanBlockMemory", R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((4,), "float32"), cond: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        if cond:
            a = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
            cls.f(x, a)
            cls.f(a, x)
            r = x
        else:
            b = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
            cls.f(x, b)
            cls.f(b, x)
            r = x
        c = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        cls.f(x, c)
        cls.f(c, x)
        return r
)");
  std::size_t count = 0;
  for (std::size_t at = text.find("alloc_storage("); at != std::string::npos; at = text.find("alloc_storage(", at + 1))
    ++count;
  CHECK_MESSAGE(count == 3, text);
}

TEST_CASE("LowerAllocTensor gives a tensor a storage of bytes") {
  check_golden("LowerAllocTensor", R"(
@I.ir_module
class Module:
    @R.function
    def main(s: R.Shape(["n"])) -> R.Tensor(("n", 3), "float16"):
        R.func_attr({"relax.force_pure": True})
        n = T.int64()
        x = R.builtin.alloc_tensor(R.shape([n, 3]), R.dtype("float16"), 0, R.str("global"))
        return x
)",
               R"(
@I.ir_module
class Module:
    @R.function
    def main(s: R.Shape(["n"])) -> R.Tensor(("n", 3), "float16"):
        R.func_attr({"relax.force_pure": True})
        n = T.int64()
        storage: R.Any = R.memory.alloc_storage(R.shape([2 * n * 3]), 0, R.str("global"), R.dtype("uint8"))
        x = R.memory.alloc_tensor(storage, 0, R.shape([n, 3]), R.dtype("float16"), 0)
        return x
)");
}

TEST_CASE("KillAfterLastUse frees storages, tensors and tuples, not results") {
  check_golden("KillAfterLastUse", R"(
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        s: R.Any = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("uint8"))
        a = R.memory.alloc_tensor(s, 0, R.shape([4]), R.dtype("float32"), 0)
        R.call_packed("fill", a, ty_args=(R.Tuple,))
        alias = a
        t = R.call_packed("pair", alias, x, ty_args=(R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")),))
        y = t[0]
        return y
)",
               R"(
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        s: R.Any = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("uint8"))
        a = R.memory.alloc_tensor(s, 0, R.shape([4]), R.dtype("float32"), 0)
        R.memory.kill_storage(s)
        R.call_packed("fill", a, ty_args=(R.Tuple,))
        t = R.call_packed("pair", a, x, ty_args=(R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")),))
        R.memory.kill_tensor(a)
        y = t[0]
        R.vm.kill_object(t)
        return y
)");
}

TEST_CASE("KillAfterLastUse takes a use in a branch as a use by the if") {
  const std::string text = run_text("KillAfterLastUse", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), cond: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        a = R.add(x, x)
        if cond:
            b = R.multiply(a, a)
            r = b
        else:
            c = R.subtract(a, x)
            r = c
        d = R.add(r, x)
        return d
)");
  const std::size_t kill = text.find("kill_tensor(a)");
  REQUIRE_MESSAGE(kill != std::string::npos, text);
  CHECK_MESSAGE(text.find("kill_tensor(a)", kill + 1) == std::string::npos, text);
  CHECK_MESSAGE(text.rfind("subtract", kill) != std::string::npos, text);
}

TEST_CASE("LowerRuntimeBuiltin maps operators to builtins") {
  check_golden("LowerRuntimeBuiltin", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((2, 2), "float32"):
        R.func_attr({"relax.force_pure": True})
        s: R.Any = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("float32"))
        a = R.memory.alloc_tensor(s, 0, R.shape([4]), R.dtype("float32"), 0)
        R.memory.kill_storage(s)
        y = R.reshape(a, R.shape([2, 2]))
        R.memory.kill_tensor(a)
        return y
)",
               R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((2, 2), "float32"):
        R.func_attr({"relax.force_pure": True})
        s: R.Any = R.vm.alloc_storage(R.shape([16]), 0, R.dtype("uint8"), R.str("global"))
        a = R.vm.alloc_tensor(s, 0, R.shape([4]), R.dtype("float32"), 0)
        R.vm.kill_object(s)
        y = R.call_packed("vm.builtin.reshape", a, R.shape([2, 2]), ty_args=(R.Tensor((2, 2), "float32"),))
        R.vm.kill_object(a)
        return y
)");
}

TEST_CASE("LowerRuntimeBuiltin wants LowerAllocTensor first") {
  check_fails("LowerRuntimeBuiltin", R"(
@I.ir_module
class Module:
    @R.function
    def main() -> R.Tensor((4,), "float32"):
        R.func_attr({"relax.force_pure": True})
        x = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
        return x
)",
              "R.builtin.alloc_tensor is left in function `main`");
}

TEST_CASE("ComputePrimValue computes scalars in host functions, equal ones in one") {
  check_golden("ComputePrimValue", R"(
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        y = R.call_packed("f", x, n * 2, ty_args=(R.Tensor((n,), "float32"),))
        z = R.call_packed("g", y, n * 2, n, 3, ty_args=(R.Tensor((n,), "float32"),))
        return z
)",
               R"(
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def compute_symbolic_expr(n: T.int64) -> T.int64:
        T.func_attr({"tirx.is_host_func": True})
        return n * T.int64(2)

    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        a = cls.compute_symbolic_expr(n)
        y = R.call_packed("f", x, a, ty_args=(R.Tensor((n,), "float32"),))
        b = cls.compute_symbolic_expr(n)
        z = R.call_packed("g", y, b, n, 3, ty_args=(R.Tensor((n,), "float32"),))
        return z
)");
}

TEST_CASE("VMShapeLower matches parameters, computes products and makes shapes") {
  check_golden("VMShapeLower(emit_err_ctx=False)", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n * 2", 4), "int32")) -> R.Shape(["n * m", 3]):
        R.func_attr({"relax.force_pure": True})
        n = T.int64()
        m = T.int64()
        s = R.shape([n * m, 3])
        return s
)",
               R"(
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def shape_func(H: T.Buffer((T.int64(4),), "int64")):
        T.func_attr({"tirx.is_host_func": True})
        H[T.int64(2)] = H[T.int64(0)] * T.int64(2)
        H[T.int64(3)] = H[T.int64(0)] * H[T.int64(1)]

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n * 2", 4), "int32")) -> R.Shape(["n * m", 3]):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        h: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (4,), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        R.call_packed("vm.builtin.check_tensor_info", x, 2, R.dtype("float32"), R.str(""), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", y, 2, R.dtype("int32"), R.str(""), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", x, h, 2, 1, 0, 1, 1, R.str(""), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", y, h, 2, 2, 0, 0, 4, R.str(""), ty_args=(R.Tuple,))
        cls.shape_func(h)
        R.call_packed("vm.builtin.match_shape", y, h, 2, 3, 2, 0, 4, R.str(""), ty_args=(R.Tuple,))
        s = R.call_packed("vm.builtin.make_shape", h, 2, 1, 3, 0, 3, ty_args=(R.Shape(ndim=2),))
        R.call_packed("vm.builtin.match_shape", s, h, 2, 3, 3, 0, 3, R.str(""), ty_args=(R.Tuple,))
        return s
)");
}

TEST_CASE("VMShapeLower tells an unbound symbol and a local function") {
  check_fails("VMShapeLower", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Tensor(dtype="float32", ndim=1):
        R.func_attr({"relax.force_pure": True})
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n * 2,), "float32"))
        return y
)",
              "is used before it can be computed");
  check_fails("VMShapeLower", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"relax.force_pure": True})
        @R.function
        def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            R.func_attr({"relax.force_pure": True})
            z = R.add(y, y)
            return z
        r = inner(x)
        return r
)",
              "still has the local function `inner`");
}

TEST_CASE("VMShapeLower names where a check stands") {
  const std::string text = run_text("VMShapeLower", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        R.func_attr({"relax.force_pure": True})
        return x
)");
  CHECK_MESSAGE(
      text.find("ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n,), dtype=") != std::string::npos,
      text);
}

TEST_CASE("AttachGlobalSymbol names private functions and PrimFuncs") {
  const std::string text = run_text("AttachGlobalSymbol", R"(
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer((4,), "float32")):
        T.evaluate(0)

    @R.function(private=True)
    def g(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x
)");
  CHECK_MESSAGE(text.find("private") == std::string::npos, text);
}

TEST_CASE("the minimum build lowers a program with everything in it") {
  const std::string text = run_text("minimum", R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def exp(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n", 4), "float32")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), cond: R.Tensor((), "bool")) -> R.Tensor(("n * 4",), "float32"):
        n = T.int64()
        cls = Module
        @R.function
        def twice(v: R.Tensor((n, 4), "float32")) -> R.Tensor((n, 4), "float32"):
            w = R.add(v, x)
            return w
        with R.dataflow():
            a = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((n, 4), "float32"))
            R.output(a)
        if cond:
            b = twice(a)
            c = b
        else:
            c = a
        d = R.match_cast(c, R.Tensor((n, 4), "float32"))
        e = R.reshape(d, R.shape([n * 4]))
        return e
)");
  for (std::string_view gone : {"call_tir", "R.dataflow", "R.add(", "R.reshape", "builtin.alloc_tensor", "R.memory."})
    CHECK_MESSAGE(text.find(gone) == std::string::npos, std::string(gone), " is left in\n", text);
  CHECK_MESSAGE(text.find("shape_func") != std::string::npos, text);
}

TEST_CASE("ComputePrimValue leaves index maps alone") {
  const char* text = R"(
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4, 8), "float32")):
        y = R.layout_transform(x, index_map=lambda a, b: (a, b // 4, b % 4), pad_value=None)
        return y
)";
  check_golden("ComputePrimValue", text, text);
}
