// Values of a framework beside those of a model: which differences are of the size of rounding, and what lets them
// pass.
#include "rldb/repro/expected.h"

#include <doctest/doctest.h>

#include <cmath>

#include "repro/loaded.h"
#include "rldb/runtime/tensor_file.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

runtime::Value value_of(const std::string& literal) {
  auto made = runtime::parse_value_literal(literal);
  REQUIRE(made.ok());
  return *std::move(made);
}

// `y = Relu(x)` of two numbers in float16 (narrow), or of a (2, 3) tensor in float32 (sizes).
repro::ExpectedComparison compared(const std::string& model, const std::string& x, const std::string& y,
                                   const repro::Tolerances& t = {}) {
  Quiet quiet;
  session::Session session(on_the_machine(), &quiet);
  source::Diagnostics found;
  REQUIRE(session.load_file(std::string(RLDB_SOURCE_DIR) + "/tests/onnx/models/" + model, found));
  repro::ExpectedSet set;
  set.inputs = {{"x", value_of(x)}};
  set.values = {{"y", value_of(y)}};
  return repro::compare_expected(session, *session.program()->onnx(), set, t);
}

using Verdict = repro::ExpectedComparison::Verdict;

}  // namespace

TEST_CASE("expected values: 512 steps of float32 at the largest number are rounding, more are not") {
  const std::string x = "2x3xf32=1024,1,0,0,0,0";
  const auto with = [&](const std::string& second, const repro::Tolerances& t = {}) {
    return compared("sizes/model.onnx", x, "2x3xf32=1024," + second + ",0,0,0,0", t);
  };
  const repro::ExpectedComparison at = with("1.0625");  // 512 * 2^-23 * 1024
  REQUIRE(at.verdict == Verdict::Differs);
  REQUIRE(at.first->enough);
  CHECK(*at.first->enough == doctest::Approx(0.1));
  CHECK(to_string(at).find("`--atol=0.1` lets them pass") != std::string::npos);
  repro::Tolerances enough;
  enough.atol = *at.first->enough;
  CHECK(with("1.0625", enough).verdict == Verdict::Agree);
  const repro::ExpectedComparison beyond = with("1.0634765625");
  REQUIRE(beyond.verdict == Verdict::Differs);
  CHECK_FALSE(beyond.first->enough);
  CHECK(to_string(beyond).find("lets them pass") == std::string::npos);
  CHECK(with("1.0001").verdict == Verdict::Agree);  // rtol 1e-3
}

TEST_CASE("expected values: of float16 it is 3 percent of the largest number") {
  const auto with = [&](const std::string& second) {
    return compared("narrow.onnx", "2xf16=100,1", "2xf16=100," + second);
  };
  const repro::ExpectedComparison at = with("3.998046875");  // 2.998 of 100
  REQUIRE(at.verdict == Verdict::Differs);
  REQUIRE(at.first->enough);
  CHECK(*at.first->enough == doctest::Approx(10));
  const repro::ExpectedComparison beyond = with("4.0078125");
  REQUIRE(beyond.verdict == Verdict::Differs);
  CHECK_FALSE(beyond.first->enough);
}

TEST_CASE("expected values: an infinity is no rounding") {
  const repro::ExpectedComparison c = compared("narrow.onnx", "2xf16=100,inf", "2xf16=100,60000");
  REQUIRE(c.verdict == Verdict::Differs);
  CHECK_FALSE(c.first->enough);
  CHECK(c.first->difference.inf_b == 1);
  CHECK(to_string(c).find("infinite on one side only: 0 vs 1") != std::string::npos);
  CHECK(compared("narrow.onnx", "2xf16=1,inf", "2xf16=1,inf").verdict == Verdict::Agree);
}
