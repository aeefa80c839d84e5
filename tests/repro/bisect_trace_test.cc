// Folders as written by DumpIR: which stage is wrong, and what is said where none is, or none can be run.
#include "repro/dumped.h"

using namespace rldb;
using namespace rldb::repro_test;

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

TEST_CASE("bisect a dump: a kernel that a pass made wrong") {
  Dump dump;
  dump.run("LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR,minimum", "FuseTIR", "T.max(", "T.min(");
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "FuseTIR");
  REQUIRE(b.comparison.first);
  CHECK(b.comparison.first->inputs_agree());
}

TEST_CASE("bisect a dump: no folder, no files") {
  Quiet quiet;
  session::Session s({}, &quiet);
  CHECK(repro::bisect_trace(s, "/nowhere/at/all", {}).verdict == Verdict::CannotTell);
  const Dump empty;
  CHECK(repro::bisect_trace(s, empty.path(), {}).why.find("no files") != std::string::npos);
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

TEST_CASE("bisect a dump: what a later stage of a long row undoes") {
  Dump dump;
  const auto program = [](int rounds, const std::string& op) {
    std::string body = "            v0 = R.negative(x)\n";
    for (int i = 0; i < rounds; ++i) body += fmt::format("            v{} = R.abs(v{})\n", i + 1, i);
    return function("x: " + kVector, body + fmt::format("            gv = R.{}(v{})\n", op, rounds), "gv");
  };
  for (int i = 0; i < 60; ++i) dump.write("Pass", program(1 + i % 2, i < 21 || i > 25 ? "exp" : "tanh"));
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.bad == 21);
  CHECK(b.good == 20);
}

TEST_CASE("bisect a dump: kernels left open, and stages that were passed over, are told in the text") {
  repro::TraceBisection b;
  b.verdict = Verdict::Agree;
  b.stages.resize(2);
  b.stages[1].file = "001_Next.py";
  b.compared = {"main"};
  b.kernels_not_run = {{"k", 1, "no time was left for it"}};
  b.passed_over = 3;
  const std::string text = repro::to_string(b, "dump");
  CHECK(text.find("kernels left open: `k` from 001_Next.py on (no time was left for it)\n") != std::string::npos);
  CHECK(text.find("note: 3 stages were not run, because a later one agrees") != std::string::npos);
}
