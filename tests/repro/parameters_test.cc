// Parameters that passes lift, bundle and cast are followed alike wherever versions are compared.
#include <doctest/doctest.h>

#include "repro/loaded.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/validate.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

constexpr const char* kLifts = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((3, 4), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            wt = R.permute_dims(w, axes=[1, 0])
            gv = R.matmul(x, wt)
            R.output(gv)
        return gv
)";

constexpr const char* kPipelines[] = {"LiftTransformParams", "BundleModelParams", "ToMixedPrecision",
                                      "LiftTransformParams,BundleModelParams", "ToMixedPrecision,LegalizeOps"};

}  // namespace

TEST_CASE("parameters: no pass that changes them is blamed by bisect and reduce") {
  for (const char* passes : kPipelines) {
    CAPTURE(passes);
    Loaded loaded(kLifts);
    repro::Question q;
    q.passes = passes;
    const repro::PassBisection b = repro::bisect_passes(loaded.session(), loaded.module(), q);
    CHECK(b.verdict == repro::PassBisection::Verdict::None);
    repro::Oracle oracle(loaded.session(), q);
    CHECK(!oracle.ask(loaded.module()));
  }
}

TEST_CASE("parameters: compare and validation follow them") {
  for (const char* passes : kPipelines) {
    CAPTURE(passes);
    Loaded loaded(kLifts);
    source::Diagnostics d;
    repro::Program a, b;
    a.module = b.module = loaded.module();
    a.function = b.function = "main";
    a.kernels = b.kernels = session::Engine::Vm;
    auto inputs = repro::compared_inputs(loaded.session(), "main", {}, d);
    REQUIRE(inputs);
    inputs->passes = passes;
    REQUIRE(loaded.session().run_passes(passes, d));
    b.module = loaded.module();
    const repro::Comparison c = repro::compare(loaded.session(), a, b, *inputs, {});
    CHECK(c.verdict == repro::Comparison::Verdict::Equal);
    if (std::string_view(passes).find("Mixed") != std::string_view::npos) continue;  // no pass is known there
    const repro::Validation v = repro::validate_versions(loaded.session(), a.module, b.module);
    CHECK(v.difference == "");
    CHECK(v.compared == std::vector<std::string>{"main"});
  }
}

TEST_CASE("parameters: a fault behind a lifted parameter is seen") {
  Loaded loaded(kLifts);
  source::Diagnostics d;
  REQUIRE(loaded.session().run_passes("LiftTransformParams", d));
  const ir::Module* lifted = loaded.module();
  std::string text = kLifts;
  text.replace(text.find("R.matmul(x, wt)"), 15, "R.negative(R.matmul(x, wt))");
  const ir::Module* wrong = loaded.load(text);
  const repro::Validation v = repro::validate_versions(loaded.session(), wrong, lifted);
  CHECK(v.difference != "");
}
