// Folders as written by DumpIR: inputs and dims on which a fault shows, and those on which none may be reported.
#include "repro/dumped.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

const std::string kRow = R"(R.Tensor((4,), "float32"))";

repro::TraceBisection with_other(const std::string& params, const std::string& body, const std::string& result,
                                 const std::string& what, const std::string& with) {
  Dump dump;
  dump.run("Normalize,LegalizeOps", "LegalizeOps", what, with, function(params, body, result));
  return bisect(dump);
}

}  // namespace

TEST_CASE("bisect a dump: a program that runs for some sizes only") {
  Dump dump;
  const auto program = [](const std::string& op) {
    return function(
        "x: R.Tensor((\"n\",), \"float32\")",
        "            lv = R.match_cast(x, R.Tensor((16,), \"float32\"))\n            lv1 = R." + op + "(lv)\n", "lv1");
  };
  dump.write("Start", program("exp"));
  dump.write("Next", program("exp") + "\n");
  CHECK(bisect(dump).compared.empty());  // one program: nothing to compare
  dump.write("Wrong", program("tanh"));
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.dims == "n=16");
}

TEST_CASE("bisect a dump: a fault that the program's own numbers never reach shows in the computation alone") {
  struct Planted {
    const char* body;   // ends in lv1
    const char* right;  // in the legalised module
    const char* wrong;
    const char* binding;
  };
  const Planted all[] = {
      // After a normalisation no exponential overflows.
      {"            lv = R.nn.layer_norm(x, g, b, axes=[-1])\n            lv1 = R.nn.softmax(lv)\n",
       " - T_softmax_maxelem[v_ax0])", ")", "lv1"},
      // The index of a maximum is small.
      {"            lv = R.argmax(x, axis=1)\n            lv1 = R.astype(lv, \"float32\")\n",
       "T.Cast(\"float32\", lv[v_ax0])", "T.Cast(\"float32\", T.Cast(\"int16\", lv[v_ax0]))", "lv1"},
      // and not negative.
      {"            lv = R.argmax(x, axis=1)\n            lv1 = R.mod(lv, R.const(3, \"int64\"))\n",
       "T.truncmod(lv[v_ax0], T.int64(3))", "lv[v_ax0] % T.int64(3)", "lv1"},
  };
  for (const Planted& p : all) {
    CAPTURE(std::string(p.wrong));
    const std::string program =
        function("x: R.Tensor((3, 8), \"float32\"), g: R.Tensor((8,), \"float32\"), b: R.Tensor((8,), \"float32\")",
                 p.body, "lv1");
    Dump right, dump;
    right.run("CanonicalizeBindings,minimum", {}, {}, {}, program);
    const repro::TraceBisection good = bisect(right);
    CHECK(good.verdict == Verdict::Agree);
    CHECK(good.by_themselves >= 2);
    dump.run("CanonicalizeBindings,minimum", "LegalizeOps", p.right, p.wrong, program);
    const repro::TraceBisection b = bisect(dump);
    REQUIRE(b.verdict == Verdict::Found);
    CHECK(b.stages[b.bad].pass == "LegalizeOps");
    CHECK(b.by_itself == p.binding);
    REQUIRE(b.comparison.first);
    CHECK(b.comparison.first->fault_is_here());
    CHECK(repro::to_string(b, "dump").find("run by itself, does not") != std::string::npos);
  }
}

TEST_CASE("bisect a dump: rounding of large elements is no difference, unless that is asked for") {
  Dump dump;
  const std::string c = "R.const(10000, \"float32\")";
  const auto program = [&](const std::string& first) {
    return function("x: " + kVector,
                    first + "            lv2 = R.multiply(x, " + c + ")\n            lv3 = R.concat((lv1, lv2))\n",
                    "lv3");
  };
  dump.write("Start", program("            lv = R.add(x, " + c + ")\n            lv1 = R.subtract(lv, " + c + ")\n"));
  dump.write("Next", program("            lv1 = R.negative(R.negative(x))\n"));
  CHECK(bisect(dump).verdict == Verdict::Agree);
  Quiet quiet;
  session::Session s(on_the_machine(), &quiet);
  repro::Tolerances exact;
  exact.exact = true;
  CHECK(repro::bisect_trace(s, dump.path(), exact).verdict == Verdict::Found);
}

TEST_CASE("bisect a dump: one symbolic dim in place of another") {
  const char* program = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("m", "n"), "float32"):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            lv = R.exp(x)
            gv = R.permute_dims(lv)
            R.output(gv)
        return gv
)";
  Dump right;
  right.run("minimum", {}, {}, {}, program);
  CHECK(bisect(right).verdict == Verdict::Agree);
  Dump wrong;
  // The shape of the result: slot 1, then slot 0.
  wrong.run("minimum", "VMShapeLower", "shape_heap, 2, 1, 1, 1, 0", "shape_heap, 2, 1, 0, 1, 1", program);
  const repro::TraceBisection b = bisect(wrong);
  INFO(repro::to_string(b, "dump"));
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "VMShapeLower");
  CHECK(b.dims == "n=7, m=8");
}

TEST_CASE("bisect a dump: a fault in the branch that the first inputs do not take") {
  const auto program = [](const char* one, const char* other) {
    return fmt::format(R"(@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        if c:
            r = {}(x)
        else:
            r = {}(x)
        return r
)",
                       one, other);
  };
  for (const auto& [one, other] : {std::pair("R.sin", "R.tanh"), std::pair("R.exp", "R.sin")}) {
    Dump dump;
    dump.write("Start", program("R.exp", "R.tanh"));
    dump.write("Wrong", program(one, other));
    CHECK(bisect(dump).verdict == Verdict::Found);
  }
}

TEST_CASE("bisect a dump: inputs on which the program is not defined") {
  const auto program = [](const char* to_shape, const char* reshape) {
    return fmt::format(R"(@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((16,), "float32"), s: R.Tensor((2,), "int64")) -> R.Tensor("float32", ndim=2):
        R.func_attr({{"relax.force_pure": True}})
        shape: R.Shape(ndim=2) = {}
        b: R.Tensor(shape, dtype="float32") = {}
        return b
)",
                       to_shape, reshape);
  };
  Dump dump;
  dump.write("Start", program("R.tensor_to_shape(s)", "R.reshape(a, shape)"));
  dump.write("Next",
             program("R.call_packed(\"vm.builtin.tensor_to_shape\", s, ty_args=(R.Shape(ndim=2),))",
                     "R.call_packed(\"vm.builtin.reshape\", a, shape, ty_args=(R.Tensor(shape, dtype=\"float32\"),))"));
  const repro::TraceBisection b = bisect(dump);
  CHECK(b.verdict == Verdict::CannotTell);
  CHECK(b.why.find("the program is not defined on the inputs: `relax.reshape` of 16 elements") != std::string::npos);
}

TEST_CASE("bisect a dump: numbers for which all results would be NaN show nothing") {
  Dump dump;
  dump.run("LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR", "FuseTIR", " + ", " - ",
           function("x: " + kVector + ", y: " + kVector,
                    "            lv = R.sqrt(x)\n            lv1 = R.sum(lv, axis=[0], keepdims=True)\n"
                    "            lv2 = R.multiply(lv1, y)\n            lv3 = R.add(lv2, x)\n",
                    "lv3"));
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "FuseTIR");
  REQUIRE(b.comparison.result);
  CHECK(b.comparison.result->nan_a == 0);
}

TEST_CASE("bisect a dump: a parameter without a shape is made up as what it is cast to") {
  Dump dump;
  dump.run("minimum", {}, {}, {}, R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("m", "k"), "float32"), y: R.Tensor("float32", ndim=2)) -> R.Tensor(("m", "k"), "float32"):
        m = T.int64()
        k = T.int64()
        lv = R.match_cast(y, R.Tensor((m, k), "float32"))
        gv = R.add(x, lv)
        return gv
)");
  const repro::TraceBisection b = bisect(dump);
  CHECK(b.verdict == Verdict::Agree);
  for (const repro::Stage& s : b.stages) CHECK(s.not_runnable == "");
}

TEST_CASE("bisect a dump: an exponential that overflows where the numbers are large") {
  const repro::TraceBisection b =
      with_other("x: " + kRow, "            gv = R.nn.softmax(x)\n", "gv", "] - T_softmax_maxelem[()])", "])");
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.large);
  REQUIRE(b.comparison.first);
  CHECK(b.comparison.first->inputs_agree());
  CHECK(to_string(b, "dump").find("finite on one side only") != std::string::npos);
  CHECK(to_json(b).find("\"large\": true") != std::string::npos);
}

TEST_CASE("bisect a dump: integers that do not fit into fewer bits, and negative ones") {
  const std::string x = R"(x: R.Tensor((40,), "int64"))";
  const std::string sum = "            gv = R.add(x, x)\n";
  CHECK(with_other(x, sum, "gv", "= x[v_ax0] + ", "= T.Cast(\"int64\", T.Cast(\"int32\", x[v_ax0])) + ").verdict ==
        Verdict::Found);
  const std::string divided = "            gv = R.floor_divide(x, R.const(3, \"int64\"))\n";
  CHECK(with_other(x, divided, "gv", "x[v_ax0] // T.int64(3)", "T.truncdiv(x[v_ax0], T.int64(3))").verdict ==
        Verdict::Found);
  // Values used as indices stay in range.
  const std::string taken = "            gv = R.take(y, x, axis=0)\n";
  CHECK(with_other(x + ", y: " + kRow, taken, "gv", "nothing like it", "").verdict == Verdict::Agree);
}

TEST_CASE("bisect a dump: weights that would saturate everything behind them") {
  const repro::TraceBisection b = with_other(
      R"(x: R.Tensor((1, 400), "float32"), w: R.Tensor((400, 400), "float32"), v: R.Tensor((400, 8), "float32"))",
      "            lv = R.matmul(x, w)\n            lv1 = R.matmul(lv, v)\n            gv = R.nn.log_softmax(lv1)\n",
      "gv", "T.log(", "T.log2(");
  REQUIRE(b.verdict == Verdict::Found);
  CHECK_FALSE(b.large);
}

TEST_CASE("bisect a dump: what is close, but not as close as rounding is mostly, is told") {
  const repro::TraceBisection b = with_other("x: " + kRow, "            gv = R.multiply(x, R.const(2, \"float32\"))\n",
                                             "gv", "T.float32(2.0)", "T.float32(2.00001)");
  CHECK(b.verdict == Verdict::Agree);
  REQUIRE(b.rounding);
  CHECK(b.stages[b.rounding->first].pass == "LegalizeOps");
  CHECK(to_string(b, "dump").find("close, not equal: 001_LegalizeOps.py") != std::string::npos);
  CHECK_FALSE(with_other("x: " + kRow, "            gv = R.exp(x)\n", "gv", "nothing like it", "").rounding);
}

TEST_CASE("bisect a dump: a dim that only a cast of a parameter names is another number than the others") {
  Dump dump;
  dump.run("Normalize,LegalizeOps", "LegalizeOps", "out_ty=R.Tensor((n, m)", "out_ty=R.Tensor((m, n)", R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor("float32", ndim=1)) -> R.Tensor("float32", ndim=2):
        n = T.int64()
        m = T.int64()
        lv = R.match_cast(y, R.Tensor((m,), "float32"))
        lv1 = R.expand_dims(x, axis=[1])
        gv = R.add(lv1, lv)
        return gv
)");
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.dims == "n=7, m=8");
}

TEST_CASE("bisect a dump: an end of rows that only long ones reach, at a width which a stage names") {
  const std::string x = R"(x: R.Tensor(("n",), "float32"))", exp = "            gv = R.exp(x)\n";
  for (const int width : {20, 200, 3000}) {
    CAPTURE(width);
    const std::string wrong =
        fmt::format("T.if_then_else(v_ax0 < T.int64({}), T.exp(x[v_ax0]), T.float32(0.0))", width);
    CHECK(with_other(x, exp, "gv", "T.exp(x[v_ax0])", wrong).verdict == Verdict::Found);
  }
}

TEST_CASE("bisect a dump: two operands of different signs and remainders") {
  const std::string both = R"(a: R.Tensor((40,), "int32"), b: R.Tensor((40,), "int32"))";
  const std::string body = "            gv = R.floor_divide(a, b)\n";
  CHECK(with_other(both, body, "gv", "a[v_ax0] // b[v_ax0]", "T.truncdiv(a[v_ax0], b[v_ax0])").verdict ==
        Verdict::Found);
}

TEST_CASE("bisect a dump: a maximum of many numbers that begins at 0 shows where all are negative") {
  const std::string least = "T.float32(-340282346638528859811704183484516925440.0)";
  for (const char* begin : {"T.float32(0.0)", "T.float32(-1000.0)"})
    CHECK(with_other(R"(x: R.Tensor((2, 64), "float32"))", "            gv = R.max(x, axis=[1])\n", "gv", least, begin)
              .verdict == Verdict::Found);
}

TEST_CASE("bisect a dump: halves, and numbers at a constant") {
  const std::string x = "x: " + kRow;
  CHECK(with_other(x, "            gv = R.round(x)\n", "gv", "T.round(x[v_ax0])", "T.floor(x[v_ax0] + T.float32(0.5))")
            .verdict == Verdict::Found);
  CHECK(with_other(x, "            gv = R.less(x, R.const(777.25, \"float32\"))\n", "gv", " < ", " <= ").verdict ==
        Verdict::Found);
}

TEST_CASE("bisect a dump: computations that read different variables are followed to those that both stages have") {
  const auto program = [](const std::string& name, int bound) {
    return function("x: " + kRow,
                    fmt::format("            {0} = R.clip(x, -{1}, {1})\n            lv1 = R.add({0}, x)\n"
                                "            gv = R.tanh(lv1)\n",
                                name, bound),
                    "gv");
  };
  for (const bool right : {true, false}) {
    Dump dump;
    dump.write("Start", program("lv", 8));
    dump.write("Next", program("h", right ? 8 : 4));
    const repro::TraceBisection b = bisect(dump);
    CHECK(b.verdict == (right ? Verdict::Agree : Verdict::Found));
    CHECK(b.by_itself == (right ? "" : "lv1"));
  }
}

TEST_CASE("bisect a dump: computations that look alike read different ones") {
  const auto program = [](const std::string& a, const std::string& b, int bound) {
    return function("x: " + kRow,
                    fmt::format("            {0} = R.clip(x, -9, 9)\n            lv1 = R.add({0}, x)\n"
                                "            {1} = R.clip(x, -{2}, {2})\n            lv2 = R.add({1}, x)\n"
                                "            lv3 = R.tanh(lv1)\n            gv = R.tanh(R.add(lv3, lv2))\n",
                                a, b, bound),
                    "gv");
  };
  Dump dump;
  dump.write("Start", program("lv", "p", 8));
  dump.write("Next", program("h", "q", 4));
  const repro::TraceBisection b = bisect(dump);
  CHECK(b.verdict == Verdict::Found);
  CHECK(b.by_itself == "lv2");
}

TEST_CASE("bisect a dump: an assertion that a pass removes; inputs that only stop at one are not tried") {
  const auto program = [](bool asserts, const std::string& op) {
    return R"(@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32"), flag: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
)" + std::string(asserts ? "        _ = R.assert_op(flag, format=R.str(\"it must hold\"))\n" : "") +
           "        y = R." + op + "(x)\n        return y\n";
  };
  SUBCASE("removed") {
    Dump dump;
    dump.write("Start", program(true, "exp"));
    dump.write("Same", program(true, "exp") + "\n");
    dump.write("Wrong", program(false, "exp"));
    const repro::TraceBisection b = bisect(dump, {"flag=False"});
    REQUIRE(b.verdict == Verdict::Found);
    CHECK(b.stages[b.bad].pass == "Wrong");
    CHECK(b.lost_assertion);
    CHECK(repro::to_string(b, "dump").find("is stopped by an assertion") != std::string::npos);
  }
  SUBCASE("kept: conditions are made to hold") {
    Dump dump;
    dump.write("Start", program(true, "exp"));
    dump.write("Wrong", program(true, "tanh"));
    const repro::TraceBisection b = bisect(dump);
    REQUIRE(b.verdict == Verdict::Found);
    CHECK(b.dims == "n=7");
  }
  SUBCASE("never past it") {
    Dump dump;
    dump.write("Start", program(true, "exp"));
    dump.write("Wrong", program(true, "tanh"));
    const repro::TraceBisection b = bisect(dump, {"flag=False"});
    CHECK(b.verdict == Verdict::CannotTell);
    CHECK(b.tried.dims.empty());
  }
}

TEST_CASE("bisect a dump: a sum in another order before a normalisation is rounding, also by itself") {
  const auto program = [](const std::string& product) {
    return function(
        "x: R.Tensor((4, 512), \"float32\"), w: R.Tensor((512, 16), \"float32\"), g: R.Tensor((16,), "
        "\"float32\"), b: R.Tensor((16,), \"float32\")",
        product + "            lv1 = R.nn.layer_norm(lv, g, b, axes=[-1])\n", "lv1");
  };
  Dump dump;
  dump.write("Start", program("            lv = R.matmul(x, w)\n"));
  dump.write("Rewrite", program(R"(            x1 = R.strided_slice(x, [1], [0], [256])
            x2 = R.strided_slice(x, [1], [256], [512])
            w1 = R.strided_slice(w, [0], [0], [256])
            w2 = R.strided_slice(w, [0], [256], [512])
            a1 = R.matmul(x1, w1)
            a2 = R.matmul(x2, w2)
            lv = R.add(a1, a2)
)"));
  const repro::TraceBisection b = bisect(dump);
  CAPTURE(repro::to_string(b, "dump"));
  CHECK(b.verdict == Verdict::Agree);
}
