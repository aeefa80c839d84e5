// A comparison in which nothing ran, or nothing could be compared, never reports that results are the same.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "repro/loaded.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/reduce.h"
#include "rldb/repro/validate.h"
#include "rldb/support/file.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

// The body of a function of one matrix.
std::string program(const std::string& body, const std::string& result = "R.Tensor((2, 3), \"float32\")",
                    const std::string& name = "main") {
  return fmt::format(
      "@I.ir_module\nclass Module:\n    @R.function\n    def {}(x: R.Tensor((2, 3), \"float32\")) -> {}:\n{}", name,
      result, body);
}

const std::string kTypes = "R.Tensor((2, 3), \"float32\")";
const std::string kSame = program("        return x\n");
const std::string kNothing = program("        return R.tuple()\n", "R.Tuple");
const std::string kUnknown =
    program("        y = R.call_pure_packed(\"nobody.has_this\", x, ty_args=(" + kTypes + "))\n        return y\n");

class Folder {
 public:
  explicit Folder(const std::vector<std::string>& stages)
      : path_((std::filesystem::temp_directory_path() / "rldb-stages-XXXXXX").string()) {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
    for (std::size_t i = 0; i < stages.size(); ++i)
      REQUIRE(support::write_file(fmt::format("{}/{:03}_Stage.py", path_, i), stages[i]).ok());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("bisect by kernel: a program without kernels, and one without values") {
  Loaded same(kSame, session::Options());
  const repro::KernelBisection none = repro::bisect_kernels(same.session(), same.module(), {});
  CHECK(none.verdict == repro::KernelBisection::Verdict::CannotTell);
  CHECK(none.why == "the program calls no kernel");
  Loaded nothing(kNothing, session::Options());
  const repro::KernelBisection empty = repro::bisect_kernels(nothing.session(), nothing.module(), {});
  CHECK(empty.verdict == repro::KernelBisection::Verdict::CannotTell);
  CHECK(empty.why == "it gives no value that could be compared");
}

TEST_CASE("compare: programs that give nothing") {
  Loaded nothing(kNothing, session::Options());
  source::Diagnostics d;
  repro::Program p;
  p.module = nothing.module();
  p.function = "main";
  const auto arguments = nothing.session().arguments("main", {}, d);
  REQUIRE(arguments);
  for (const session::Argument& a : *arguments) p.args.push_back(a.value);
  const repro::Comparison c = repro::compare(nothing.session(), p, p, {});
  CHECK(c.verdict == repro::Comparison::Verdict::CannotTell);
  CHECK(c.why == "it gives no value that could be compared");
}

TEST_CASE("bisect passes: a program that cannot run is not said to be right") {
  using Verdict = repro::PassBisection::Verdict;
  repro::Question q;
  q.passes = "CanonicalizeBindings";
  for (const std::string& text : {kUnknown, kNothing}) {
    Loaded loaded(text, session::Options());
    const repro::PassBisection b = repro::bisect_passes(loaded.session(), loaded.module(), q);
    CHECK(b.verdict == Verdict::CannotTell);
    CHECK(has(b.why, "cannot be compared before the first pass"));
  }
  // Refusals by passes are shown nevertheless.
  Loaded unknown(kUnknown, session::Options());
  q.passes = "Gradient(func_name=main)";
  const repro::PassBisection refused = repro::bisect_passes(unknown.session(), unknown.module(), q);
  CHECK(refused.verdict == Verdict::Found);
  CHECK(refused.symptom.kind == repro::SymptomKind::Fails);
  q.kind = repro::OracleKind::Values;
  CHECK(repro::bisect_passes(unknown.session(), unknown.module(), q).verdict == Verdict::CannotTell);
}

TEST_CASE("bisect passes: a pass that fails says nothing of the values") {
  Loaded same(kSame, session::Options());
  repro::Question q;
  q.passes = "Gradient(func_name=main)";  // the result is not a scalar
  q.kind = repro::OracleKind::Values;
  const repro::PassBisection b = repro::bisect_passes(same.session(), same.module(), q);
  CHECK(b.verdict == repro::PassBisection::Verdict::CannotTell);
  CHECK(has(b.why, "pass `Gradient` fails"));
}

TEST_CASE("reduce: why there is no symptom") {
  Loaded unknown(kUnknown, session::Options());
  repro::Question q;
  q.passes = "CanonicalizeBindings";
  const repro::Reduction r = repro::reduce(unknown.session(), unknown.module(), q, {});
  CHECK_FALSE(r.module);
  CHECK(has(r.why, "the program shows no symptom: it cannot be compared: "));
}

TEST_CASE("validation: a function that is gone afterwards, and one that gives nothing") {
  Loaded loaded(kSame, session::Options());
  const ir::Module* before = loaded.module();
  const ir::Module* after = loaded.load(program("        return x\n", kTypes, "other"));
  const repro::Validation gone = repro::validate_versions(loaded.session(), before, after);
  CHECK(gone.compared.empty());
  CHECK(gone.not_run == std::vector<std::string>{"main (it is not there afterwards)"});
  const ir::Module* nothing = loaded.load(kNothing);
  const repro::Validation empty = repro::validate_versions(loaded.session(), nothing, nothing);
  CHECK(empty.compared.empty());
  REQUIRE(empty.not_run.size() == 1);
  CHECK(has(empty.not_run[0], "gives no value that could be compared"));
}

TEST_CASE("bisect a dump: stages that give nothing, and folders of other programs") {
  Quiet quiet;
  session::Session s({}, &quiet);
  using Verdict = repro::TraceBisection::Verdict;
  const Folder nothing({kNothing, kNothing + "\n"});
  CHECK(repro::bisect_trace(s, nothing.path(), {}).compared.empty());
  const Folder renamed({kNothing, program("        y = R.exp(x)\n        return R.tuple()\n", "R.Tuple")});
  CHECK(repro::bisect_trace(s, renamed.path(), {}).verdict == Verdict::CannotTell);

  const std::string one = program("        y = R.add(x, x)\n        return y\n");
  const std::string same_as_one = program("        z = R.add(x, x)\n        return z\n");
  const std::string vector =
      "@I.ir_module\nclass Module:\n    @R.function\n    def main(a: R.Tensor((5,), "
      "\"float32\")) -> R.Tensor((5,), \"float32\"):\n        b = R.negative({})\n"
      "        return b\n";
  const Folder first({one, one + "\n\n", same_as_one}),
      second({fmt::format(fmt::runtime(vector), "a"), fmt::format(fmt::runtime(vector), "a") + "#\n"});
  const repro::FolderBisection b = repro::bisect_two_traces(s, first.path(), second.path(), {});
  CHECK(b.verdict() == Verdict::CannotTell);
}

TEST_CASE("bisect a dump: the function and the values that are asked for") {
  Quiet quiet;
  session::Session s({}, &quiet);
  using Verdict = repro::TraceBisection::Verdict;
  // They differ only where an element is larger than any that is generated.
  const std::string good = program("        y = R.minimum(x, R.const(1e30, \"float32\"))\n        return y\n");
  const std::string bad = program("        y = R.add(x, R.const(0.0, \"float32\"))\n        return y\n");
  const Folder folder({good, bad});
  CHECK(repro::bisect_trace(s, folder.path(), {}).verdict == Verdict::Agree);
  CHECK(repro::bisect_trace(s, folder.path(), {}, {"main", {"x=2x3xf32=1,2,3,4,1e31,6"}}).verdict == Verdict::Found);
  const repro::TraceBisection none = repro::bisect_trace(s, folder.path(), {}, {"nobody", {}});
  CHECK(none.verdict == Verdict::CannotTell);
  CHECK(has(none.why, "no public function `nobody`"));
}
