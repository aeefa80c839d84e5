// Other inputs than the first: differences that they show, and programs that are equal all the same.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "repro/dumped.h"
#include "rldb/repro/compare.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

using Same = repro::Comparison::Verdict;

const std::string kIntegers = "k: R.Tensor((3, 8), \"int32\")";

class Searched {
 public:
  explicit Searched(const session::Options& options = on_the_machine()) : m_(options) {}
  repro::Comparison of(const std::string& first, const std::string& second, const std::vector<std::string>& given = {},
                       bool shadow = false, const repro::Tolerances& tolerances = {}) {
    repro::Program a, b;
    b.module = m_.load(second);
    a.module = m_.load(first);
    a.function = b.function = "main";
    a.label = "a";
    b.label = "b";
    a.kernels = b.kernels = m_.session().options().engine;
    source::Diagnostics d;
    auto made = repro::compared_inputs(m_.session(), "main", given, d);
    REQUIRE(made);
    inputs = std::move(*made);
    return repro::compare(m_.session(), a, b, inputs, tolerances, shadow);
  }
  repro::ComparedInputs inputs;

 private:
  Loaded m_;
};

std::string of_integers(const std::string& value) {
  return function(kIntegers, "            lv = " + value + "\n", "lv");
}

bool has_note(const repro::Comparison& c, const std::string& part) {
  return std::any_of(c.notes.begin(), c.notes.end(),
                     [&](const std::string& n) { return n.find(part) != std::string::npos; });
}

bool tried(const repro::Comparison& c, const std::string& numbers) {
  return to_string(c.tried).find(numbers) != std::string::npos;
}

}  // namespace

TEST_CASE("compare: integers that the usual inputs lack") {
  Searched s;
  const auto c =
      s.of(of_integers("R.floor_mod(k, R.const(5, \"int32\"))"), of_integers("R.mod(k, R.const(5, \"int32\"))"));
  INFO(to_string(c, "a", "b"));
  CHECK(c.verdict == Same::Differs);
  REQUIRE(c.first);
  CHECK(c.first->fault_is_here());
  CHECK(has_note(c, "it shows on"));
  // The inputs are those that show it.
  const runtime::Tensor& k = s.inputs.arguments.at(0).value.as_tensor();
  bool negative = false;
  for (std::int64_t i = 0; i < k.element_count(); ++i) negative = negative || k.at(i) < 0;
  CHECK(negative);
}

TEST_CASE("compare: dims that the usual inputs lack") {
  const auto program = [](const std::string& value) {
    return function("x: R.Tensor((\"n\",), \"float32\")", "            lv = " + value + "\n", "lv");
  };
  const std::string tail = "R.strided_slice(x, axes=[0], begin=[0], end=[30])";
  Searched s;
  // The slice is the whole tensor up to 30 elements.
  const auto c = s.of(program("R.sum(x)"), program("R.sum(" + tail + ")"));
  INFO(to_string(c, "a", "b"));
  CHECK(c.verdict == Same::Differs);
  CHECK(has_note(c, "dims n="));
  SUBCASE("a given dim stays") {
    session::Options fixed = on_the_machine();
    fixed.dims["n"] = 9;
    Searched other(fixed);
    const auto on_nine = other.of(program("R.sum(x)"), program("R.sum(" + tail + ")"));
    INFO(to_string(on_nine, "a", "b"));
    CHECK(on_nine.verdict == Same::Equal);
    for (const std::string& dims : on_nine.tried.dims) CHECK(dims == "n=9");
  }
}

TEST_CASE("compare: a given value stays, others are searched; where all are given nothing is") {
  const auto program = [](const std::string& value) {
    return function("k: R.Tensor((4,), \"int32\"), j: R.Tensor((4,), \"int32\")", "            lv = " + value + "\n",
                    "lv");
  };
  const std::string a = program("R.floor_mod(k, R.const(5, \"int32\"))"),
                    b = program("R.mod(k, R.const(5, \"int32\"))");
  Searched s;
  const auto kept = s.of(a, b, {"k=[1, 2, 3, 4]"});
  CHECK(kept.verdict == Same::Equal);
  CHECK(tried(kept, "integers from -16 to 16"));
  CHECK(s.inputs.arguments.at(0).value.as_tensor().at(3) == 4);
  CHECK(s.of(a, b, {"j=[1, 2, 3, 4]"}).verdict == Same::Differs);
  const auto all = s.of(a, b, {"k=[1, 2, 3, 4]", "j=[1, 2, 3, 4]"});
  CHECK(all.verdict == Same::Equal);
  CHECK_FALSE(tried(all, "integers from -16 to 16"));
}

TEST_CASE("compare: a computation that differs on numbers that the program cannot give it is a note") {
  const auto program = [](const std::string& last) {
    return function("x: R.Tensor((3, 8), \"float32\")", "            lv = R.exp(x)\n            lv1 = " + last + "\n",
                    "lv1");
  };
  Searched s;
  const auto c = s.of(program("R.nn.relu(lv)"), program("R.abs(lv)"));
  INFO(to_string(c, "a", "b"));
  CHECK(c.verdict == Same::Equal);
  CHECK(has_note(c, "`lv1` differs when it is run by itself"));
}

TEST_CASE("compare: integers that overflow are no difference") {
  Searched s;
  const std::string c = "R.const(100000, \"int32\")";
  const auto there = s.of(of_integers("R.floor_divide(R.multiply(k, " + c + "), " + c + ")"),
                          of_integers("R.multiply(k, R.const(1, \"int32\"))"));
  INFO(to_string(there, "a", "b"));
  CHECK(there.verdict == Same::Equal);
  CHECK(has_note(there, "overflows int32"));
}

TEST_CASE("compare: rounding before a jump is no difference") {
  const auto program = [](const std::string& value) {
    return function("x: R.Tensor((3, 8), \"float32\")", "            lv = " + value + "\n", "lv");
  };
  Searched s;
  const auto c =
      s.of(program("R.round(R.multiply(R.multiply(x, R.const(0.1, \"float32\")), R.const(10.0, \"float32\")))"),
           program("R.round(x)"));
  INFO(to_string(c, "a", "b"));
  CHECK(c.verdict == Same::Equal);
}

TEST_CASE("compare: a jump at equal inputs is one") {
  const auto program = [](const std::string& value) {
    return function("x: R.Tensor((3, 8), \"float32\")", "            lv = " + value + "\n", "lv");
  };
  Searched s;
  const auto c = s.of(program("R.ceil(x)"), program("R.floor(x)"));
  CHECK(c.verdict == Same::Differs);
  const std::string one = "R.const(0.5, \"float32\")";
  const auto beside = s.of(program("R.less(x, " + one + ")"), program("R.less_equal(x, " + one + ")"));
  INFO(to_string(beside, "a", "b"));
  CHECK(beside.verdict == Same::Differs);
}

TEST_CASE("compare: rounding that is larger on other inputs is rounding with --shadow") {
  const auto program = [](const std::string& value) {
    return function("x: R.Tensor((3, 8), \"float32\")", "            lv = " + value + "\n", "lv");
  };
  Searched s;
  repro::Tolerances exact;
  exact.exact = true;
  // On numbers of one sign and on others the two orders round differently.
  const std::string three = "R.const(3.0, \"float32\")";
  const auto c = s.of(program("R.multiply(R.add(x, " + three + "), x)"),
                      program("R.add(R.multiply(x, x), R.multiply(x, " + three + "))"), {}, true, exact);
  INFO(to_string(c, "a", "b"));
  REQUIRE(c.shadow);
  CHECK(c.shadow->verdict == repro::Shadow::Verdict::Rounding);
}

TEST_CASE("compare two stages: the same search") {
  const std::string params = "x: R.Tensor((\"n\",), \"float32\")";
  Dump dump;
  dump.write("Start", function(params, "            lv = R.sum(x)\n", "lv"));
  dump.write("Next",
             function(params, "            lv = R.sum(R.strided_slice(x, axes=[0], begin=[0], end=[30]))\n", "lv"));
  Quiet quiet;
  session::Session s(on_the_machine(), &quiet);
  std::string problem;
  const auto found = repro::compare_stages(s, repro::read_dump(s, dump.path(), problem), 0, 1, {}, {}, false);
  INFO(to_string(found.comparison, "a", "b"));
  CHECK(found.comparison.verdict == Same::Differs);
  REQUIRE(found.a.args.size() == 1);
  CHECK(found.a.args[0].as_tensor().shape().at(0) > 30);
}
