// Where both sides are NaN nothing is known: inputs without NaN are looked for, tensors on the way count, and else
// there is no verdict. A verdict says on which inputs it holds.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "repro/loaded.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/validate.h"
#include "rldb/support/file.h"

using namespace rldb;
using namespace rldb::repro_test;
using Verdict = repro::Comparison::Verdict;

namespace {

std::string nan_program(const std::string& body) {
  return "@I.ir_module\nclass Module:\n    @R.function\n    def f(x: R.Tensor((2, 4), \"float32\"), w: R.Tensor((4, "
         "4), "
         "\"float32\")) -> R.Tensor((2, 4), \"float32\"):\n" +
         body + "        return gv\n";
}

// A root of numbers below -1: NaN, whatever the inputs are. `a` is computed on the way.
std::string always_nan(const std::string& a) {
  return nan_program("        a = " + a + R"(
        p = R.matmul(a, w)
        s = R.subtract(R.const(-2.0, "float32"), R.abs(p))
        n = R.sqrt(s)
        gv = R.add(n, a)
)");
}

const ir::Module* load(session::Session& s, const std::string& text) {
  source::Diagnostics d;
  REQUIRE(s.load_text("m.py", text, d));
  return s.module();
}

repro::Comparison compared(const std::string& a, const std::string& b) {
  Quiet quiet;
  session::Session s({}, &quiet);
  repro::Program first, second;
  first.function = second.function = "f";
  second.module = load(s, b);
  first.module = load(s, a);
  source::Diagnostics d;
  auto inputs = repro::compared_inputs(s, "f", {}, d);
  REQUIRE(inputs);
  return repro::compare(s, first, second, *inputs, {});
}

class Stages {
 public:
  explicit Stages(const std::vector<std::string>& texts)
      : path_((std::filesystem::temp_directory_path() / "rldb-nan-XXXXXX").string()) {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
    for (std::size_t i = 0; i < texts.size(); ++i)
      REQUIRE(support::write_file(fmt::format("{}/{:03}_Stage.py", path_, i), texts[i]).ok());
  }
  ~Stages() { std::filesystem::remove_all(path_); }
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  repro::TraceBisection bisected(const repro::Followed& what = {}) const {
    Quiet quiet;
    session::Session s({}, &quiet);
    return repro::bisect_trace(s, path_, {}, what);
  }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("NaN on both sides: numbers are looked for on which the programs compute some") {
  // Both factors are NaN where generated numbers are negative: one parameter alone changes nothing in the result.
  const std::string right = nan_program("        gv = R.matmul(R.sqrt(x), R.log(w))\n");
  const std::string wrong = nan_program("        gv = R.matmul(R.sqrt(x), R.log(R.add(w, w)))\n");
  CHECK(compared(right, right).verdict == Verdict::Equal);
  CHECK(compared(right, right).nan.elements == 0);
  const repro::Comparison c = compared(right, wrong);
  CHECK(c.verdict == Verdict::Differs);
  REQUIRE(c.result);
}

TEST_CASE("NaN on both sides: one parameter has to be positive and the other negative") {
  const std::string right = nan_program("        gv = R.matmul(R.sqrt(x), R.log(R.negative(w)))\n");
  const repro::Comparison c = compared(right, right);
  CHECK(c.verdict == Verdict::Equal);
  CHECK(c.nan.elements == 0);
  CHECK(c.tried.numbers.size() == 2);
  CHECK(to_string(c.tried).find("parameter by parameter") != std::string::npos);
}

TEST_CASE("NaN on both sides: without such numbers a tensor on the way decides, or nobody can tell") {
  const std::string right = always_nan("R.add(x, x)"), wrong = always_nan("R.multiply(x, x)");
  const repro::Comparison none = compared(right, right);
  CHECK(none.verdict == Verdict::CannotTell);
  CHECK(none.why.find("NaN on both sides (8 of 8 elements)") != std::string::npos);
  const repro::Comparison on_the_way = compared(right, wrong);
  CHECK(on_the_way.verdict == Verdict::Differs);
  REQUIRE(on_the_way.first);
}

TEST_CASE("NaN on both sides: a folder, a pipeline, a validation") {
  const std::string right = always_nan("R.add(x, x)");
  const std::string other = nan_program(R"(        a = R.multiply(x, R.const(2.0, "float32"))
        p = R.matmul(a, w)
        s = R.subtract(R.const(-2.0, "float32"), R.abs(p))
        n = R.sqrt(s)
        gv = R.add(n, a)
)");
  const repro::TraceBisection same = Stages({right, other}).bisected();
  CHECK(same.verdict == repro::TraceBisection::Verdict::CannotTell);
  CHECK(same.why.find("its result is NaN on both sides") != std::string::npos);
  const repro::TraceBisection wrong = Stages({right, other, always_nan("R.multiply(x, x)")}).bisected();
  CHECK(wrong.verdict == repro::TraceBisection::Verdict::Found);
  CHECK(wrong.bad == 2);

  Loaded program(right, session::Options());
  repro::Question q;
  q.function = "f";
  q.passes = "LegalizeOps";
  const repro::PassBisection passes = repro::bisect_passes(program.session(), program.module(), q);
  CHECK(passes.verdict == repro::PassBisection::Verdict::CannotTell);
  CHECK(passes.why.find("NaN") != std::string::npos);

  const ir::Module* before = program.module();
  const repro::Validation v = repro::validate_versions(program.session(), before, load(program.session(), other));
  CHECK(v.difference.empty());
  CHECK(v.compared.empty());
  REQUIRE(v.not_run.size() == 1);
  CHECK(v.not_run[0].find("NaN") != std::string::npos);
}

TEST_CASE("a folder against the values that a framework computed") {
  const std::string stage = nan_program("        gv = R.add(R.matmul(x, w), x)\n");
  const std::string next = nan_program("        p = R.matmul(x, w)\n        gv = R.add(x, p)\n");
  repro::Followed what;
  what.inputs = {"x=2x4xf32=ones", "w=4x4xf32=ones"};
  auto five = runtime::Tensor::empty({2, 4}, runtime::DType::Float(32));
  REQUIRE(five.ok());
  const runtime::Tensor& t = **five;
  for (std::int64_t i = 0; i < 8; ++i) runtime::store_double(t.data() + 4 * i, t.dtype(), 5);
  what.expected = {runtime::Value(*five)};
  const Stages folder({stage, next});
  const repro::TraceBisection right = folder.bisected(what);
  CHECK(right.verdict == repro::TraceBisection::Verdict::Agree);
  CHECK(right.first_compared == 0);
  CHECK(right.tried.inputs == what.inputs);

  runtime::store_double(t.data(), t.dtype(), 4);
  const repro::TraceBisection wrong = folder.bisected(what);
  CHECK(wrong.verdict == repro::TraceBisection::Verdict::Found);
  REQUIRE(wrong.from_expected);
  CHECK(wrong.from_expected->different == 1);
  CHECK(to_string(wrong, "folder").find("differs from the expected values: 000_Stage.py") == 0);

  what.inputs.pop_back();  // a generated `w`: the framework had another one
  const repro::TraceBisection open = folder.bisected(what);
  CHECK(open.verdict == repro::TraceBisection::Verdict::CannotTell);
  CHECK(open.why.find("not every parameter has a given input") != std::string::npos);
}

TEST_CASE("a function that cannot be run and does not change is no part that was skipped") {
  const auto module = [](const std::string& value, const std::string& name) {
    return "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((\"n\",), \"int32\")) -> "
           "R.Tensor((\"n\",), \"int32\"):\n        y = " +
           value +
           "\n        return y\n    @R.function(pure=False)\n    def other(x: R.Tensor((3,), \"int32\")):\n        z = "
           "R.call_packed(\"" +
           name + "\", x, ty_args=(R.Tensor((3,), \"int32\"),))\n        return z\n";
  };
  const std::string sum = module("R.add(x, x)", "nobody.has.it");
  const std::string twice = module("R.multiply(x, R.const(2, \"int32\"))", "nobody.has.it");
  const repro::TraceBisection b = Stages({sum, twice}).bisected();
  CHECK(b.verdict == repro::TraceBisection::Verdict::Agree);
  CHECK(b.unchanged == std::vector<std::string>{"other"});
  CHECK(b.alone.empty());
  CHECK(b.tried.dims.size() > 1);
  const repro::TraceBisection changed =
      Stages({sum, module("R.multiply(x, R.const(2, \"int32\"))", "nor.has.it")}).bisected();
  CHECK(changed.verdict == repro::TraceBisection::Verdict::CannotTell);
  CHECK(changed.unchanged.empty());
}
