// Bugs planted in passes: `bisect` names the pass and the rewrite, `reduce` makes a large module small.
#include "rldb/support/planted.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>

#include "rldb/frontend/relay.h"
#include "rldb/ir/printer.h"
#include "rldb/passes/pass_id.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/fuzz.h"
#include "rldb/repro/reduce.h"
#include "rldb/repro/relay_passes.h"

using namespace rldb;
using support::Bug;

namespace rldb::support {
Bug planted_bug = Bug::None;
}

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

class Planted {
 public:
  explicit Planted(Bug bug) { support::planted_bug = bug; }
  ~Planted() { support::planted_bug = Bug::None; }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
};

constexpr int kBindings = 300;

// A long chain of bindings, which preserves differences; `special` may give one of them another value.
std::string chain(const std::string& shape, const std::function<std::string(int)>& special) {
  const std::string type = fmt::format("R.Tensor({}, \"float32\")", shape);
  std::string text =
      fmt::format("@I.ir_module\nclass Module:\n    @R.function\n    def main(x: {}) -> {}:\n", type, type);
  text += "        with R.dataflow():\n";
  for (int i = 0; i < kBindings; ++i) {
    const std::string last = i == 0 ? "x" : fmt::format("v{}", i - 1);
    std::string value = special(i);
    if (value.empty())
      value = i % 3 == 0   ? fmt::format("R.add({}, x)", last)
              : i % 3 == 1 ? fmt::format("R.multiply({}, R.const(1.01, \"float32\"))", last)
                           : fmt::format("R.negative({})", last);
    text += fmt::format("            v{} = {}\n", i, value);
  }
  text += fmt::format("            R.output(v{})\n        return v{}\n", kBindings - 1, kBindings - 1);
  return text;
}

struct Found {
  repro::PassBisection bisection;
  repro::Reduction reduction;
};

Found look_at(const std::string& program, const std::string& passes, Bug bug) {
  Quiet quiet;
  session::Options options;
  options.engine = session::Engine::Eval;
  session::Session s(options, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("m.py", program, d));
  repro::Question q;
  q.passes = passes;
  CHECK(repro::bisect_passes(s, s.module(), q).verdict == repro::PassBisection::Verdict::None);
  const Planted planted(bug);
  Found found;
  found.bisection = repro::bisect_passes(s, s.module(), q);
  repro::ReduceOptions reduction;
  reduction.jobs = 2;
  reduction.candidate_seconds = 120;  // a busy machine is slow, and the result has to be the same
  found.reduction = repro::reduce(s, s.module(), q, reduction);
  REQUIRE(found.bisection.verdict == repro::PassBisection::Verdict::Found);
  REQUIRE(found.reduction.module);
  MESSAGE(found.reduction.tried, " candidates\n", ir::print(found.reduction.module));
  CHECK(found.reduction.before.bindings >= kBindings);
  CHECK(found.reduction.after.bindings <= 5);
  return found;
}

const std::string kLowering = "LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory";

}  // namespace

TEST_CASE("planted: the memory plan gives a storage away one use too early") {
  const auto found = look_at(chain("(4, 4)", [](int i) { return i == 150 ? "R.subtract(v149, v140)" : ""; }), kLowering,
                             Bug::EarlyRelease);
  CHECK(passes::info(found.bisection.pass).id == passes::PassId::StaticPlanBlockMemory);
  CHECK(found.bisection.rewrite > 0);
  CHECK(found.bisection.rewrite_text.find("storage that was used before") != std::string::npos);
  REQUIRE(found.bisection.comparison);
  REQUIRE(found.bisection.comparison->first);
  CHECK(found.bisection.comparison->first->callee.find("subtract") == 0);
  CHECK(found.reduction.passes.find("StaticPlanBlockMemory") != std::string::npos);
}

TEST_CASE("planted: fusion swaps the operands of a kernel") {
  const auto found = look_at(chain("(4, 4)", [](int i) { return i == 77 ? "R.subtract(v76, v75)" : ""; }),
                             "LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR", Bug::SwappedOperands);
  CHECK(passes::info(found.bisection.pass).id == passes::PassId::FuseTIR);
  CHECK(found.bisection.rewrite > 0);
}

TEST_CASE("planted: a fault that the usual inputs do not show") {
  // Without negative numbers the difference is 0 either way.
  const std::string program = R"(@I.ir_module
class Module:
    @R.function
    def main(k: R.Tensor((3, 8), "int32")) -> R.Tensor((3, 8), "int32"):
        with R.dataflow():
            lv = R.maximum(k, R.const(0, "int32"))
            lv1 = R.subtract(k, lv)
            R.output(lv1)
        return lv1
)";
  Quiet quiet;
  session::Options options;
  options.engine = session::Engine::Eval;
  session::Session s(options, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("m.py", program, d));
  repro::Question q;
  q.passes = "LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR";
  CHECK(repro::bisect_passes(s, s.module(), q).verdict == repro::PassBisection::Verdict::None);
  const Planted planted(Bug::SwappedOperands);
  const repro::PassBisection b = repro::bisect_passes(s, s.module(), q);
  INFO(to_string(b));
  REQUIRE(b.verdict == repro::PassBisection::Verdict::Found);
  CHECK(passes::info(b.pass).id == passes::PassId::FuseTIR);
  CHECK(b.rewrite > 0);
  REQUIRE(b.values.size() == 1);
  CHECK(to_string(b.tried).find("integers of both signs") != std::string::npos);
  // On these values the usual question has the same answer.
  q.values = b.values;
  CHECK(repro::bisect_passes(s, s.module(), q).verdict == repro::PassBisection::Verdict::Found);
}

TEST_CASE("planted: Relay's fusion swaps the operands of a group") {
  // Groups of two operators, one of which does not accept its operands in either order.
  std::string text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {\n";
  constexpr int kGroups = 60, kWrong = 57;
  for (int i = 0; i < kGroups; ++i) {
    const std::string last = i == 0 ? "%x" : fmt::format("%v{}", i - 1);
    text +=
        fmt::format("  %{0} = {1}({2}, %y);\n  let %v{0} = tanh(%{0});\n", i, i == kWrong ? "subtract" : "add", last);
  }
  text += fmt::format("  %v{}\n}}\n", kGroups - 1);
  session::Options options;
  options.engine = session::Engine::Eval;
  session::Session s(options);
  source::Diagnostics found;
  REQUIRE(s.load_text("m.relay", text, found));
  const session::RelayText& program = *session::relay_text(s.program());
  const auto passes = pipeline::parse(relay::pass_table(), "FoldConstant,FuseOps,ToANF");
  REQUIRE(passes.ok());
  using Verdict = repro::PassBisection::Verdict;
  CHECK(repro::bisect_relay(s, program, *passes, {}).verdict == Verdict::None);
  const Planted planted(Bug::SwappedGroup);
  const auto b = repro::bisect_relay(s, program, *passes, {});
  INFO(repro::to_string(b));
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(pipeline::to_string(b.pass) == "FuseOps");
  CHECK(b.rewrites == kGroups);
  CHECK(b.rewrite == kWrong + 1);
  CHECK(b.rewrite_text == "fuses `subtract`, `tanh`");
}

TEST_CASE("planted: random programs find the bugs") {
  struct Row {
    Bug bug;
    std::string passes;
    std::size_t programs;  // within which the bug shows
  };
  const Row kBugs[] = {
      {Bug::EarlyRelease, "LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory", 25},
      {Bug::SwappedOperands, "LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR", 100},
      {Bug::WrongSlot, "minimum", 5},
      {Bug::LostRest, "LegalizeOps,DefaultSchedule(vector_bytes=32)", 25},
  };
  constexpr std::size_t kRightOnes = 10;
  Quiet quiet;
  for (const auto& [bug, passes, programs] : kBugs) {
    session::Options options;
    options.engine = session::Engine::Eval;
    session::Session s(options, &quiet);
    repro::FuzzOptions fuzz;
    fuzz.passes = passes;
    fuzz.programs = std::min(programs, kRightOnes);
    fuzz.seconds = 0;
    fuzz.seed = 7;
    fuzz.reduce = false;
    CHECK(repro::fuzz(s, fuzz).findings.empty());
    const Planted planted(bug);
    fuzz.programs = programs;
    const repro::FuzzReport found = repro::fuzz(s, fuzz);
    MESSAGE(passes, ": ", found.findings.size(), " findings in ", found.programs, " programs, the first in program ",
            found.first_finding);
    CHECK(!found.findings.empty());
  }
}

TEST_CASE("planted: a shape is made of another slot") {
  const auto found = look_at(chain("(\"n\", 2)",
                                   [](int i) -> std::string {
                                     if (i == 200) return "R.reshape(v199, R.shape([n * 2]))";
                                     return i == 201 ? "R.reshape(v200, R.shape([n, 2]))" : "";
                                   }),
                             "minimum", Bug::WrongSlot);
  CHECK(passes::info(found.bisection.pass).id == passes::PassId::VMShapeLower);
}

TEST_CASE("planted: a schedule drops what a split leaves over") {
  const auto found =
      look_at(chain("(11, 11)", [](int i) { return i == 250 ? "R.sum(v249, axis=[0], keepdims=True)" : ""; }),
              "LegalizeOps,DefaultSchedule(vector_bytes=32)", Bug::LostRest);
  CHECK(passes::info(found.bisection.pass).id == passes::PassId::DefaultSchedule);
  CHECK(found.bisection.rewrite > 0);
}

TEST_CASE("planted: the kernel that the JIT gets wrong, and the step of its schedule") {
  Quiet quiet;
  // With bounds checks a schedule is used only where it is proved, and this one cannot be. A session keeps the kernels
  // that it compiled.
  session::Options unchecked;
  unchecked.check_bounds = false;
  session::Session before(unchecked, &quiet), s(unchecked, &quiet);
  source::Diagnostics d;
  const std::string text =
      chain("(45, 45)", [](int i) { return i == 150 ? "R.sum(v149, axis=[0], keepdims=True)" : ""; });
  REQUIRE(before.load_text("m.py", text, d));
  REQUIRE(s.load_text("m.py", text, d));
  const repro::KernelBisection right = repro::bisect_kernels(before, before.module(), {});
  CHECK(right.verdict == repro::KernelBisection::Verdict::None);
  const Planted planted(Bug::LostRest);
  const repro::KernelBisection found = repro::bisect_kernels(s, s.module(), {});
  INFO(repro::to_string(found));
  REQUIRE(found.verdict == repro::KernelBisection::Verdict::Found);
  CHECK(found.kernel.starts_with("sum"));
  CHECK(found.alone);
  CHECK(found.part == repro::KernelBisection::Part::Schedule);
  CHECK(found.step >= 1);
  CHECK(found.with != found.without);
  MESSAGE(repro::to_string(found));
}
