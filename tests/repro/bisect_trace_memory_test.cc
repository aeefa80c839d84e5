// Folders as written by DumpIR: storages and memory that stages use wrongly.
#include "repro/dumped.h"

using namespace rldb;
using namespace rldb::repro_test;

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
  CHECK(b.memory[0].planner == "StaticPlanBlockMemory");
}

TEST_CASE("bisect a dump: storage that a pass behind the planner gave away") {
  Dump dump;
  dump.run("minimum", "LowerAllocTensor", "alloc_tensor(storage_3", "alloc_tensor(storage");
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "LowerAllocTensor");
  REQUIRE_FALSE(b.memory.empty());
  CHECK(b.memory[0].planner == "LowerAllocTensor");
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

TEST_CASE("bisect a dump: a storage that is too small is the planner's fault") {
  Dump dump;
  dump.run("minimum", "StaticPlanBlockMemory", "R.memory.alloc_storage(R.shape([48])",
           "R.memory.alloc_storage(R.shape([40])");
  const repro::TraceBisection b = bisect(dump);
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

TEST_CASE("bisect a dump: two results of one call in one memory") {
  const std::string program = R"(@I.ir_module
class Module:
    @T.prim_func(private=True)
    def two(x: T.Buffer((4, 8), "float32"), a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            a[i, j] = x[i, j] + T.float32(1)
            b[i, j] = x[i, j] * T.float32(2)
    @R.function
    def main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        cls = Module
        t = R.call_tir(cls.two, (x,), out_ty=[R.Tensor((4, 8), "float32"), R.Tensor((4, 8), "float32")])
        e = R.subtract(t[0], t[1])
        return e
)";
  Dump dump;
  dump.run("minimum", "StaticPlanBlockMemory", "alloc_tensor(storage_1", "alloc_tensor(storage", program);
  const repro::TraceBisection b = bisect(dump);
  INFO(repro::to_string(b, "dump"));
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "StaticPlanBlockMemory");
  REQUIRE(b.comparison.first);
  CHECK(b.comparison.first->beside == "alloc_1");
  CHECK_FALSE(b.comparison.first->fault_is_here());
  REQUIRE_FALSE(b.memory.empty());
  CHECK(b.memory[0].storage == "storage");
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
