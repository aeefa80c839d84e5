// Cases that the texts beside this file (see tests/repro/pass_text_test.cc) cannot express: modules that do not verify,
// index maps.
#include <doctest/doctest.h>

#include "passes/golden.h"

using namespace rldb::passes::testing;

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

TEST_CASE("KillAfterLastUse: what kills bind in a dataflow block is not visible outside") {
  const std::string text = run_text("KillAfterLastUse", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.abs(a)
            c = R.negative(b)
            R.output(c)
        return c
)");
  CHECK(text.find("kill_tensor(a)") != std::string::npos);
  CHECK(text.find("R.output(c)") != std::string::npos);
}

TEST_CASE("VMShapeLower: a cast to a shape variable is told as the text has it") {
  const std::string text = run_text("RemovePurityChecking,VMShapeLower", R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor(dtype="float32", ndim=2)):
        s = R.shape_of(x)
        a = R.match_cast(y, R.Tensor(s, "float32"))
        return a
)");
  CHECK(text.find("ErrorContext(match_cast, ty=R.Tensor(s, dtype=\\\"float32\\\"))") != std::string::npos);
  CHECK(text.find("ty=R.Tensor((s_0") == std::string::npos);
}
