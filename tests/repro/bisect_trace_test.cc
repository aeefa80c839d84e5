// Folders as written by DumpIR, with a fault planted in the stages from one pass on.
//
// It is long because every case has the texts of its stages.
#include <doctest/doctest.h>

#include <filesystem>

#include "repro/loaded.h"
#include "rldb/ir/printer.h"
#include "rldb/pipeline/instruments.h"
#include "rldb/repro/bisect.h"
#include "rldb/support/file.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

constexpr const char* kProgram = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        with R.dataflow():
            lv = R.add(x, x)
            lv1 = R.nn.relu(lv)
            lv2 = R.matmul(lv1, w)
            lv3 = R.multiply(lv2, lv1)
            gv = R.subtract(lv3, lv)
            R.output(gv)
        return gv
)";

class Dump {
 public:
  Dump() : path_((std::filesystem::temp_directory_path() / "rldb-dump-XXXXXX").string()) {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  ~Dump() { std::filesystem::remove_all(path_); }
  Dump(const Dump&) = delete;
  Dump& operator=(const Dump&) = delete;
  const std::string& path() const { return path_; }

  void write(const std::string& pass, const std::string& text) {
    REQUIRE(support::write_file(fmt::format("{}/{:03}_{}.py", path_, number_++, pass), text).ok());
  }

  // One file per pass; from the pass `from` on, `what` is replaced by `with`.
  void run(const std::string& passes, const std::string& from = {}, const std::string& what = {},
           const std::string& with = {}, const std::string& program = kProgram) {
    Quiet quiet;
    session::Session s({}, &quiet);
    source::Diagnostics d;
    REQUIRE(s.load_text("m.py", program, d));
    bool wrong = false;
    pipeline::Recorder recorder;
    REQUIRE(s.run_passes(passes, d, {&recorder}));
    for (const pipeline::Record& record : recorder.records) {
      const std::string name(record.pass.name());
      wrong = wrong || name == from;
      std::string text = ir::print(record.after.as<ir::Module>());
      const auto at = wrong ? text.find(what) : std::string::npos;
      if (at != std::string::npos) text.replace(at, what.size(), with);
      write(name, text);
    }
  }

 private:
  std::string path_;
  int number_ = 0;
};

repro::TraceBisection bisect(const Dump& dump) {
  Quiet quiet;
  session::Session s(on_the_machine(), &quiet);
  return repro::bisect_trace(s, dump.path(), {});
}

using Verdict = repro::TraceBisection::Verdict;

}  // namespace

TEST_CASE("bisect a dump: a right pipeline is said to be right; what cannot be run is passed by") {
  Dump dump;
  dump.write("Empty", "");
  dump.run("minimum");
  CHECK(bisect(dump).verdict == Verdict::Agree);
  dump.write("Broken", "@I.ir_module\nclass Module:\n    def\n");
  const repro::TraceBisection b = bisect(dump);
  CHECK(b.verdict == Verdict::CannotTell);  // the last stage may be wrong
  CHECK(b.why.find("014_Broken.py") != std::string::npos);
  CHECK(b.compared == std::vector<std::string>{"main"});
  CHECK(b.memory.empty());
  REQUIRE(b.stages.size() == 15);
  CHECK(b.stages.front().not_runnable == "the file is empty");
  CHECK(b.stages.back().not_runnable.find("it does not read") == 0);
}

TEST_CASE("bisect a dump: storage of a live tensor that the planner gave away") {
  Dump dump;
  dump.run("minimum", "StaticPlanBlockMemory", "alloc_tensor(storage_3", "alloc_tensor(storage");
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "StaticPlanBlockMemory");
  CHECK(b.stages[b.good].pass == "CallTIRRewrite");
  CHECK(b.function == "main");
  REQUIRE(b.comparison.first);
  CHECK(b.comparison.first->callee == "subtract");
  REQUIRE(b.memory.size() == 1);
  CHECK(b.memory[0].tensor == "lv");
  CHECK(b.memory[0].allocation == "alloc");
  CHECK(b.memory[0].writer_allocation == "alloc_3");
  CHECK(b.memory[0].storage == "storage");
}

TEST_CASE("bisect a dump: a kernel that a pass made wrong") {
  Dump dump;
  dump.run("LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR,minimum", "FuseTIR", "T.max(", "T.min(");
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "FuseTIR");
  REQUIRE(b.comparison.first);
  CHECK(b.comparison.first->inputs_agree());
}

TEST_CASE("bisect a dump: parameters bundled on the way are followed") {
  Dump dump;
  dump.run("BundleModelParams", "LegalizeOps", "", "");
  dump.run("LegalizeOps,BundleModelParams", "BundleModelParams", "x[v_ax0, v_ax1] + ", "x[v_ax0, v_ax1] - ");
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "BundleModelParams");
  CHECK(b.bad == 2);
}

TEST_CASE("bisect a dump: no folder, no files") {
  Quiet quiet;
  session::Session s({}, &quiet);
  CHECK(repro::bisect_trace(s, "/nowhere/at/all", {}).verdict == Verdict::CannotTell);
  const Dump empty;
  CHECK(repro::bisect_trace(s, empty.path(), {}).why.find("no files") != std::string::npos);
}

namespace {

std::string function(const std::string& parameters, const std::string& body, const std::string& result) {
  return "@I.ir_module\nclass Module:\n    @R.function\n    def main(" + parameters +
         "):\n        with R.dataflow():\n" + body + "            R.output(" + result + ")\n        return " + result +
         "\n";
}

const std::string kVector = "R.Tensor((4,), \"float32\")";

}  // namespace

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

TEST_CASE("bisect a dump: the first wrong one of a long row is found with few runs") {
  Dump dump;
  const auto program = [](int rounds, const std::string& op) {
    std::string body = "            v0 = R.negative(x)\n";
    for (int i = 0; i < rounds; ++i) body += fmt::format("            v{} = R.abs(v{})\n", i + 1, i);
    return function("x: " + kVector, body + fmt::format("            gv = R.{}(v{})\n", op, rounds), "gv");
  };
  for (int i = 0; i < 60; ++i) dump.write("Pass", program(1 + i % 2, i < 37 ? "exp" : "tanh"));
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.bad == 37);
  CHECK(b.good == 36);
  CHECK(b.runs < 12);
}

TEST_CASE("bisect a dump: storage that was given away where it does not show") {
  Dump dump;
  dump.run("LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory,LowerAllocTensor",
           "StaticPlanBlockMemory", "R.memory.alloc_tensor(storage_1", "R.memory.alloc_tensor(storage",
           function("x: " + kVector,
                    "            lv = R.add(x, x)\n            lv1 = R.abs(lv)\n            lv2 = R.multiply(lv1, "
                    "lv1)\n            lv3 = R.add(lv2, lv)\n            lv4 = R.multiply(lv3, R.const(0, "
                    "\"float32\"))\n",
                    "lv4"));
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "StaticPlanBlockMemory");
  CHECK(b.comparison.verdict == repro::Comparison::Verdict::Equal);
  REQUIRE_FALSE(b.memory.empty());
  CHECK(b.memory[0].tensor == "lv");
}

TEST_CASE("bisect two dumps: which one is wrong, or where they part") {
  Dump right, wrong, other;
  right.run("minimum");
  wrong.run("minimum", "StaticPlanBlockMemory", "alloc_tensor(storage_3", "alloc_tensor(storage");
  other.run("LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR,minimum");
  Quiet quiet;
  session::Session s(on_the_machine(), &quiet);
  const auto one = repro::bisect_two_traces(s, right.path(), wrong.path(), {});
  CHECK(one.verdict() == Verdict::Found);
  CHECK(one.first.verdict == Verdict::Agree);
  CHECK(one.second.stages[one.second.bad].pass == "StaticPlanBlockMemory");
  CHECK(repro::bisect_two_traces(s, right.path(), other.path(), {}).verdict() == Verdict::Agree);
  Dump third;
  third.write("Start", function("x: R.Tensor((3, 4), \"float32\"), w: R.Tensor((4, 4), \"float32\")",
                                "            lv = R.add(x, x)\n", "lv"));
  third.write("Next", function("x: R.Tensor((3, 4), \"float32\"), w: R.Tensor((4, 4), \"float32\")",
                               "            lv = R.add(x, x)\n            lv1 = R.abs(R.abs(lv))\n            lv2 = "
                               "R.add(x, x)\n",
                               "lv2"));
  const auto two = repro::bisect_two_traces(s, right.path(), third.path(), {});
  CHECK(two.first.verdict == Verdict::Agree);
  REQUIRE(two.both);
  CHECK(two.both->verdict == Verdict::Found);
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

TEST_CASE("bisect a dump: a storage that is too small is the planner's fault") {
  Dump dump;
  dump.run("minimum", "StaticPlanBlockMemory", "R.memory.alloc_storage(R.shape([48])",
           "R.memory.alloc_storage(R.shape([40])");
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "StaticPlanBlockMemory");
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

TEST_CASE("bisect a dump: a kernel that is given one memory for what it reads and what it writes") {
  Dump dump;
  dump.run("minimum", "StaticPlanBlockMemory", "alloc_tensor(storage_2", "alloc_tensor(storage_1");
  const repro::TraceBisection b = bisect(dump);
  INFO(repro::to_string(b, "dump"));
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "StaticPlanBlockMemory");
  const auto shared = std::find_if(b.memory.begin(), b.memory.end(),
                                   [](const repro::Finding& f) { return f.kind == repro::Finding::Kind::Shared; });
  REQUIRE(shared != b.memory.end());
  CHECK(shared->tensor == "lv1");
  CHECK(shared->reader_callee == "matmul");
  CHECK(shared->storage == "storage_1");
  CHECK(shared->planner == "StaticPlanBlockMemory");
}

TEST_CASE("bisect a dump: a storage whose size changes after it was planned") {
  Dump dump;
  dump.run("minimum", "ComputePrimValue", "storage_1: R.Any = R.vm.alloc_storage(R.shape([48])",
           "storage_1: R.Any = R.vm.alloc_storage(R.shape([52])");
  const repro::TraceBisection b = bisect(dump);
  INFO(repro::to_string(b, "dump"));
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "ComputePrimValue");
  REQUIRE(b.memory.size() == 1);
  CHECK(b.memory[0].kind == repro::Finding::Kind::Resized);
  CHECK(repro::to_string(b.memory[0]) ==
        "storage `storage_1` of `main` is allocated with 52 bytes, and with 48 before");
}

TEST_CASE("bisect a dump: a kernel's own memory that is added to without being initialised") {
  const std::string init = "                with T.init():\n                    lv2_red[v_ax0] = T.float32(0.0)\n";
  const std::string program = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            lv2 = R.add(x, x)
            gv = R.mean(lv2, axis=1)
            R.output(gv)
        return gv
)";
  Dump right, wrong;
  right.run("LegalizeOps,ToNonDataflow", {}, {}, {}, program);
  wrong.run("LegalizeOps,ToNonDataflow", "ToNonDataflow", init, {}, program);
  for (const session::Engine engine : {session::Engine::Vm, session::Engine::Jit}) {
    Quiet quiet;
    session::Options options;
    options.engine = engine;
    session::Session s(options, &quiet);
    CHECK(repro::bisect_trace(s, right.path(), {}).verdict == Verdict::Agree);
    const repro::TraceBisection b = repro::bisect_trace(s, wrong.path(), {});
    INFO(repro::to_string(b, "dump"));
    REQUIRE(b.verdict == Verdict::Found);
    CHECK(b.stages[b.bad].pass == "ToNonDataflow");
    REQUIRE(b.comparison.first);
    CHECK(b.comparison.first->name == "gv");
  }
}

TEST_CASE("bisect a dump: a stage that fails names the binding") {
  Dump dump;
  dump.run("LegalizeOps,CanonicalizeBindings", "CanonicalizeBindings", "R.call_tir(cls.multiply, (lv2, lv1)",
           "R.call_tir(cls.multiply, (lv2, w)");
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  REQUIRE(b.comparison.first);
  CHECK(b.comparison.first->function == "main");
  CHECK(b.comparison.first->name == "lv3");
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

TEST_CASE("bisect a dump: a buffer that is declared over another is no write to it") {
  Dump dump;
  dump.run("LegalizeOps,DefaultSchedule,minimum", {}, {}, {},
           function("x: R.Tensor((4, 32), \"float32\")",
                    "            lv = R.exp(x)\n            lv1 = R.multiply(lv, lv)\n", "lv1"));
  const repro::TraceBisection b = bisect(dump);
  INFO(repro::to_string(b, "dump"));
  CHECK(b.verdict == Verdict::Agree);
  CHECK(b.memory.empty());
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

TEST_CASE("bisect a dump: a call in place over a tensor that is read afterwards") {
  const std::string head = R"(@I.ir_module
class Module:
    @T.prim_func(private=True)
    def tanh_inplace(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                A[vi] = T.tanh(A[vi])

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        with R.dataflow():
            lv = R.exp(x)
            lv1 = )";
  const std::string rest = R"(
            gv = R.add(lv1, lv)
            R.output(gv)
        return gv
)";
  Dump dump;
  dump.write("Start", head + "R.tanh(lv)" + rest);
  dump.write("DataflowUseInplaceCalls",
             head +
                 "R.call_tir_inplace(cls.tanh_inplace, (lv,), out_sinfo=R.Tensor((4,), \"float32\"), "
                 "inplace_indices=[0])" +
                 rest);
  const repro::TraceBisection b = bisect(dump);
  INFO(repro::to_string(b, "dump"));
  REQUIRE(b.verdict == Verdict::Found);
  REQUIRE(b.comparison.first);
  REQUIRE(b.comparison.first->inputs.size() == 2);
  const repro::ComparedInput& lv = b.comparison.first->inputs[1];
  CHECK(lv.name == "lv");
  CHECK(lv.overwritten);
  CHECK(lv.writer == "lv1");
  CHECK(lv.writer_callee == "tanh_inplace");
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

TEST_CASE("bisect a dump: stages that are one program, and functions that are all private") {
  Dump same;
  same.write("Start", kProgram);
  same.write("Nothing", kProgram);
  const repro::TraceBisection b = bisect(same);
  CHECK(b.verdict == Verdict::Agree);
  CHECK(b.compared.empty());
  CHECK(repro::to_string(b, "same").starts_with("no pass changed the program: its 2 stages are all the same"));
  Dump alone;
  alone.write("Start", kProgram);
  CHECK(bisect(alone).verdict == Verdict::CannotTell);
  same.write("Unreadable", "@I.ir_module\nclass Module: (");
  CHECK(bisect(same).why == "no two stages could be compared: those that can be run are one program");
  std::string hidden = kProgram;
  hidden.replace(hidden.find("@R.function"), 11, "@R.function(private=True)");
  std::string wrong = hidden;
  wrong.replace(wrong.find("R.nn.relu"), 9, "R.nn.gelu");
  Dump all_private;
  all_private.write("Start", hidden);
  all_private.write("Wrong", wrong);
  CHECK(bisect(all_private).verdict == Verdict::Found);
}

TEST_CASE("bisect a dump: a tensor of no dtype is like the constants, and a function without a value is no question") {
  const auto program = [](const char* a, const char* b) {
    return fmt::format(R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor) -> R.Tensor:
        a = R.add(x, R.const(1, "int32"))
        b = R.add({}, {})
        return b

    @R.function
    def nothing(x: R.Tensor((2,), "float32")) -> R.Tuple:
        return R.tuple()
)",
                       a, b);
  };
  Dump right;
  right.write("Start", program("a", "x"));
  right.write("Next", program("x", "a"));
  const repro::TraceBisection b = bisect(right);
  CHECK(b.why == "");
  CHECK(b.verdict == Verdict::Agree);
  right.write("Wrong", program("x", "x"));
  CHECK(bisect(right).verdict == Verdict::Found);
}

TEST_CASE("bisect a dump: stages that are one program, and a question that only a run answers") {
  const auto program = [](const char* name) {
    return fmt::format(R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.call_pure_packed("{}", x, ty_args=(R.Tensor((2,), "float32"),))
        return y
)",
                       name);
  };
  Dump dump;
  dump.write("Start", program("nobody.has.it"));
  dump.write("Nothing", program("nobody.has.it"));
  CHECK(bisect(dump).verdict == Verdict::Agree);
  const auto asked = [&](const repro::Followed& what) {
    Quiet quiet;
    session::Session s({}, &quiet);
    return repro::bisect_trace(s, dump.path(), {}, what).verdict;
  };
  repro::Followed expected, named, input;
  expected.inputs = {"x=2xf32=ones"};
  auto two = runtime::Tensor::empty({2}, runtime::DType::Float(32));
  REQUIRE(two.ok());
  expected.expected = {runtime::Value(*two)};
  CHECK(asked(expected) == Verdict::CannotTell);
  named.function = "nobody";
  CHECK(asked(named) == Verdict::CannotTell);
  input.inputs = {"x=7x7xf32=ones"};
  CHECK(asked(input) == Verdict::CannotTell);
}

TEST_CASE("bisect a dump: a name that is defined twice, for tensors of two shapes") {
  const auto program = [](const char* last) {
    return fmt::format(R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        x = R.matmul(x, w)
        y = {}
        return y
)",
                       last);
  };
  Dump dump;
  dump.write("Start", program("R.exp(x)"));
  dump.write("Wrong", program("R.sin(x)"));
  CHECK(bisect(dump).verdict == Verdict::Found);
}

TEST_CASE("bisect a dump: a storage that is handed on keeps its contents") {
  const auto program = [](const char* storage) {
    return fmt::format(R"(@I.ir_module
class Module:
    @T.prim_func
    def twice(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        for i in range(4):
            Y[i] = X[i] + X[i]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({{"relax.force_pure": True}})
        cls = Module
        s: R.Object = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        t: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _: R.Tuple = cls.twice(x, t)
{}        return t
)",
                       storage);
  };
  Dump dump;
  dump.write("Start", program(""));
  dump.write("Next", program("        p = (s,)\n        q: R.Object = R.call_packed(\"vm.builtin.tuple_getitem\", p, "
                             "R.prim_value(0), ty_args=(R.Object,))\n"));
  const repro::TraceBisection b = bisect(dump);
  CHECK(b.verdict == Verdict::Agree);
  CHECK(b.why == "");
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

TEST_CASE("bisect a dump: every function has its turn, its values and its memory") {
  std::string program = kProgram;
  const auto begin = program.find("    @R.function");
  std::string first = program.substr(begin);
  first.replace(first.find("main"), 4, "first");
  const auto zero = first.find("gv = R.subtract(lv3, lv)");
  first.replace(zero, 24, "lv4 = R.subtract(lv3, lv)\n            gv = R.multiply(lv4, R.const(0, \"float32\"))");
  Dump dump;
  // In `first`, which comes after `main`, the values do not show it.
  dump.run("LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory,LowerAllocTensor",
           "StaticPlanBlockMemory", "alloc_tensor(storage_1", "alloc_tensor(storage",
           program.substr(0, begin) + first + program.substr(begin));
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.function == "first");
  CHECK(b.stages[b.bad].pass == "StaticPlanBlockMemory");
  REQUIRE_FALSE(b.memory.empty());
  CHECK(b.memory[0].tensor == "lv");
  CHECK(b.alone.empty());
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

namespace {

const std::string kRow = R"(R.Tensor((4,), "float32"))";

repro::TraceBisection with_other(const std::string& params, const std::string& body, const std::string& result,
                                 const std::string& what, const std::string& with) {
  Dump dump;
  dump.run("Normalize,LegalizeOps", "LegalizeOps", what, with, function(params, body, result));
  return bisect(dump);
}

}  // namespace

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
