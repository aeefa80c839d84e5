// The pass, and its rewrite, that causes a symptom; and the smallest program that still shows it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "repro/loaded.h"
#include "rldb/ir/printer.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/reduce.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

constexpr const char* kFusion = "LegalizeOps,AnnotateTIROpPattern,FoldConstant,FuseOps,FuseTIR";

// Three pairs of operators that fuse, each separated from the next by a softmax.
constexpr const char* kProgram = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        with R.dataflow():
            lv = R.add(x, x)
            lv1 = R.nn.relu(lv)
            lv2 = R.nn.softmax(lv1)
            lv3 = R.multiply(lv2, x)
            lv4 = R.exp(lv3)
            lv5 = R.nn.softmax(lv4)
            lv6 = R.subtract(lv5, x)
            lv7 = R.tanh(lv6)
            R.output(lv7)
        return lv7
)";

repro::Question says(const std::string& what, const std::string& passes) {
  repro::Question q;
  q.kind = repro::OracleKind::Command;
  q.passes = passes;
  q.command = "grep -q '" + what + "'";
  return q;
}

using Verdict = repro::PassBisection::Verdict;

}  // namespace

TEST_CASE("rewrite counter: a pass makes as many rewrites as it may, and without a counter all") {
  Loaded m(kProgram);
  const auto kernels = [&](std::int64_t limit) {
    source::Diagnostics d;
    const passes::RewriteCounter counter(limit);
    m.session().program()->go_to(0);
    REQUIRE(m.session().run_passes(kFusion, d));
    return m.session().module()->entries.size();
  };
  const std::size_t all = kernels(-1);
  source::Diagnostics d;
  m.session().program()->go_to(0);
  REQUIRE(m.session().run_passes(kFusion, d));
  CHECK(m.session().module()->entries.size() == all);
  CHECK(kernels(0) == 1);
}

TEST_CASE("bisect passes: a symptom that nobody brings, that is there before, that a pass brings") {
  Loaded m(kProgram);
  CHECK(repro::bisect_passes(m.session(), m.module(), says("nothing of this", kFusion)).verdict == Verdict::None);
  CHECK(repro::bisect_passes(m.session(), m.module(), says("def main", kFusion)).verdict == Verdict::CannotTell);
  const repro::PassBisection b = repro::bisect_passes(m.session(), m.module(), says("\"Primitive\": True", kFusion));
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(passes::to_string(b.pass) == "FuseOps");
  CHECK_FALSE(b.unstable);
  CHECK(b.rewrite == 1);
}

TEST_CASE("bisect passes: the one rewrite among several") {
  Loaded m(kProgram);
  const repro::PassBisection b =
      repro::bisect_passes(m.session(), m.module(), says("def fused_softmax_subtract", kFusion));
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(passes::to_string(b.pass) == "FuseOps");
  CHECK(b.rewrites == 3);
  CHECK(b.rewrite == 3);
  CHECK(b.rewrite_text == "3 bindings from `lv5` on are fused");
  REQUIRE(bool(b.with));
  REQUIRE(bool(b.without));
  CHECK(ir::print(b.with.as<ir::Module>()).find("fused_softmax_subtract") != std::string::npos);
  CHECK(ir::print(b.without.as<ir::Module>()).find("fused_softmax_subtract") == std::string::npos);
}

TEST_CASE("bisect passes: right passes change no values") {
  Loaded m(kProgram);
  repro::Question q;
  q.passes = std::string(kFusion) + ",minimum";
  CHECK(repro::bisect_passes(m.session(), m.module(), q).verdict == Verdict::None);
}

TEST_CASE("bisect passes: a result that was expected otherwise is wrong from the start") {
  Loaded m(kProgram);
  repro::Question q;
  q.passes = kFusion;
  auto zeros = runtime::Tensor::empty({3, 4}, runtime::DType::Float(32));
  REQUIRE(zeros.ok());
  q.expected.push_back(runtime::Value(std::move(zeros).value()));
  const repro::PassBisection b = repro::bisect_passes(m.session(), m.module(), q);
  CHECK(b.verdict == Verdict::CannotTell);
  CHECK(b.why == "the symptom is there before the first pass");
}

TEST_CASE("reduce: what does not matter goes, what the symptom needs stays") {
  Loaded m(kProgram);
  const repro::Reduction r = repro::reduce(m.session(), m.module(), says("R.exp(", ""), {});
  REQUIRE(r.module);
  CHECK(r.complete);
  CHECK(r.before.bindings == 8);
  CHECK(r.after.bindings == 1);
  CHECK(ir::print(r.module).find("R.exp(") != std::string::npos);
  source::Diagnostics d;
  m.session().set_module(r.module);
  CHECK(m.session().verify(d));
}

TEST_CASE("reduce: several candidates at once give the same program") {
  Loaded one(kProgram), four(kProgram);
  repro::ReduceOptions options;
  options.jobs = 4;
  const auto a = repro::reduce(one.session(), one.module(), says("R.nn.softmax(", ""), {});
  const auto b = repro::reduce(four.session(), four.module(), says("R.nn.softmax(", ""), options);
  REQUIRE(a.module);
  REQUIRE(b.module);
  CHECK(ir::print(a.module) == ir::print(b.module));
}

TEST_CASE("reduce: the pipeline shrinks too, and the symptom stays what it was") {
  Loaded m(kProgram);
  repro::Question q;
  q.kind = repro::OracleKind::Diagnostic;
  q.passes = "CanonicalizeBindings,DefaultSchedule(func_name=nobody),DeadCodeElimination";
  const repro::Reduction r = repro::reduce(m.session(), m.module(), q, {});
  REQUIRE(r.module);
  CHECK(r.symptom.pass == "DefaultSchedule");
  CHECK(r.passes == "DefaultSchedule(func_name=nobody)");
  CHECK(r.after.bindings <= 1);
}

TEST_CASE("reduce: a long chain") {
  std::string text =
      "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((32, 8), \"float32\")) -> "
      "R.Tensor((32, 8), \"float32\"):\n";
  for (int i = 0; i < 100; ++i)
    text += fmt::format("        v{} = R.{}({})\n", i,
                        i == 57 ? "nn.softmax"
                        : i % 2 ? "tanh"
                                : "exp",
                        i == 0 ? "x" : fmt::format("v{}", i - 1));
  text += "        return v99\n";
  Loaded m(text);
  const repro::Reduction r = repro::reduce(m.session(), m.module(), says("softmax", ""), {});
  REQUIRE(r.module);
  CHECK(r.after.bindings == 1);
  CHECK(r.after.elements < 5);
  CHECK(r.tried < 200);
}

TEST_CASE("reduce: no symptom, nothing to keep") {
  Loaded m(kProgram);
  repro::Question q;
  q.passes = kFusion;
  const repro::Reduction r = repro::reduce(m.session(), m.module(), q, {});
  CHECK(r.module == nullptr);
  CHECK(r.why == "the program shows no symptom");
}
