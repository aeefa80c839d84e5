// Folders as DumpIR writes them, with a fault planted in the stages from one pass on.
#include <doctest/doctest.h>

#include <filesystem>

#include "rldb/ir/printer.h"
#include "rldb/repro/bisect.h"
#include "rldb/support/file.h"

using namespace rldb;

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

constexpr const char* kProgram = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        with R.dataflow():
            lv = R.add(x, x)
            lv1 = R.nn.relu(lv)
            lv2 = R.matmul(lv1, w)
            lv3 = R.multiply(lv2, lv1)
            gv = R.subtract(lv3, lv)
            R.output(gv)
        return gv
)";

class Dump {
 public:
  Dump() : path_((std::filesystem::temp_directory_path() / "rldb-dump-XXXXXX").string()) {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  ~Dump() { std::filesystem::remove_all(path_); }
  Dump(const Dump&) = delete;
  Dump& operator=(const Dump&) = delete;
  const std::string& path() const { return path_; }

  void write(const std::string& pass, const std::string& text) {
    REQUIRE(support::write_file(fmt::format("{}/{:03}_{}.py", path_, number_++, pass), text).ok());
  }

  // One file a pass; from the pass `from` on, `what` is `with`.
  void run(const std::string& passes, const std::string& from = {}, const std::string& what = {},
           const std::string& with = {}) {
    Quiet quiet;
    session::Session s({}, &quiet);
    source::Diagnostics d;
    REQUIRE(s.load_text("m.py", kProgram, d));
    bool wrong = false;
    passes::RunOptions options;
    options.after = [&](const passes::PassRecord& record) {
      const std::string name(passes::info(record.pass.id).name);
      wrong = wrong || name == from;
      std::string text = ir::print(record.after);
      const auto at = wrong ? text.find(what) : std::string::npos;
      if (at != std::string::npos) text.replace(at, what.size(), with);
      write(name, text);
    };
    REQUIRE(s.run_passes(passes, d, options));
  }

 private:
  std::string path_;
  int number_ = 0;
};

repro::TraceBisection bisect(const Dump& dump) {
  Quiet quiet;
  session::Options options;
  options.engine = session::Engine::Vm;
  session::Session s(options, &quiet);
  return repro::bisect_trace(s, dump.path(), {});
}

using Verdict = repro::TraceBisection::Verdict;

}  // namespace

TEST_CASE("bisect a dump: a right pipeline is said to be right; what cannot be run is passed by") {
  Dump dump;
  dump.write("Empty", "");
  dump.run("minimum");
  dump.write("Broken", "@I.ir_module\nclass Module:\n    def\n");
  const repro::TraceBisection b = bisect(dump);
  CHECK(b.verdict == Verdict::Agree);
  CHECK(b.compared == std::vector<std::string>{"main"});
  CHECK(b.memory.empty());
  REQUIRE(b.stages.size() == 15);
  CHECK(b.stages.front().not_runnable == "the file is empty");
  CHECK(b.stages.back().not_runnable.find("it does not read") == 0);
}

TEST_CASE("bisect a dump: storage of a live tensor that the planner gave away") {
  Dump dump;
  dump.run("minimum", "StaticPlanBlockMemory", "alloc_tensor(storage_3", "alloc_tensor(storage");
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "StaticPlanBlockMemory");
  CHECK(b.stages[b.good].pass == "CallTIRRewrite");
  CHECK(b.function == "main");
  REQUIRE(b.comparison.first);
  CHECK(b.comparison.first->callee == "subtract");
  REQUIRE(b.memory.size() == 1);
  CHECK(b.memory[0].tensor == "lv");
  CHECK(b.memory[0].allocation == "alloc");
  CHECK(b.memory[0].writer_allocation == "alloc_3");
  CHECK(b.memory[0].storage == "storage");
}

TEST_CASE("bisect a dump: a kernel that a pass made wrong") {
  Dump dump;
  dump.run("LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR,minimum", "FuseTIR", "T.max(", "T.min(");
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "FuseTIR");
  REQUIRE(b.comparison.first);
  CHECK(b.comparison.first->inputs_agree());
}

TEST_CASE("bisect a dump: parameters bundled on the way are followed") {
  Dump dump;
  dump.run("BundleModelParams", "LegalizeOps", "", "");
  dump.run("LegalizeOps,BundleModelParams", "BundleModelParams", "x[v_ax0, v_ax1] + ", "x[v_ax0, v_ax1] - ");
  const repro::TraceBisection b = bisect(dump);
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "BundleModelParams");
  CHECK(b.bad == 2);
}

TEST_CASE("bisect a dump: no folder, no files") {
  Quiet quiet;
  session::Session s({}, &quiet);
  CHECK(repro::bisect_trace(s, "/nowhere/at/all", {}).verdict == Verdict::CannotTell);
  const Dump empty;
  CHECK(repro::bisect_trace(s, empty.path(), {}).why.find("no files") != std::string::npos);
}
