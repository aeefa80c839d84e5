// The peak memory of a run, as a property that a pass may make worse.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "repro/loaded.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/reduce.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

// Large tensors each summed at once, one after the other: in another order all of them are held.
std::string program(int branches) {
  std::string text = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 64), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
)";
  for (int i = 0; i < branches; ++i)
    text += fmt::format(
        "            large{0} = R.add(x, R.const({0}.5, \"float32\"))\n            small{0} = R.sum(large{0})\n", i);
  text += "            sum0 = R.add(small0, small1)\n";
  for (int i = 2; i < branches; ++i)
    text += fmt::format("            sum{} = R.add(sum{}, small{})\n", i - 1, i - 2, i);
  return text + fmt::format("            R.output(sum{0})\n        return sum{0}\n", branches - 2);
}

constexpr const char* kReorder = "Normalize,TopologicalSort(order=breadth-first),CanonicalizeBindings";

class Program : public Loaded {
 public:
  explicit Program(int branches) : Loaded(program(branches)) {}

  repro::Question question(const char* limit) const {
    repro::Question q;
    q.kind = repro::OracleKind::Memory;
    q.passes = kReorder;
    const auto read = repro::parse_memory_limit(limit);
    REQUIRE(read);
    q.memory = *read;
    return q;
  }
};

constexpr std::size_t kLarge = 64 * 64 * 4;

}  // namespace

TEST_CASE("memory limits: sizes and factors") {
  CHECK(repro::parse_memory_limit("64K")->bytes == 65536);
  CHECK(repro::parse_memory_limit("100")->bytes == 100);
  CHECK(repro::parse_memory_limit("1.5x")->times == 1.5);
  CHECK(repro::parse_memory_limit("1.5x")->bytes == 0);
  for (const char* bad : {"", "x", "-1", "0", "12Q", "nan", "inf", "1e99", "0.2", "1e300x"})
    CHECK_FALSE(repro::parse_memory_limit(bad));
  for (const char* text : {"65536", "1.5x"}) CHECK(repro::to_string(*repro::parse_memory_limit(text)) == text);
}

TEST_CASE("memory: the pass after which more is held at once") {
  Program p(6);
  const repro::PassBisection found = repro::bisect_passes(p.session(), p.module(), p.question("1.5x"));
  INFO(repro::to_string(found));
  REQUIRE(found.verdict == repro::PassBisection::Verdict::Found);
  CHECK(found.pass.name() == "TopologicalSort");
  CHECK(found.symptom.kind == repro::SymptomKind::Memory);
  CHECK(found.symptom.amount >= 6 * kLarge);
  CHECK(found.symptom.limit < 3 * kLarge);
  CHECK(repro::to_json(found).find("\"limit\"") != std::string::npos);

  // That much may be held.
  const repro::PassBisection none = repro::bisect_passes(p.session(), p.module(), p.question("1M"));
  CHECK(none.verdict == repro::PassBisection::Verdict::None);
  // More is held before the first pass.
  const repro::PassBisection before = repro::bisect_passes(p.session(), p.module(), p.question("1K"));
  CHECK(before.verdict == repro::PassBisection::Verdict::CannotTell);
}

TEST_CASE("memory: reduction keeps that the passes bring it") {
  Program p(6);
  const repro::Reduction r = repro::reduce(p.session(), p.module(), p.question("1.5x"), {});
  INFO(r.why);
  REQUIRE(r.module);
  CHECK(r.complete);
  CHECK(r.passes == "TopologicalSort(order=breadth-first)");
  CHECK(r.after.bindings < r.before.bindings);
  CHECK(r.after.elements < r.before.elements);
  CHECK(r.symptom.amount > r.symptom.limit);
  CHECK(r.symptom.id == "after the passes");

  // Without passes: the program itself holds too much.
  repro::Question q = p.question("10K");
  q.passes.clear();
  const repro::Reduction alone = repro::reduce(p.session(), p.module(), q, {});
  REQUIRE(alone.module);
  CHECK(alone.symptom.id == "before the first pass");
  CHECK(alone.after.bindings <= 3);
}
