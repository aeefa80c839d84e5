#include "ui/prompt/entry/complete.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "rldb/ui/prompt/state.h"

using namespace rldb::ui;

namespace {

constexpr const char* kProgram = R"(:load <<END
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(4), i)
                B[vi] = A[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), y: R.Tensor((4,), "float32")):
        n = T.int64()
        with R.dataflow():
            lv = R.add(x, x)
            lv1 = R.call_tir(Module.twice, (y,), out_ty=R.Tensor((4,), "float32"))
            gv = R.multiply(lv, lv)
            R.output(gv)
        return gv
END)";

struct Completer {
  Completer() : repl(CommandLine(), console) { repl.execute(kProgram); }
  std::vector<std::string> at(std::string_view text) {
    std::size_t start = 0;
    std::vector<std::string> names;
    for (const Candidate& c : complete_entry(repl, text, text.size(), start)) names.push_back(c.text);
    return names;
  }
  bool has(std::string_view text, const char* candidate) {
    const auto all = at(text);
    return std::find(all.begin(), all.end(), candidate) != all.end();
  }
  // The line about a candidate.
  std::string about(std::string_view text, std::string_view candidate) {
    std::size_t start = 0;
    for (const Candidate& c : complete_entry(repl, text, text.size(), start))
      if (c.text == candidate) return c.about;
    return "no candidate";
  }
  CapturedConsole console;
  Repl repl;
};

}  // namespace

TEST_CASE("places of a breakpoint: functions, bindings and kernels at once, builtins and operators by their letters") {
  Completer c;
  CHECK(c.has(":break ", "main"));
  CHECK(c.has(":break ", "main:lv"));
  CHECK(c.has(":break ", "op:"));
  CHECK(c.has(":break op:", "op:add"));
  CHECK(!c.has(":break ", "vm.builtin.copy"));
  CHECK(c.has(":break vm.", "vm.builtin.copy"));
  CHECK(c.has("break main:", "main:gv"));  // without the colon, stopped or not
  c.repl.execute(":start main");
  REQUIRE(c.repl.debugger().active());
  CHECK(c.has("break t", "twice"));
  CHECK(c.has("break a", "add"));  // made by the build
}

TEST_CASE("a variable that is named as a verb is a variable where it is assigned or used") {
  Completer c;
  CHECK(c.has("x = R.ad", "R.add"));
  CHECK(c.has("n + R.ad", "R.add"));
  c.repl.execute(":start main");
  CHECK(c.has("x = R.ad", "R.add"));
  CHECK(c.has("print x.sh", "x.shape"));
  CHECK(c.has("x ma", "main"));  // disassembly
}

TEST_CASE("names of the frame, without the products of the shape heap") {
  Completer c;
  c.repl.execute(":start main");
  for (const char* text : {"", ":print ", ":set "}) {
    CHECK(c.has(text, "n"));
    CHECK(c.has(text, "x"));
    for (const std::string& name : c.at(text)) CHECK_MESSAGE(name.find('*') == std::string::npos, name);
  }
  CHECK(!c.has(":set ", "main"));
  CHECK(!c.has(":set diff ", "x"));
  CHECK(c.has(":set diff ", "side-by-side"));
}

TEST_CASE("methods are the functions of the language that take a value first") {
  Completer c;
  CHECK(c.has("x.", "x.shape"));
  CHECK(c.has("x.", "x.mean("));
  CHECK(!c.has("x.", "x.arange("));
  CHECK(!c.has("x.", "x.zeros("));
  CHECK(c.has("np.", "np.arange"));
  CHECK(!c.has("np.", "np.shape"));
}

TEST_CASE("stages of a folder of IR files, in folders that have any") {
  const std::string folder = "/tmp/rldb-stages-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder + "/inner");
  std::filesystem::create_directories(folder + "/empty");
  for (const char* name : {"000_Before.py", "001_LegalizeOps.py", "notes.txt"})
    std::ofstream(folder + "/inner/" + name) << "# a stage\n";
  Completer c;
  CHECK(c.at(":compare " + folder + "/i") == std::vector<std::string>{folder + "/inner/", folder + "/inner:"});
  CHECK(c.at(":compare " + folder + "/e") == std::vector<std::string>{folder + "/empty/"});
  CHECK(c.at(":compare " + folder + "/inner:") ==
        std::vector<std::string>{folder + "/inner:000_Before", folder + "/inner:001_LegalizeOps"});
  CHECK(c.at(":compare " + folder + "/inner:000_Before " + folder + "/inner:001") ==
        std::vector<std::string>{folder + "/inner:001_LegalizeOps"});
  std::filesystem::remove_all(folder);
}

TEST_CASE("files behind @, in a folder and behind a name") {
  const std::string folder = "/tmp/rldb-files-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/weights.npy") << "";
  Completer c;
  std::size_t start = 0;
  for (const std::string head : {":run main ", ":run main x=", ":input w ", ":compare --expected="}) {
    const std::string text = head + "@" + folder + "/we";
    CHECK(c.at(text) == std::vector<std::string>{"@" + folder + "/weights.npy"});
    complete_entry(c.repl, text, text.size(), start);
    CHECK(start == head.size());
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("values of options, words of commands, kernels, lines of a file, checkpoints") {
  Completer c;
  CHECK(c.has(":set --save di", "diff"));
  CHECK(c.has(":set --save diff ", "side-by-side"));
  CHECK(c.has(":info br", "breakpoints"));
  CHECK(c.has(":bt ", "full"));
  CHECK(c.has(":expect ", "not"));
  CHECK(c.has(":expect ", "value"));
  CHECK(!c.has(":match ", "in"));
  CHECK(!c.has(":break ", "if"));
  CHECK(c.has(":engine ", "eval"));
  CHECK(c.at(":engine jit ") == std::vector<std::string>{"for"});
  CHECK(c.at(":engine jit for tw") == std::vector<std::string>{"twice"});
  CHECK(c.at(":schedule ma").empty());
  CHECK(c.at(":plot x --kind=h") == std::vector<std::string>{"--kind=heat", "--kind=hist"});
  CHECK(c.at(":compare --other-engine=e") == std::vector<std::string>{"--other-engine=eval"});
  CHECK(c.at(":compare --passes=LegalizeOps,FuseTI") == std::vector<std::string>{"--passes=LegalizeOps,FuseTIR"});
  CHECK(c.at(":help R.matm") == std::vector<std::string>{"R.matmul"});
  CHECK(c.has(":break <he", "<here>:"));
  CHECK(c.at(":break <here>:1").front() == "<here>:14");
  CHECK(c.has(":break <here>:1", "<here>:14"));
  CHECK(!c.has(":break <here>:1", "<here>:13"));  // a line without a binding
  CHECK(c.has(":break main:lv if x.sh", "x.shape"));
  c.repl.execute(":start main");
  c.repl.execute("checkpoint begun");
  CHECK(c.at("goto be") == std::vector<std::string>{"begun"});
}

TEST_CASE("within a definition its own names are completed") {
  Completer c;
  const std::string head = "@R.function\ndef f(alpha: R.Tensor((4,), \"float32\")):\n    first = R.add(alpha, alpha)\n";
  CHECK(c.at(head + "    y = R.exp(al") == std::vector<std::string>{"alpha"});
  CHECK(c.at(head + "    return fi") == std::vector<std::string>{"first"});
  CHECK(c.has(head + "    y = R.sum(alpha, ", "axis="));
}

TEST_CASE("each candidate has a line about it, of the table that has the name") {
  Completer c;
  CHECK(c.about(":br", "break") == "set a breakpoint");
  CHECK(c.about("R.matm", "R.matmul") == c.about(":break op:matm", "op:matmul"));
  CHECK(c.about("R.matm", "R.matmul") != "");
  CHECK(c.about(":break main:l", "main:lv1") == "R.Tensor((4,), dtype=\"float32\")");
  CHECK(c.about(":break tw", "twice") == "kernel");
  CHECK(c.about(":break <here>:1", "<here>:14").starts_with("lv = R.add(x, x)"));
  CHECK(c.about(":run-pass LegalizeO", "LegalizeOps") != "");
  CHECK(c.about(":run-pass FuseOps(fuse_op", "fuse_opt_level=").ends_with("(default: -1)"));
  CHECK(c.about(":catch e", "error") == "a fault");
  CHECK(
      c.about(":compare --sh", "--shadow") ==
      "also compute in float64, to tell whether the difference is larger than a different order of summation explains");
  CHECK(c.about(":sanitize ", "no such") == "no candidate");
  c.repl.execute("a = R.const(7)");
  CHECK(c.about("a", "a").starts_with("R.Tensor(("));
  c.repl.execute(":run-pass LegalizeOps");
  CHECK(c.about(":diff ", "1") == "after LegalizeOps");
  CHECK(c.about(":diff ", "0") == "as loaded");
  c.repl.execute(":start main");
  CHECK(c.about("print ", "n").starts_with("symbolic variable"));
}
