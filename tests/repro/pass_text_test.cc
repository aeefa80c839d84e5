// Passes by example: tests/passes/<folder>/*.txt, tests/tir_passes/*.txt. A file holds cases:
//
//   # CASE what the case is about
//   # RUN LegalizeOps, or a pipeline
//   <module>
//   # GIVES                     (or: # FAILS part of the message)
//   <module>
//   # VALUES same: main         (a result)
//
// The result has to verify after each pass, to be the expected module up to names of variables, to print as a text that
// reads back to itself, and to give the original module's values, for functions whose inputs can be generated; VALUES
// records which ran. Other lines that begin with `# ` before a module are comments.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "golden/golden.h"
#include "repro/loaded.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/validate.h"
#include "rldb/session/session.h"
#include "rldb/support/text.h"

using namespace rldb;
using namespace rldb::repro_test;
using session::Session;

namespace {

constexpr std::string_view kHeader =
    "from tvm.script import ir as I\nfrom tvm.script import tirx as T\nfrom tvm.script import relax as R\n";

std::string errors_of(const source::Diagnostics& d) {
  std::string text;
  for (const source::Diagnostic& each : d.all()) text += each.message + "\n";
  return text;
}

const ir::Module* load(Session& s, std::string_view text, std::string& error) {
  source::Diagnostics d;
  const bool ok = s.load_text("case.py", std::string(kHeader) + std::string(text), d);
  if (!ok) error = errors_of(d);
  return ok ? s.module() : nullptr;
}

// Without the imports, which every text here has.
std::string printed(const ir::Module* module) {
  ir::PrintOptions options;
  options.show_meta = true;  // constants are part of the program
  std::string text = ir::print(module, options);
  while (text.starts_with("#")) text.erase(0, text.find('\n') + 1);
  return std::string(support::trim(text));
}

std::string values_text(const repro::Validation& v) {
  std::string text = v.compared.empty() ? "" : fmt::format("same: {}", fmt::join(v.compared, ", "));
  if (!v.unchanged.empty()) text += fmt::format("; unchanged: {}", fmt::join(v.unchanged, ", "));
  if (!v.not_run.empty()) text += fmt::format("{}not run: {}", text.empty() ? "" : "; ", fmt::join(v.not_run, ", "));
  if (!v.in_part.empty()) text += fmt::format("; in part: {}", fmt::join(v.in_part, ", "));
  return text.empty() ? "no function" : text;
}

// Runs a case, and sets its results.
void run_case(golden::Case& c) {
  Quiet quiet;
  session::Options options;
  options.engine = session::Engine::Vm;
  Session s(options, &quiet);
  std::string error;
  const golden::Part* run = c.find("RUN");
  REQUIRE(run);
  const ir::Module* before = load(s, run->text, error);
  REQUIRE_MESSAGE(before, "the module cannot be read: ", error);
  source::Diagnostics d;
  const bool ran = s.run_passes(run->argument, d);
  if (const golden::Part* fails = c.find("FAILS")) {
    const bool as_expected = !ran && errors_of(d).find(fails->argument) != std::string::npos;
    CHECK_MESSAGE(as_expected, "no such failure, but: ", errors_of(d));
    return;
  }
  REQUIRE_MESSAGE(ran, "the pipeline fails: ", errors_of(d));

  const ir::Module* got = s.module();
  Session again(options, &quiet);
  const ir::Module* read_back = load(again, printed(got), error);
  REQUIRE_MESSAGE(read_back, "the result does not read back: ", error, printed(got));
  CHECK_MESSAGE(printed(read_back) == printed(got), "the result reads back as another program");

  const golden::Part* gives = c.find("GIVES");
  Session expected(options, &quiet);
  const ir::Module* wanted = gives && !gives->text.empty() ? load(expected, gives->text, error) : nullptr;
  // A text that gives the same module up to names of variables is as good.
  if (!wanted || ir::first_difference(got, wanted)) c.set("GIVES", {}, printed(got));
  const repro::Validation v = repro::validate_versions(s, before, got, run->argument);
  CHECK_MESSAGE(v.difference.empty(), "other values: ", v.difference);
  c.set("VALUES", values_text(v), {});
}

}  // namespace

TEST_CASE("tests/passes: passes by example") { golden::check_cases("passes", run_case); }
TEST_CASE("tests/tir_passes: passes over TensorIR by example") { golden::check_cases("tir_passes", run_case); }
