// The time of passes and runs, as a property that a pass may make worse. Limits are so far from what is measured that
// no machine makes a difference.
#include <doctest/doctest.h>

#include "repro/loaded.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/reduce.h"
#include "rldb/support/cancel.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

constexpr const char* kProgram = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 64), "float32")) -> R.Tensor((64, 64), "float32"):
        with R.dataflow():
            a = R.add(x, x)
            b = R.multiply(a, x)
            R.output(b)
        return b
)";

// A kernel that does not end: i stays below the bound.
constexpr const char* kEndless = R"(@I.ir_module
class Module:
    @T.prim_func
    def spin(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        i = T.alloc_buffer((1,), "int32")
        i[0] = 0
        while i[0] < 10:
            i[0] = (i[0] + 1) % 5
        y[0] = x[0]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = R.add(x, x)
        b = R.call_tir(cls.spin, (a,), out_ty=R.Tensor((4,), "float32"))
        c = R.multiply(b, x)
        return c
)";

repro::Question question(const char* passes, const char* limit) {
  repro::Question q;
  q.kind = repro::OracleKind::Time;
  q.passes = passes;
  const auto read = repro::parse_time_limit(limit);
  REQUIRE(read);
  q.time = *read;
  return q;
}

}  // namespace

TEST_CASE("time limits: seconds and factors") {
  CHECK(repro::parse_time_limit("2s")->seconds == 2);
  CHECK(repro::parse_time_limit("0.5")->seconds == 0.5);
  CHECK(repro::parse_time_limit("100ms")->seconds == 0.1);
  CHECK(repro::parse_time_limit("3x")->times == 3);
  CHECK(repro::parse_time_limit("3x")->seconds == 0);
  for (const char* bad : {"", "x", "s", "-1", "0", "0x", "0.5x", "2m", "nan", "inf", "1e99", "1e-9"})
    CHECK_FALSE(repro::parse_time_limit(bad));
  for (const char* text : {"2s", "0.25s", "3x"}) CHECK(repro::to_string(*repro::parse_time_limit(text)) == text);
}

TEST_CASE("time: a pass that takes too long is named, and one that does not is not") {
  Loaded p(kProgram);
  const repro::PassBisection none =
      repro::bisect_passes(p.session(), p.module(), question("LegalizeOps,FuseOps", "1000s"));
  CHECK(none.verdict == repro::PassBisection::Verdict::None);
  const repro::PassBisection factor = repro::bisect_passes(p.session(), p.module(), question("LegalizeOps", "100000x"));
  CHECK(factor.verdict == repro::PassBisection::Verdict::None);
  // Before the first pass it is too slow already.
  const repro::PassBisection before =
      repro::bisect_passes(p.session(), p.module(), question("LegalizeOps", "0.000001s"));
  INFO(repro::to_string(before));
  CHECK(before.verdict == repro::PassBisection::Verdict::CannotTell);
  CHECK(before.why == "the symptom is there before the first pass");
}

TEST_CASE("time: a run that does not end is stopped, and reduced") {
  Loaded p(kEndless);
  const repro::Question q = question("LegalizeOps", "0.05s");
  repro::Oracle oracle(p.session(), q);
  const auto symptom = oracle.ask(p.module());
  REQUIRE(symptom);
  CHECK(symptom->kind == repro::SymptomKind::Time);
  CHECK(symptom->id == "before the first pass");
  CHECK(symptom->text.find("was stopped after") != std::string::npos);
  CHECK(symptom->amount >= symptom->limit);
  CHECK(support::cancel_cause() == support::CancelCause::None);  // nothing else is cancelled by it

  repro::ReduceOptions options;
  options.candidate_seconds = 20;
  const repro::Reduction reduced = repro::reduce(p.session(), p.module(), q, options);
  INFO(reduced.passes << ": " << reduced.symptom.text);
  REQUIRE(reduced.module);
  CHECK(reduced.symptom.kind == repro::SymptomKind::Time);
  CHECK(reduced.after.bindings < reduced.before.bindings);
}
