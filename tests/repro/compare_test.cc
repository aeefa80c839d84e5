// The first tensor that differs must be the one with the fault, and no difference may be invented.
#include "rldb/repro/compare.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "repro/loaded.h"
#include "rldb/repro/sanitize.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/support/file.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

// Five bindings; the tests change `fourth` and `last`.
std::string program(const std::string& fourth = "R.multiply(lv2, lv1)",
                    const std::string& last = "R.subtract(lv3, lv)") {
  return R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        with R.dataflow():
            lv = R.add(x, x)
            lv1 = R.nn.relu(lv)
            lv2 = R.matmul(lv1, w)
            lv3 = )" +
         fourth + "\n            gv = " + last + "\n            R.output(gv)\n        return gv\n";
}

class Two : public Loaded {
 public:
  const ir::Module* lower(const std::string& passes) {
    source::Diagnostics d;
    REQUIRE(session().run_passes(passes, d));
    return module();
  }
  // The values come from the parameters of the loaded program.
  repro::Program of(const ir::Module* module) {
    repro::Program p;
    p.module = module;
    p.function = "main";
    p.kernels = session::Engine::Vm;
    source::Diagnostics d;
    auto args = session().arguments("main", {}, d);
    REQUIRE(args);
    for (const session::Argument& a : *args) p.args.push_back(a.value);
    return p;
  }
  repro::Comparison compare(const ir::Module* a, const ir::Module* b, const repro::Tolerances& t = {}) {
    return repro::compare(session(), of(a), of(b), t);
  }
};

using Verdict = repro::Comparison::Verdict;

}  // namespace

TEST_CASE("compare: the binding that computes something else is named, with what it reads") {
  Two two;
  const ir::Module* a = two.load(program());
  const ir::Module* b = two.load(program("R.multiply(lv2, lv2)"));
  const repro::Comparison c = two.compare(a, b);
  REQUIRE(c.verdict == Verdict::Differs);
  REQUIRE(c.first);
  CHECK(c.first->name == "lv3");
  CHECK(c.first->function == "main");
  CHECK(c.first->callee == "multiply");
  CHECK(c.first->reads_others());
  REQUIRE(c.first->inputs.size() == 2);
  CHECK(c.first->inputs[0].agrees);
  CHECK(c.first->inputs[1].instead_of == "lv1");
  CHECK(c.first->inputs[1].name == "lv2");
  REQUIRE(c.first->difference);
  CHECK(c.first->difference->different == 12);
}

// Two products of one tensor; `second` is what `b` multiplies by, `read` what `c` reads.
static std::string two_products(const std::string& second, const std::string& read = "b") {
  return R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), q: R.Tensor((4, 4), "float32"), k: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, q)
            b = R.matmul(x, )" +
         second + ")\n            c = R.exp(" + read +
         ")\n            d = R.add(a, c)\n            R.output(d)\n        return d\n";
}

TEST_CASE("compare: a tensor that became equal to another one is not taken for right") {
  Two two;
  const ir::Module* a = two.load(two_products("k"));
  const ir::Module* b = two.load(two_products("q"));
  const repro::Comparison c = two.compare(a, b);
  REQUIRE(c.first);
  CHECK(c.first->name == "b");
  CHECK(c.first->other_name == "b");
  CHECK(c.first->fault_is_here());
  REQUIRE(c.first->inputs.size() == 2);
  CHECK(c.first->inputs[0].agrees);
  CHECK(c.first->inputs[1].instead_of == "k");
  const std::string text = repro::to_string(c, "a", "b");
  CHECK(text.find("operand 2 was `k`, is now `q`") != std::string::npos);
  CHECK(text.find("on the first side:\n    b = ") != std::string::npos);
}

TEST_CASE("compare: the same, where its reader has no counterpart on the first side") {
  Two two;
  const ir::Module* a = two.load(two_products("k"));
  const ir::Module* b = two.load(two_products("q)\n            t = R.negative(b)\n            u = R.exp(t",
                                              "b)\n            c = R.divide(R.const(1.0), u"));
  const repro::Comparison c = two.compare(a, b);
  REQUIRE(c.first);
  CHECK(c.first->name == "b");
  CHECK(c.first->inputs.at(1).instead_of == "k");
}

TEST_CASE("compare: a reader of another tensor, which is right, is itself the place of the fault") {
  Two two;
  const ir::Module* a = two.load(two_products("k"));
  const ir::Module* b = two.load(two_products("k", "a"));
  const repro::Comparison c = two.compare(a, b);
  REQUIRE(c.first);
  CHECK(c.first->name == "c");
  CHECK(c.first->reads_others());
  REQUIRE(c.first->inputs.size() == 1);
  CHECK(c.first->inputs[0].name == "a");
  CHECK(c.first->inputs[0].instead_of == "b");
}

TEST_CASE("compare: operands in another order") {
  Two two;
  const ir::Module* a = two.load(program("R.subtract(lv2, lv1)"));
  const ir::Module* b = two.load(program("R.subtract(lv1, lv2)"));
  const repro::Comparison c = two.compare(a, b);
  REQUIRE(c.first);
  CHECK(c.first->name == "lv3");
  CHECK(c.first->reads_others());
  CHECK(c.first->inputs[0].instead_of == "lv2");
  CHECK(c.first->inputs[1].instead_of == "lv1");
}

TEST_CASE("compare: other names, fused kernels and planned memory are no difference") {
  Two two;
  const ir::Module* a = two.load(program());
  const ir::Module* fused = two.lower("LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR");
  CHECK(two.compare(a, fused).verdict == Verdict::Equal);
  const ir::Module* lowered = two.lower("minimum");
  const repro::Comparison c = two.compare(a, lowered);
  CHECK(c.verdict == Verdict::Equal);
  CHECK_FALSE(c.first);
}

TEST_CASE("compare: a difference that does not reach the result is told, and is not one of the programs") {
  Two two;
  const ir::Module* a = two.load(program("R.multiply(lv2, lv1)", "R.subtract(lv2, lv)"));
  const ir::Module* b = two.load(program("R.multiply(lv2, lv2)", "R.subtract(lv2, lv)"));
  const repro::Comparison c = two.compare(a, b);
  CHECK(c.verdict == Verdict::Equal);
  REQUIRE(c.first);
  CHECK(c.first->name == "lv3");
}

TEST_CASE("compare: a temporary that only one side has is not the place of a fault behind it") {
  Two two;
  const ir::Module* a = two.load(program("R.multiply(lv2, lv1)"));
  const ir::Module* b =
      two.load(program("R.negative(lv2)\n            t = R.add(lv1, lv1)\n"
                       "            lv4 = R.multiply(lv3, t)",
                       "R.subtract(lv4, lv)"));
  const repro::Comparison c = two.compare(a, b);
  REQUIRE(c.verdict == Verdict::Differs);
  REQUIRE(c.first);
  CHECK(c.first->name == "lv4");
  CHECK(c.first->other_name == "lv3");
  CHECK(c.first->through == std::vector<std::string>{"lv3", "t"});
}

TEST_CASE("compare: a program that fails alone differs; two that fail cannot be told") {
  Two two;
  const std::string missing = R"(@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        y = R.call_packed("nobody.has.it", x, sinfo_args=(R.Tensor((3, 4), "float32"),))
        return y
)";
  const ir::Module* a = two.load(program());
  const ir::Module* b = two.load(missing);
  CHECK(two.compare(a, b).verdict == Verdict::Differs);
  CHECK(two.compare(b, b).verdict == Verdict::CannotTell);
}

TEST_CASE("tolerances: they go by the dtype, and the last place can be counted") {
  const auto scalar = [](double v, runtime::DType t) {
    auto made = runtime::Tensor::empty({1}, t);
    REQUIRE(made.ok());
    runtime::store_double((*made)->data(), t, v);
    return runtime::Value(std::move(made).value());
  };
  const auto differ = [&](double a, double b, runtime::DType t, const repro::Tolerances& all) {
    return repro::difference(scalar(a, t), scalar(b, t), all).has_value();
  };
  repro::Tolerances own, exact, ulp;
  exact.exact = true;
  ulp.atol = ulp.rtol = 0;
  ulp.ulp = 1;
  CHECK_FALSE(differ(1, 1.001, runtime::DType::Float(16), own));
  CHECK(differ(1, 1.001, runtime::DType::Float(32), own));
  CHECK(differ(1, 1 + 1e-6, runtime::DType::Float(32), exact));
  CHECK_FALSE(differ(1, 1 + 1.2e-7, runtime::DType::Float(32), ulp));
  CHECK(differ(1, 1 + 5e-7, runtime::DType::Float(32), ulp));
  CHECK(differ(1, 2, runtime::DType::Int(32), own));
}

TEST_CASE("sanitizers: memory of a live tensor given away, memory never written, the first infinity") {
  Two two;
  const std::string text = R"(@I.ir_module
class Module:
    @T.prim_func(private=True)
    def twice(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("y"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        storage = R.memory.alloc_storage(R.shape([16]), 0, "global", "float32")
        a = R.memory.alloc_tensor(storage, 0, R.shape([4]), "float32")
        cls.twice(x, a)
        alias = R.match_cast(a, R.Tensor((4,), "float32"))
        b = R.memory.alloc_tensor(storage, 0, R.shape([4]), "float32")
        cls.twice(alias, b)
        never = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
        c = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
        cls.twice(alias, c)
        cls.twice(never, c)
        return c
)";
  const repro::Trace trace = repro::record(two.session(), two.of(two.load(text)));
  REQUIRE(trace.error == "");
  repro::Sanitizers which;
  which.storage = which.unwritten = which.nan = true;
  const auto found = repro::sanitize(trace, which);
  REQUIRE(found.size() == 2);
  CHECK(found[0].kind == repro::Finding::Kind::Storage);
  CHECK(found[0].tensor == "alias");
  CHECK(found[0].allocation == "a");
  CHECK(found[0].writer == "b");
  CHECK(found[0].storage == "storage");
  CHECK(found[1].kind == repro::Finding::Kind::Unwritten);
  CHECK(found[1].tensor == "never");
}

TEST_CASE("sanitizers: an integer that its dtype does not hold, an access out of bounds") {
  Two two;
  const std::string text = R"(@I.ir_module
class Module:
    @T.prim_func(private=True)
    def kernel(x: T.Buffer((4,), "int32"), y: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.block("y"):
                vi = T.axis.spatial(4, i)
                y[vi] = T.if_then_else(vi < 2, x[vi], x[vi] * 65536)

    @T.prim_func(private=True)
    def beyond(x: T.Buffer((4,), "int32"), y: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.block("y"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi + 1]

    @R.function
    def main(x: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
        cls = Module
        a = R.call_tir(cls.kernel, (x,), out_sinfo=R.Tensor((4,), "int32"))
        b = R.call_tir(cls.beyond, (a,), out_sinfo=R.Tensor((4,), "int32"))
        return b
)";
  repro::Program program;
  program.module = two.load(text);
  program.function = "main";
  auto x = runtime::parse_value_literal("4xi32=65536,1,2,40000");
  REQUIRE(x.ok());
  program.args.push_back(*x);
  repro::Sanitizers which;
  which.overflow = which.bounds = true;
  const auto run = repro::run_sanitized(two.session(), program, which);
  REQUIRE(run.findings.size() == 2);
  CHECK(run.findings[0].kind == repro::Finding::Kind::Overflow);
  CHECK(run.findings[0].reader == "a");
  CHECK(run.findings[0].element == std::vector<std::int64_t>{3});
  CHECK(run.findings[0].number == "2621440000");
  CHECK(run.findings[0].statement == "x[vi] * 65536");
  CHECK(run.findings[1].kind == repro::Finding::Kind::Bounds);
  CHECK(run.findings[1].reader == "b");
  CHECK(run.findings[1].statement.find("out of bounds") != std::string::npos);
}

namespace {

// A sum of many numbers in two orders; `wrong` leaves one of them out.
std::string two_sums(bool split, bool wrong) {
  std::string text = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4096,), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            s = )";
  const std::string whole = "R.add(x, x)";
  if (!split) return text + whole + "\n            t = R.sum(s)\n            R.output(t)\n        return t\n";
  text += whole + "\n            a = R.reshape(s, R.shape([64, 64]))\n            b = R.sum(a, axis=[0])\n";
  if (wrong) text += "            c = R.strided_slice(b, axes=[0], begin=[0], end=[63])\n            t = R.sum(c)\n";
  if (!wrong) text += "            t = R.sum(b)\n";
  return text + "            R.output(t)\n        return t\n";
}

repro::Comparison shadowed(Two& two, const ir::Module* a, const ir::Module* b) {
  repro::Tolerances exact;
  exact.exact = true;
  return repro::compare(two.session(), two.of(a), two.of(b), exact, true);
}

}  // namespace

TEST_CASE("another order of summing is told from a wrong sum") {
  Two two;
  const ir::Module* one = two.load(two_sums(false, false));
  const ir::Module* other = two.load(two_sums(true, false));
  const ir::Module* wrong = two.load(two_sums(true, true));
  using Verdict = repro::Shadow::Verdict;
  const auto rounding = shadowed(two, one, other);
  REQUIRE(rounding.result);
  REQUIRE(rounding.shadow);
  CHECK(rounding.shadow->why == "");
  CHECK(rounding.shadow->verdict == Verdict::Rounding);
  const auto second = shadowed(two, one, wrong);
  REQUIRE(second.shadow);
  CHECK(second.shadow->verdict == Verdict::SecondIsOff);
  const auto equal = shadowed(two, one, one);
  CHECK_FALSE(equal.shadow);
}

namespace {

class Executable {
 public:
  // `named`: with debug information, as TVM's own files have none.
  Executable(session::Session& s, const std::string& text, bool named = true)
      : path_((std::filesystem::temp_directory_path() / "rldb-exe-XXXXXX").string()) {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
    source::Diagnostics d;
    REQUIRE(s.load_text("m.py", text, d));
    const bytecode::DebugInfo none;
    const auto bytes = s.serialise(d, named ? nullptr : &none);
    REQUIRE(bytes);
    REQUIRE(support::write_file(file(), *bytes).ok());
  }
  ~Executable() { std::filesystem::remove_all(path_); }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  std::string file() const { return path_ + "/m.rlvm"; }

 private:
  std::string path_;
};

// The program, and two executables: its own, and that of the program with another fourth binding.
class TwoExecutables {
 public:
  TwoExecutables(const std::string& fourth, bool named)
      : good_(two_.session(), program(), named),
        bad_(two_.session(), program(fourth), named),
        module_(two_.of(two_.load(program()))) {}
  const repro::Program& module() const { return module_; }
  repro::Program good() { return of(good_); }
  repro::Program bad() { return of(bad_); }
  repro::Comparison compare(const repro::Program& a, const repro::Program& b) {
    return repro::compare(two_.session(), a, b, {});
  }
  session::Session& session() { return two_.session(); }

 private:
  repro::Program of(const Executable& executable) {
    repro::Program p = module_;
    p.module = nullptr;
    session::Session& s = two_.session();
    auto before = s.snapshot();
    source::Diagnostics d;
    REQUIRE(s.load_file(executable.file(), d));
    p.other = s.program()->copy();
    s.restore(std::move(before));
    return p;
  }
  Two two_;
  Executable good_, bad_;
  repro::Program module_;
};

// The first difference is a call of `callee` with the same inputs.
void check_difference(const repro::Comparison& c, std::string_view callee) {
  INFO(repro::to_string(c, "first", "second"));
  REQUIRE(c.verdict == Verdict::Differs);
  CHECK_FALSE(c.results_only);
  REQUIRE(c.first);
  CHECK(c.first->callee.starts_with(callee));
  CHECK(c.first->fault_is_here());
  CHECK(c.first->text.find("call") != std::string::npos);
}

}  // namespace

namespace {

// Ends in a product by `factor` of numbers that are near 0; `shift` moves them by less than the tolerance.
std::string enlarging(const std::string& shift, const std::string& factor) {
  return R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            lv = R.add(x, R.const()" +
         shift + R"(, "float32"))
            lv1 = R.subtract(lv, x)
            gv = R.multiply(lv1, R.const()" +
         factor + R"(, "float32"))
            R.output(gv)
        return gv
)";
}

}  // namespace

TEST_CASE("compare: a computation that enlarges differences within the tolerance is not blamed") {
  using Alone = repro::FirstDifference::Alone;
  Two two;
  const ir::Module* a = two.load(enlarging("0.25", "4096.0"));
  const ir::Module* b = two.load(enlarging("0.250001", "4096.0"));
  const repro::Tolerances loose{.atol = 1e-4, .rtol = 0, .ulp = {}, .exact = false};
  repro::Comparison c = two.compare(a, b, loose);
  INFO(repro::to_string(c, "a", "b"));
  REQUIRE(c.first);
  CHECK(c.first->name == "gv");
  CHECK(c.first->inputs_rounded());
  CHECK(c.first->alone == Alone::Agrees);
  CHECK(c.first->starts_here());
  CHECK_FALSE(c.first->fault_is_here());
  CHECK(repro::to_string(c, "a", "b").find("the fault is here") == std::string::npos);

  // The same, and another factor: it differs on what the first side reads too.
  c = two.compare(a, two.load(enlarging("0.250001", "4097.0")), loose);
  INFO(repro::to_string(c, "a", "b"));
  REQUIRE(c.first);
  CHECK(c.first->name == "gv");
  CHECK(c.first->alone == Alone::Differs);
  CHECK(c.first->fault_is_here());

  // Its inputs are equal bit by bit.
  c = two.compare(a, two.load(enlarging("0.25", "4097.0")), loose);
  REQUIRE(c.first);
  CHECK_FALSE(c.first->inputs_rounded());
  CHECK(c.first->fault_is_here());
}

TEST_CASE("compare: executables without names, by what they compute from what") {
  TwoExecutables two("R.multiply(lv2, lv2)", false);
  const repro::Comparison same = two.compare(two.good(), two.good());
  CHECK(same.verdict == Verdict::Equal);
  CHECK(same.matched == same.tensors_b);

  const repro::Comparison c = two.compare(two.good(), two.bad());
  check_difference(c, "multiply");
  CHECK_FALSE(c.first->other_name.empty());

  // Against the module, whose bindings have names.
  const repro::Comparison mixed = two.compare(two.module(), two.bad());
  REQUIRE(mixed.first);
  CHECK(mixed.first->other_name == "lv3");
}

TEST_CASE("compare: executables, by the names of their variables") {
  TwoExecutables two("R.add(lv2, lv1)", true);
  const repro::Comparison same = two.compare(two.good(), two.good());
  CHECK(same.verdict == Verdict::Equal);
  CHECK_FALSE(same.results_only);
  CHECK(same.matched == same.tensors_b);
  CHECK(same.matched >= 7);

  const repro::Comparison c = two.compare(two.good(), two.bad());
  check_difference(c, "add");
  CHECK(c.first->function == "main");

  // Against the module it was built from.
  CHECK(two.compare(two.module(), two.bad()).first);
  CHECK(two.compare(two.module(), two.good()).verdict == Verdict::Equal);
  CHECK(two.session().module() != nullptr);  // the loaded module is restored
}

TEST_CASE("compare: a call of an executable that enlarges differences runs once more, on the first side's tensors") {
  using Alone = repro::FirstDifference::Alone;
  const repro::Tolerances loose{.atol = 1e-4, .rtol = 0, .ulp = {}, .exact = false};
  for (const bool named : {true, false}) {
    CAPTURE(named);
    Two two;
    const repro::Program module = two.of(two.load(enlarging("0.25", "4096.0")));
    const auto executable = [&](const std::string& shift, const std::string& factor) {
      const Executable file(two.session(), enlarging(shift, factor), named);
      repro::Program p = module;
      p.module = nullptr;
      auto before = two.session().snapshot();
      source::Diagnostics d;
      REQUIRE(two.session().load_file(file.file(), d));
      p.other = two.session().program()->copy();
      two.session().restore(std::move(before));
      return p;
    };
    for (const repro::Program& first : {module, executable("0.25", "4096.0")}) {
      repro::Comparison c = repro::compare(two.session(), first, executable("0.250001", "4096.0"), loose);
      INFO(repro::to_string(c, "first", "second"));
      REQUIRE(c.first);
      CHECK(c.first->callee.starts_with("multiply"));
      CHECK(c.first->inputs_rounded());
      CHECK(c.first->alone == Alone::Agrees);
      CHECK_FALSE(c.first->fault_is_here());

      c = repro::compare(two.session(), first, executable("0.250001", "4097.0"), loose);
      INFO(repro::to_string(c, "first", "second"));
      REQUIRE(c.first);
      CHECK(c.first->callee.starts_with("multiply"));
      CHECK(c.first->alone == Alone::Differs);
      CHECK(c.first->fault_is_here());
    }
  }
}

TEST_CASE("compare: threads that race are told, and only these") {
  const auto with_store = [](const std::string& index, const std::string& value) {
    return R"(@I.ir_module
class Module:
    @T.prim_func
    def last(x: T.Buffer((32,), "float32"), y: T.Buffer((32,), "float32")):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.sblock("b"):
                vi = T.axis.spatial(32, tx)
                y[)" +
           index + "] = " + value + R"(

    @R.function
    def main(x: R.Tensor((32,), "float32")) -> R.Tensor((32,), "float32"):
        cls = Module
        y = R.call_tir(cls.last, (x,), out_sinfo=R.Tensor((32,), "float32"))
        return y
)";
  };
  const auto verdict_of = [&](const std::string& first, const std::string& second) {
    Two t;
    t.load(first);
    const ir::Module* a = t.module();
    t.load(second);
    return t.compare(a, t.module());
  };
  const std::string right = with_store("vi", "x[vi]");
  const auto racy = verdict_of(right, with_store("vi % 16", "x[vi]"));
  CHECK(racy.verdict == Verdict::Differs);
  CHECK(racy.why.find("the threads of `last` race") != std::string::npos);
  CHECK(to_string(racy, "a", "b").find(racy.why) != std::string::npos);
  const auto wrong = verdict_of(right, with_store("vi", "x[31 - vi]"));
  CHECK(wrong.verdict == Verdict::Differs);
  CHECK(wrong.why.empty());
}
