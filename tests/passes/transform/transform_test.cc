// Passes that rewrite programs at their own level.
#include <doctest/doctest.h>

#include "passes/golden.h"

using namespace rldb::passes::testing;

TEST_CASE("LambdaLift makes captured values trailing parameters of a private function") {
  check_golden("LambdaLift", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        @R.function
        def inner(a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            s = R.add(a, x)
            return s
        r = inner(y)
        return r
)",
               R"(
@I.ir_module
class Module:
    @R.function(private=True)
    def main_inner(a: R.Tensor((2, 3), "float32"), x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        s = R.add(a, x)
        return s

    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        inner = R.make_closure(cls.main_inner, (x,))
        r = R.invoke_pure_closure(inner, (y,), ty_args=(R.Tensor((2, 3), "float32"),))
        return r
)");
}

TEST_CASE("LambdaLift passes symbols that no parameter binds") {
  const std::string text = run_text("LambdaLift", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(dtype="float32", ndim=1):
        n = T.int64()
        @R.function
        def inner() -> R.Tensor((n,), "float32"):
            s = R.zeros(R.shape([n]), "float32")
            return s
        r = inner()
        return r
)");
  CHECK_MESSAGE(text.find("symbols: R.Shape(") != std::string::npos, text);
}

TEST_CASE("CanonicalizeBindings sees through aliases, tuples and provable casts") {
  check_golden("CanonicalizeBindings", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        n = T.int64()
        with R.dataflow():
            a = x
            t = (a, a)
            b = t[0]
            c = R.match_cast(b, R.Tensor((n, 3), "float32"))
            d: R.Tensor((n, 3), "float32") = R.add(c, c)
            gv = d
            R.output(gv)
        return gv
)",
               R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            t = (x, x)
            gv = R.add(x, x)
            R.output(gv)
        return gv
)");
}

TEST_CASE("CanonicalizeBindings keeps a match_cast that checks") {
  const std::string text = run_text("CanonicalizeBindings", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        m = T.int64()
        z = R.match_cast(y, R.Tensor((n,), "float32"))
        r = R.add(x, z)
        return r
)");
  CHECK_MESSAGE(text.find("match_cast") != std::string::npos, text);
}

TEST_CASE("DeadCodeElimination keeps effects, entries and what defines symbols") {
  check_golden("DeadCodeElimination", R"(
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def unused(A: T.Buffer((4,), "float32")):
        T.evaluate(0)

    @R.function(private=True)
    def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x

    @R.function(pure=False)
    def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Shape(ndim=1):
        n = T.int64()
        m = R.match_cast(x, R.Tensor((n,), "float32"))
        dead = R.add(m, m)
        R.print(x, format="{}")
        s = R.shape([n])
        return s
)",
               R"(
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Shape(ndim=1):
        n = T.int64()
        m = R.match_cast(x, R.Tensor((n,), "float32"))
        R.print(x, format="{}")
        s = R.shape([n])
        return s
)");
}

TEST_CASE("ConvertToDataflow wraps runs of pure bindings") {
  check_golden("ConvertToDataflow", R"(
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        a = R.add(x, x)
        b = R.multiply(a, x)
        R.print(b, format="{}")
        c = R.subtract(b, x)
        return c
)",
               R"(
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.add(x, x)
            b = R.multiply(a, x)
            R.output(b)
        R.print(b, format="{}")
        c = R.subtract(b, x)
        return c
)");
}

TEST_CASE("AnnotateTIROpPattern tells elementwise, reduction and product apart") {
  const std::string text = run_text("LegalizeOps,AnnotateTIROpPattern", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3, 2), "float32")) -> R.Tensor((2,), "float32"):
        a = R.add(x, x)
        b = R.matmul(a, y)
        c = R.permute_dims(b)
        d = R.sum(c, axis=[0])
        return d
)");
  const auto pattern = [&](std::string_view function) {
    const std::size_t def = text.find("def " + std::string(function) + "(");
    const std::size_t at = text.find("\"op_pattern\": ", def);
    return at == std::string::npos ? '?' : text[at + 14];
  };
  CHECK(pattern("add") == '0');
  CHECK(pattern("transpose") == '2');
  CHECK(pattern("sum") == '3');
  CHECK(pattern("matmul") == '4');
}

TEST_CASE("BundleModelParams reads fields where they are first used") {
  check_golden("BundleModelParams", R"(
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32"), c: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 1})
        x = R.add(a, b)
        y = R.add(x, c)
        return y
)",
               R"(
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((4,), "float32"), p: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
        R.func_attr({"num_input": 1})
        b = p[0]
        x = R.add(a, b)
        c = p[1]
        y = R.add(x, c)
        return y
)");
}

TEST_CASE("RemoveUnusedParameters shortens private functions and their calls") {
  check_golden("RemoveUnusedParameters", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        z = cls.inner(x, y, R.shape([n]))
        return z

    @R.function(private=True)
    def inner(x: R.Tensor(("n",), "float32"), y: R.Tensor((3,), "float32"), s: R.Shape(["n"])) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        o = R.zeros(R.shape([n]), "float32")
        z = R.add(x, o)
        return z
)",
               R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        z = cls.inner(x)
        return z

    @R.function(private=True)
    def inner(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        o = R.zeros(R.shape([n]), "float32")
        z = R.add(x, o)
        return z
)");
}
