// Validation must be able to fail, and must not report values as the same without having compared them.
#include "rldb/repro/validate.h"

#include <doctest/doctest.h>

#include "repro/loaded.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

std::string body(const std::string& value) {
  return "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((\"n\",), \"int32\")) -> "
         "R.Tensor((\"n\",), "
         "\"int32\"):\n        y = " +
         value + "\n        return y\n";
}

repro::Validation compare(const std::string& before, const std::string& after) {
  Quiet quiet;
  session::Session s(on_the_machine(), &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("before.py", before, d));
  const ir::Module* first = s.module();
  REQUIRE(s.load_text("after.py", after, d));
  return repro::validate_versions(s, first, s.module());
}

}  // namespace

TEST_CASE("validation: equal programs are the same, both ways they ran") {
  const repro::Validation v = compare(body("R.add(x, x)"), body("R.multiply(x, R.const(2, \"int32\"))"));
  CHECK(v.difference.empty());
  CHECK(v.compared == std::vector<std::string>{"main"});
  CHECK(v.in_part.empty());
  CHECK(v.not_run.empty());
}

TEST_CASE("validation: another value is found, with the function, the dims and the way it ran") {
  const repro::Validation v = compare(body("R.add(x, x)"), body("R.add(x, R.const(1, \"int32\"))"));
  CHECK(v.difference.find("`main` with symbolic dims 1") == 0);
  CHECK(v.difference.find("on the evaluator") != std::string::npos);
}

TEST_CASE("validation: what cannot run is not the same") {
  const std::string unknown = body("R.call_packed(\"nobody.has.it\", x, sinfo_args=(R.Tensor((\"n\",), \"int32\"),))");
  std::string impure = unknown;
  impure.replace(impure.find("@R.function"), 11, "@R.function(pure=False)");
  const repro::Validation v = compare(impure, impure);
  CHECK(v.difference.empty());
  CHECK(v.compared.empty());
  REQUIRE(v.not_run.size() == 1);
  CHECK(v.not_run[0].find("fails before and after") != std::string::npos);
}

namespace {

// The verdict on a pass that puts a call of this function in the place of `R.add`.
repro::Validation with_a_call_of(const std::string& name) {
  const auto impure = [](std::string text) {
    return text.replace(text.find("@R.function"), 11, "@R.function(pure=False)");
  };
  return compare(impure(body("R.add(x, x)")),
                 impure(body("R.call_packed(\"" + name + "\", x, sinfo_args=(R.Tensor((\"n\",), \"int32\"),))")));
}

}  // namespace

TEST_CASE("validation: a call of a device's runtime cannot be run here") {
  for (const char* name : {"tvm.contrib.thrust.sum_scan", "vm.builtin.hexagon.dma_wait"}) {
    const repro::Validation v = with_a_call_of(name);
    CAPTURE(name);
    CHECK(v.difference.empty());
    REQUIRE(v.not_run.size() == 1);
    CHECK(v.not_run[0].find(name) != std::string::npos);
  }
}

TEST_CASE("validation: a function that no runtime has is a mistake of the pass") {
  for (const char* name : {"tvm.contrib.thrust.sum_scam", "nobody.has.it"}) {
    const repro::Validation v = with_a_call_of(name);
    CAPTURE(name);
    CHECK(v.difference.find("ran before, now") != std::string::npos);
    CHECK(v.difference.find(name) != std::string::npos);
  }
}

TEST_CASE("validation: weights that a pass computes beforehand are computed so") {
  const auto module = [](const std::string& functions) { return "@I.ir_module\nclass Module:\n" + functions; };
  const std::string before = module(R"(    @R.function
    def main(x: R.Tensor((2,), "int32"), w: R.Tensor((2,), "int32")) -> R.Tensor((2,), "int32"):
        R.func_attr({"num_input": 1})
        v = R.add(w, w)
        y = R.multiply(x, v)
        return y
)");
  const auto after = [&](const std::string& lifted) {
    return module(R"(    @R.function
    def main(x: R.Tensor((2,), "int32"), v: R.Tensor((2,), "int32")) -> R.Tensor((2,), "int32"):
        R.func_attr({"num_input": 1})
        y = R.multiply(x, v)
        return y

    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor((2,), "int32"))) -> R.Tuple(R.Tensor((2,), "int32")):
        R.func_attr({"num_input": 0})
        w = params[0]
        v = )" + lifted +
                  R"(
        return (v,)
)");
  };
  const repro::Validation same = compare(before, after("R.add(w, w)"));
  CHECK(same.difference.empty());
  CHECK(same.compared == std::vector<std::string>{"main"});
  const repro::Validation other = compare(before, after("R.multiply(w, w)"));
  CHECK(other.difference.find("`main` ") == 0);
}

TEST_CASE("validation: bundled weights are bundled") {
  const std::string before = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "int32"), w: R.Tensor((2,), "int32")) -> R.Tensor((2,), "int32"):
        y = R.subtract(x, w)
        return y
)";
  const std::string after = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "int32"), model_params: R.Tuple(R.Tensor((2,), "int32"))) -> R.Tensor((2,), "int32"):
        w = model_params[0]
        y = R.subtract(w, x)
        return y
)";
  CHECK(compare(before, after).difference.find("`main` ") == 0);
}
