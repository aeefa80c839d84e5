// Folders as written by DumpIR, made by the tests: a program after each of its passes, with a fault planted in the
// stages from one pass on.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "repro/loaded.h"
#include "rldb/ir/printer.h"
#include "rldb/pipeline/instruments.h"
#include "rldb/repro/bisect.h"
#include "rldb/support/file.h"

namespace rldb::repro_test {

inline constexpr const char* kProgram = R"(@I.ir_module
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

  // One file per pass; from the pass `from` on, `what` is replaced by `with`.
  void run(const std::string& passes, const std::string& from = {}, const std::string& what = {},
           const std::string& with = {}, const std::string& program = kProgram) {
    Quiet quiet;
    session::Session s({}, &quiet);
    source::Diagnostics d;
    REQUIRE(s.load_text("m.py", program, d));
    bool wrong = false;
    pipeline::Recorder recorder;
    REQUIRE(s.run_passes(passes, d, {&recorder}));
    for (const pipeline::Record& record : recorder.records) {
      const std::string name(record.pass.name());
      wrong = wrong || name == from;
      std::string text = ir::print(record.after.as<ir::Module>());
      const auto at = wrong ? text.find(what) : std::string::npos;
      if (at != std::string::npos) text.replace(at, what.size(), with);
      write(name, text);
    }
  }

 private:
  std::string path_;
  int number_ = 0;
};

inline repro::TraceBisection bisect(const Dump& dump, const std::vector<std::string>& inputs = {}) {
  Quiet quiet;
  session::Session s(on_the_machine(), &quiet);
  repro::Followed what;
  what.inputs = inputs;
  return repro::bisect_trace(s, dump.path(), {}, what);
}

using Verdict = repro::TraceBisection::Verdict;

// A program of one function `main`.
inline std::string function(const std::string& parameters, const std::string& body, const std::string& result) {
  return "@I.ir_module\nclass Module:\n    @R.function\n    def main(" + parameters +
         "):\n        with R.dataflow():\n" + body + "            R.output(" + result + ")\n        return " + result +
         "\n";
}

inline const std::string kVector = "R.Tensor((4,), \"float32\")";

}  // namespace rldb::repro_test
