// Folders as written by DumpIR: parameters and constants that change from stage to stage.
#include "repro/dumped.h"

using namespace rldb;
using namespace rldb::repro_test;

TEST_CASE("bisect a dump: parameters bundled on the way are followed") {
  Dump dump;
  dump.run("BundleModelParams", "LegalizeOps", "", "");
  dump.run("LegalizeOps,BundleModelParams", "BundleModelParams", "x[v_ax0, v_ax1] + ", "x[v_ax0, v_ax1] - ");
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "BundleModelParams");
  CHECK(b.bad == 2);
}

TEST_CASE("bisect a dump: constants without data are what the stage before computed there") {
  Dump dump;
  const std::string x = "x: " + kVector;
  const std::string constant = "metadata[\"relax.expr.Constant\"][0]";
  dump.write("Start", function(x,
                               "            lv: " + kVector + " = R.add(" + constant + ", " + constant +
                                   ")\n            lv1: " + kVector + " = R.multiply(x, lv)\n",
                               "lv1"));
  dump.write("FoldConstant",
             function(x, "            lv1: " + kVector + " = R.multiply(x, " + constant + ")\n", "lv1"));
  SUBCASE("right") {
    const repro::TraceBisection b = bisect(dump);
    CHECK(b.verdict == Verdict::Agree);
    CHECK(b.notes.empty());
  }
  SUBCASE("wrong later on") {
    dump.write("Wrong", function(x, "            lv1: " + kVector + " = R.subtract(x, " + constant + ")\n", "lv1"));
    const repro::TraceBisection b = bisect(dump);
    REQUIRE(b.verdict == Verdict::Found);
    CHECK(b.stages[b.bad].pass == "Wrong");
  }
}

TEST_CASE("bisect a dump: parameters that were bound") {
  const std::string x = "x: " + kVector;
  const std::string lv = "            lv: " + kVector + " = ";
  for (const std::string& constant :
       {std::string("metadata[\"relax.expr.Constant\"][0]"), std::string("R.const([1, 2, 3, 4], \"float32\")")})
    for (const bool right : {true, false}) {
      CAPTURE(constant);
      CAPTURE(right);
      Dump dump;
      dump.write("Start", function(x + ", w: " + kVector, lv + "R.multiply(x, w)\n", "lv"));
      dump.write("BindParams", function(x, lv + "R.multiply(x, " + constant + ")\n", "lv"));
      dump.write("Last", function(x, lv + (right ? "R.multiply(x, " : "R.add(x, ") + constant + ")\n", "lv"));
      const repro::TraceBisection b = bisect(dump);
      CHECK(b.verdict == (right ? Verdict::Agree : Verdict::Found));
      if (!right) CHECK(b.stages[b.bad].pass == "Last");
      CHECK(b.notes.empty());
    }
}

TEST_CASE("bisect a dump: parameters that one function lifts for several") {
  Dump dump;
  const std::string both = "x: " + kVector + ", w1: " + kVector + ", w2: " + kVector;
  const std::string use =
      "            lv: " + kVector + " = R.add(x, w1)\n            lv1: " + kVector + " = R.multiply(lv, n)\n";
  dump.write("Start", function(both, "            n: " + kVector + " = R.negative(w2)\n" + use, "lv1"));
  const std::string lifted = function("x: " + kVector + ", w1: " + kVector + ", n: " + kVector, use, "lv1") + R"(
    @R.function
    def transform_params(params: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
        with R.dataflow():
            w2 = params[1]
            n = R.negative(w2)
            w1 = params[0]
            gv = n, w1
            R.output(gv)
        return gv
)";
  std::string marked = lifted;
  marked.insert(marked.find("        with R.dataflow()"), "        R.func_attr({\"num_input\": 1})\n");
  dump.write("LiftTransformParams", marked);
  const repro::TraceBisection b = bisect(dump);
  CHECK(b.verdict == Verdict::Agree);
  CHECK(b.notes.empty());
}

TEST_CASE("bisect a dump: a function that is given the tensor it writes to") {
  Dump dump;
  dump.write("Start", function("x: " + kVector, "            lv: " + kVector + " = R.add(x, x)\n", "lv"));
  const auto lowered = [](const std::string& sign) {
    return R"(@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("y"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi] )" +
           sign + R"( x[vi]

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32"), out: R.Tensor((4,), "float32")) -> R.Tuple:
        cls = Module
        cls.add(x, out)
        return R.tuple()
)";
  };
  dump.write("ToDestination", lowered("+"));
  CHECK(bisect(dump).verdict == Verdict::Agree);
  dump.write("Wrong", lowered("-"));
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "Wrong");
  REQUIRE(b.comparison.first);
  CHECK(b.comparison.first->callee == "add");
}

TEST_CASE("bisect a dump: a pass that is meant to change values") {
  Dump dump;
  const std::string x = "x: " + kVector;
  const auto program = [&](const std::string& op) { return function(x, "            lv = R." + op + "(x)\n", "lv"); };
  dump.write("Start", program("exp"));
  dump.write("DecomposeOpsForInference", program("tanh"));
  CHECK(bisect(dump).notes ==
        std::vector<std::string>{"compared anew from 001_DecomposeOpsForInference.py on: `DecomposeOpsForInference` "
                                 "changes values"});
  dump.write("Wrong", program("sin"));
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "Wrong");
}

TEST_CASE("bisect a dump: a constant among kernels that are called alike binds no parameter") {
  Dump dump;
  dump.run("minimum", "StaticPlanBlockMemory", "alloc_tensor(storage_1", "alloc_tensor(storage",
           function("x: " + kVector,
                    "            lv = R.add(x, x)\n            lv1 = R.nn.relu(lv)\n            lv2 = R.add(lv1, "
                    "R.const([1, 2, 3, 4], \"float32\"))\n            lv3 = R.subtract(lv2, lv)\n",
                    "lv3"));
  const repro::TraceBisection b = bisect(dump);
  CHECK(b.notes.empty());
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "StaticPlanBlockMemory");
}

TEST_CASE("bisect a dump: lifted parameters go by their places, not by their names") {
  const char* program = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4), "float32"), v: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv = R.permute_dims(v)
            lv1 = R.permute_dims(w)
            lv2 = R.matmul(x, lv)
            gv = R.matmul(lv2, lv1)
            R.output(gv)
        return gv
)";
  Dump right;
  right.run("Normalize,LiftTransformParams,minimum", {}, {}, {}, program);
  CHECK(bisect(right).verdict == Verdict::Agree);
  Dump wrong;
  wrong.run("Normalize,LiftTransformParams", "LiftTransformParams", "= lv, lv1", "= lv1, lv", program);
  const repro::TraceBisection b = bisect(wrong);
  INFO(repro::to_string(b, "dump"));
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "LiftTransformParams");
}
