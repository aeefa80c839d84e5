// Random programs: the same for the same seed, well-formed, and correct through passes and engines.
#include "rldb/repro/fuzz.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "repro/loaded.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/generate.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

const ir::Module* generated(session::Session& s, std::uint64_t seed) {
  const auto program = repro::generate(s, seed);
  return program ? program->module : nullptr;
}

}  // namespace

TEST_CASE("fuzz: one seed gives one program, which verifies") {
  Quiet quiet;
  session::Session one(on_the_machine(), &quiet), two(on_the_machine(), &quiet);
  std::string last;
  int made = 0;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const ir::Module* module = generated(one, seed);
    if (!module) continue;  // its text is refused
    ++made;
    const std::string text = ir::print(module);
    CHECK(text == ir::print(generated(two, seed)));
    CHECK(text != last);
    last = text;
    source::Diagnostics found;
    one.set_program(module);
    INFO(text);
    CHECK(one.verify(found));
  }
  CHECK(made > 10);
}

TEST_CASE("fuzz: each operator has a solver, or a reason that it has none") {
  CHECK(repro::generated_operators().size() > 150);
  for (const op::Row& row : op::rows()) {
    INFO(row.name);
    const auto all = repro::generated_operators();
    const bool solved = std::find(all.begin(), all.end(), row.name) != all.end();
    CHECK(solved == repro::not_generated_because(row.name).empty());
  }
}

TEST_CASE("fuzz: programs are valid, and their results have no NaN") {
  Quiet quiet;
  session::Session s(on_the_machine(), &quiet);
  repro::FuzzOptions options;
  options.passes = "LegalizeOps";
  options.coverage = true;
  options.programs = 40;
  options.seconds = 0;
  const repro::FuzzReport r = repro::fuzz(s, options);
  INFO(repro::to_string(r));
  CHECK(r.programs == 40);
  CHECK(r.undefined == 0);
  CHECK(r.coverage.solved > 20 * r.coverage.refused);
  CHECK(r.coverage.operators.size() > 80);
  CHECK(r.coverage.dtypes.size() > 4);
}

TEST_CASE("fuzz: a short run with a fixed seed finds nothing") {
  Quiet quiet;
  session::Session s(on_the_machine(), &quiet);
  repro::FuzzOptions options;
  options.seed = 20;
  options.programs = 12;
  options.seconds = 0;
  const repro::FuzzReport r = repro::fuzz(s, options);
  CHECK(r.programs == 12);
  CHECK(r.compared > 6);
  CHECK(r.operators > 120);
  INFO(repro::to_string(r));
  CHECK(r.findings.empty());
}

TEST_CASE("fuzz: what a pass refuses is found, made small, and told with its seed") {
  Quiet quiet;
  session::Session s(on_the_machine(), &quiet);
  repro::FuzzOptions options;
  options.passes = "DeadCodeElimination,Gradient(func_name=main)";  // results are tensors, not scalars
  options.programs = 4;
  options.seconds = 0;
  const repro::FuzzReport r = repro::fuzz(s, options);
  REQUIRE_FALSE(r.findings.empty());
  CHECK(r.findings[0].passes.starts_with("Gradient"));
  CHECK(r.findings[0].symptom.kind == repro::SymptomKind::Fails);
  CHECK(repro::size_of(s.context(), r.findings[0].module).bindings <= 1);
  CHECK(repro::to_string(r).find("finding") != std::string::npos);
}
