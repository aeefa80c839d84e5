// Numbers that a lower precision cannot hold: an infinity is no rounding. Where it begins is said; infinities that both
// sides have are equal.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "repro/dumped.h"
#include "repro/loaded.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/validate.h"
#include "rldb/runtime/tensor_file.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

constexpr const char* kPasses = "ToMixedPrecision";
constexpr const char* kProduct = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        with R.dataflow():
            lv = R.nn.relu(x)
            gv = R.matmul(lv, w)
            R.output(gv)
        return gv
)";
const std::string kUnit = "2x2xf32=1,0,0,1";

// Of the product before and after the pass.
repro::Comparison compared(const std::string& x, const std::string& w = kUnit, const repro::Tolerances& t = {},
                           bool shadow = false) {
  Loaded loaded(kProduct);
  repro::Program a, b;
  a.module = loaded.module();
  a.function = b.function = "main";
  a.kernels = b.kernels = session::Engine::Vm;
  source::Diagnostics d;
  auto inputs = repro::compared_inputs(loaded.session(), "main", std::vector<std::string>{x, w}, d);
  REQUIRE(inputs);
  inputs->passes = kPasses;
  REQUIRE(loaded.session().run_passes(kPasses, d));
  b.module = loaded.module();
  return repro::compare(loaded.session(), a, b, *inputs, t, shadow);
}

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

runtime::Value value_of(const char* literal) {
  auto made = runtime::parse_value_literal(literal);
  REQUIRE(made.ok());
  return *std::move(made);
}

std::string difference_text(const char* a, const char* b) {
  const auto d = repro::difference(value_of(a), value_of(b), {});
  return d ? to_string(*d) : std::string();
}

using CompareVerdict = repro::Comparison::Verdict;

}  // namespace

TEST_CASE("overflow: numbers beyond the lower precision differ, and the tensor with the first of them is named") {
  const repro::Comparison c = compared("2x2xf32=100001,1,1,100001");
  CHECK(c.verdict == CompareVerdict::Differs);
  REQUIRE(c.result);
  CHECK(c.result->inf_b + c.result->nan_b == c.result->not_finite);
  CHECK(c.result->not_finite > 0);
  const std::string text = to_string(c, "before", "after");
  CAPTURE(text);
  CHECK(says(text, "differs: before vs after: [0, 0]: 100001 vs "));
  CHECK_FALSE(says(text, "by at most 0 (abs)"));
  CHECK(says(text, "overflow: `"));
  CHECK(says(text, "is the first tensor that is not finite: the largest number of float16 is 65504"));
  const std::string json = to_json(c);
  CHECK(says(json, "\"overflow\": \"overflow: `"));
  CHECK(says(json, "\"verdict\": \"differs\""));
}

TEST_CASE("overflow: the same numbers in range are close, as is an infinity that both sides have") {
  CHECK(compared("2x2xf32=1000.1,1,1,1000.1").verdict == CompareVerdict::Equal);
  const repro::Comparison close = compared("2x2xf32=1000.3,1,1,1000.3");
  CHECK(close.verdict == CompareVerdict::Equal);
  CHECK(close.overflow.empty());
  CHECK(compared("2x2xf32=inf,1,1,1", "2x2xf32=1,1,1,1").verdict == CompareVerdict::Equal);
}

TEST_CASE("overflow: float64 does not make it rounding") {
  const repro::Comparison c = compared("2x2xf32=100001,1,1,100001", kUnit, {}, true);
  REQUIRE(c.shadow);
  CHECK(c.shadow->verdict == repro::Shadow::Verdict::SecondIsOff);
}

TEST_CASE("overflow: bisect names the pass") {
  Loaded loaded(kProduct);
  repro::Question q;
  q.passes = "CanonicalizeBindings,ToMixedPrecision,LegalizeOps";
  q.inputs = {"2x2xf32=100001,1,1,100001", kUnit};
  const repro::PassBisection b = repro::bisect_passes(loaded.session(), loaded.module(), q);
  CHECK(b.verdict == repro::PassBisection::Verdict::Found);
  CHECK(b.pass.name() == "ToMixedPrecision");
  CHECK(says(to_string(b), "the largest number of float16 is 65504"));
  q.inputs = {"2x2xf32=1000.3,1,1,1000.3", kUnit};
  CHECK(repro::bisect_passes(loaded.session(), loaded.module(), q).verdict == repro::PassBisection::Verdict::None);
}

TEST_CASE("overflow: bisect names the stage of a folder") {
  Dump dump;
  dump.write("Start", kProduct);
  dump.run(kPasses, {}, {}, {}, kProduct);
  Quiet quiet;
  session::Session s({}, &quiet);
  repro::Followed what;
  what.inputs = {"2x2xf32=100001,1,1,100001", kUnit};
  const repro::TraceBisection b = repro::bisect_trace(s, dump.path(), {}, what);
  REQUIRE(b.verdict == repro::TraceBisection::Verdict::Found);
  CHECK(b.stages[b.bad].pass == "ToMixedPrecision");
  CHECK(says(to_string(b, "dump"), "the largest number of float16 is 65504"));
}

TEST_CASE("differences without a size are counted, and the others measured") {
  CHECK(difference_text("4xf32=1,inf,-inf,nan", "4xf32=1,inf,-inf,nan").empty());
  CHECK(difference_text("2xf32=1,2", "2xf32=1,inf") ==
        "[1]: 2 vs inf; 1 of 2 elements differs; infinite on one side only: 0 vs 1");
  CHECK(difference_text("2xf32=1,inf", "2xf32=1,-inf") ==
        "[1]: inf vs -inf; 1 of 2 elements differs; infinite with opposite signs: 1");
  CHECK(difference_text("2xf32=nan,1", "2xf32=inf,1") ==
        "[0]: nan vs inf; 1 of 2 elements differs; NaN on one side only: 1 vs 0; infinite on one side only: 0 vs 1");
  CHECK(difference_text("2xf32=2,inf", "2xf32=3,1") ==
        "[0]: 2 vs 3; 2 of 2 elements differ; where both are finite, by at most 1 (abs), 0.5 (rel), 4194304 ulp; "
        "infinite on one side only: 1 vs 0");
}

TEST_CASE("a pass that changes values by its nature: what differs after it proves nothing") {
  Loaded loaded(kProduct);
  repro::Program a, b;
  a.module = loaded.module();
  a.function = b.function = "main";
  source::Diagnostics d;
  auto inputs = repro::compared_inputs(loaded.session(), "main", {}, d);
  REQUIRE(inputs);
  inputs->passes = "DecomposeOpsForInference";
  std::string other = kProduct;
  other.replace(other.find("nn.relu"), 7, "negative");
  b.module = loaded.load(other);
  const repro::Comparison c = repro::compare(loaded.session(), a, b, *inputs, {});
  CHECK(c.verdict == CompareVerdict::CannotTell);
  CHECK(says(c.why, "the passes change values by their nature"));
}

namespace {

// Of a folder in which another compiler's ToMixedPrecision is followed by a change of `what`.
repro::TraceBisection converted_otherwise(const std::string& what, const std::string& with,
                                          const repro::Tolerances& t = {}) {
  const std::string program =
      function("x: R.Tensor((16, 64), \"float32\"), w: R.Tensor((64, 16), \"float32\")",
               "            lv = R.add(x, R.const(0.125, \"float32\"))\n            lv1 = R.matmul(lv, w)\n"
               "            lv2 = R.multiply(lv1, R.const(0.5, \"float32\"))\n",
               "lv2");
  Dump dump;
  dump.write("Start", program);
  dump.run("ToMixedPrecision", "ToMixedPrecision", what, with, program);
  Quiet quiet;
  session::Session s({}, &quiet);
  return repro::bisect_trace(s, dump.path(), t);
}

}  // namespace

TEST_CASE("lower precision: a folder's conversion is measured with the error of our own") {
  using Verdict = repro::TraceBisection::Verdict;
  CHECK(converted_otherwise("", "").verdict == Verdict::Agree);
  const repro::TraceBisection wrong = converted_otherwise("R.multiply", "R.subtract");
  INFO(to_string(wrong, "dump"));
  CHECK(wrong.verdict == Verdict::Found);
  // A hundred times the error of the conversion, and still a percent.
  const repro::TraceBisection close = converted_otherwise("0.125", "0.12");
  INFO(to_string(close, "dump"));
  CHECK(close.verdict != Verdict::Agree);
  repro::Tolerances exact;
  exact.exact = true;
  CHECK(converted_otherwise("", "", exact).verdict == Verdict::Found);
}
