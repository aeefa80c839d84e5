// Recorded runs: written and read back, damaged in every byte, cut off at every length, too large; and whole sessions
// that go through a file.
#include "rldb/ui/prompt/run_file.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>

#include "rldb/runtime/compressed.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/support/bytes.h"
#include "rldb/ui/prompt/run_record.h"
#include "rldb/ui/prompt/state.h"
#include "runtime/made_values.h"

using namespace rldb;
using namespace rldb::ui;
using runtime::Value;
using runtime::testing::f32;

namespace {

RunFile small_run() {
  RunFile run;
  run.made_by = "1.0";
  run.cpu = "a CPU";
  run.cpu_features = {"avx2", "fma"};
  run.path = "mlp.py";
  run.program = "text";
  run.passes = {"LegalizeOps", "FuseOps(fuse_opt_level=1)"};
  run.text_hash = 17;
  run.engine = "jit";
  run.machine = "relax";
  run.dims = {{"n", 7}};
  run.function = "main";
  const Value x = f32({2, 2}, {1, 2, 3, 4});
  run.arguments = {x, x, Value::of_shape({7, 2}), Value::of_tuple({Value::of_float(0.5), Value::of_string("s")})};
  run.values = {{"$a", Value::of_int(-3)}, {"b", Value::of_bool(true)}};
  run.changes = {{3, 0, {"set n = 4", {"script", 5}}}};
  run.time = 12;
  run.digests = {{0, 1}, {12, ~std::uint64_t(0)}};
  debug::Breakpoint b;
  b.number = 2;
  b.spec = "main:lv1";
  b.condition = "n > 3";
  b.commands = {"print n", "continue"};
  run.breakpoints = {b};
  run.displays = {{'x', "n"}};
  run.checkpoints = {{"here", 4}};
  run.notes = {{12, "look at lv1"}};
  return run;
}

std::string bytes_of(const RunFile& run) {
  source::Diagnostics d;
  auto bytes = write_run_file(run, d);
  REQUIRE(bytes);
  return *bytes;
}

// Empty: it was read.
std::string refusal(std::string_view bytes) {
  source::Diagnostics d;
  const auto run = read_run_file(bytes, "x.rldbrun", d);
  CHECK(run.has_value() == !d.has_errors());
  if (d.has_errors()) CHECK(d.all()[0].id == source::DiagId(diag::BadRunFile));
  return d.first_error();
}

struct RunFolder {
  RunFolder() {
    char name[] = "/tmp/rldb-run-file-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~RunFolder() { std::filesystem::remove_all(path); }
  std::string operator/(const char* name) const { return path + "/" + name; }
  std::string path;
};

constexpr const char* kProgram = R"(:load prog <<END
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n, 3), "float32") = R.matmul(x, w)
            lv1: R.Tensor((n, 3), "float32") = R.nn.relu(lv)
            gv: R.Tensor((n, 3), "float32") = R.add(lv1, lv1)
            R.output(gv)
        return gv
END)";

std::string said(Repl& repl, const std::string& entry) {
  repl.execute(entry);
  return repl.last().output;
}

}  // namespace

TEST_CASE("a run file is read as it was written") {
  const std::string bytes = bytes_of(small_run());
  source::Diagnostics d;
  const auto run = read_run_file(bytes, "x.rldbrun", d);
  REQUIRE(run);
  CHECK(run->passes == small_run().passes);
  CHECK(run->dims == small_run().dims);
  REQUIRE(run->arguments.size() == 4);
  CHECK(runtime::compare(run->arguments[0], small_run().arguments[0]).empty());
  // Two names of one memory stay that.
  CHECK(run->arguments[0].as_tensor().storage() == run->arguments[1].as_tensor().storage());
  CHECK(run->arguments[3].as_tuple().fields[1].as_string() == "s");
  CHECK(run->values[0].second.as_int() == -3);
  CHECK(run->changes[0].entry.text == "set n = 4");
  CHECK(run->changes[0].entry.author.line == 5);
  CHECK(run->digests == small_run().digests);
  CHECK(run->breakpoints[0].commands == small_run().breakpoints[0].commands);
  CHECK(run->displays[0].format == 'x');
  CHECK(run->notes[0].second == "look at lv1");
  CHECK(bytes_of(*run) == bytes);
}

TEST_CASE("a run file with any byte changed is refused") {
  const std::string bytes = bytes_of(small_run());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string damaged = bytes;
      damaged[i] = char(damaged[i] ^ flip);
      CAPTURE(i);
      CHECK(refusal(damaged) != "");
    }
}

TEST_CASE("a run file that is cut off or continued is refused") {
  const std::string bytes = bytes_of(small_run());
  for (std::size_t n = 0; n < bytes.size(); ++n) CHECK(refusal(bytes.substr(0, n)) != "");
  CHECK(refusal(bytes + '\0') != "");
  CHECK(refusal(bytes + bytes) != "");
}

// The checksum protects against accidents. Contents that someone made are checked by themselves.
TEST_CASE("contents that are damaged below the compression are refused or read, within their memory") {
  const std::string bytes = bytes_of(small_run());
  auto contents = runtime::decompress(std::string_view(bytes).substr(kRunFileMagic.size() + 8), 1 << 20);
  REQUIRE(contents.ok());
  const std::size_t before = runtime::memory_in_use();
  for (std::size_t i = 0; i < contents->size(); ++i)
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string damaged = *contents;
      damaged[i] = char(damaged[i] ^ flip);
      (void)refusal(run_file_around(damaged));
    }
  for (std::size_t n = 0; n < contents->size(); ++n) CHECK(refusal(run_file_around(contents->substr(0, n))) != "");
  CHECK(runtime::memory_in_use() == before);
}

TEST_CASE("a bomb is refused by what it says, and by what it has") {
  const std::string bomb = run_file_around(std::string(std::size_t(64) << 20, '\0'));
  CHECK(bomb.size() < 100'000);
  const std::size_t before = runtime::memory_limit();
  runtime::set_memory_limit(std::size_t(32) << 20);
  CHECK(refusal(bomb).find("limit on all memory") != std::string::npos);
  runtime::set_memory_limit(before);
  CHECK(refusal(bomb) != "");  // its version is none
  CHECK(!runtime::decompress(runtime::compress(std::string(1000, 'x')), 999).ok());
}

TEST_CASE("a value without a form in a file is not written") {
  RunFile run = small_run();
  run.arguments.push_back(Value(support::Ref<runtime::Function>(new runtime::Function("f", 3))));
  source::Diagnostics d;
  CHECK(!write_run_file(run, d));
  CHECK(d.has_errors());
}

TEST_CASE("the difference of two CPUs in words") {
  CHECK(feature_difference({"a", "b"}, {"b", "a"}).empty());
  CHECK(feature_difference({"avx512f", "fma"}, {"fma", "sse2"}) ==
        "only the other CPU has avx512f; only this one has sse2");
}

TEST_CASE("a session goes through a file: place, points, values, notes, both directions") {
  const RunFolder folder;
  const std::string file = folder / "a.rldbrun";
  std::string locals, earlier;
  {
    CapturedConsole console;
    Repl repl({}, console);
    CHECK(repl.execute(kProgram) == Status::Good);
    repl.execute(":input x 5x4xf32=rand(seed=3)");
    repl.execute("$limit = 2");
    repl.execute(":break main:lv");
    repl.execute(":break main:gv if n > $limit");
    repl.execute(":delete 1");
    repl.execute(":display n");
    CHECK(repl.execute(":run main") == Status::Good);
    CHECK(repl.execute(":note relu is done") == Status::Good);
    locals = said(repl, "locals");
    CHECK(repl.execute(":save-run " + file) == Status::Good);
    repl.execute("reverse-step");
    earlier = said(repl, "locals");
  }
  CapturedConsole console;
  Repl repl({}, console);
  const std::string opened = said(repl, ":load " + file);
  CHECK(opened.find("it computes the same bits here") != std::string::npos);
  CHECK(opened.find("relu is done") != std::string::npos);
  CHECK(opened.find("n = 5") != std::string::npos);  // the display
  CHECK(said(repl, "locals") == locals);
  CHECK(repl.debugger().breakpoints().count(2) == 1);
  CHECK(repl.debugger().breakpoints().size() == 1);
  repl.execute("reverse-step");
  CHECK(said(repl, "locals") == earlier);
  CHECK(said(repl, ":continue").find("breakpoint 2") != std::string::npos);
  CHECK(said(repl, ":continue").find("finished") != std::string::npos);
}

TEST_CASE("changes of a run, its end, and what it was made from go through a file") {
  const RunFolder folder;
  const std::string file = folder / "b.rldbrun";
  Value result;
  {
    CapturedConsole console;
    Repl repl({}, console);
    repl.execute(kProgram);
    repl.execute(":run-pass LegalizeOps");
    repl.execute(":break main:lv1");
    repl.execute(":run main 2x4xf32=ones 4x3xf32=ones");
    CHECK(repl.execute("set lv[0, :] = -7") == Status::Good);
    CHECK(repl.execute("continue") == Status::Good);
    result = repl.debugger().last_stop().value;
    REQUIRE(!result.is_null());
    CHECK(repl.execute(":save-run " + file) == Status::Good);
  }
  CapturedConsole console;
  Repl repl({}, console);
  const std::string opened = said(repl, ":load " + file);
  CAPTURE(opened);
  CHECK(opened.find("it computes the same bits here") != std::string::npos);
  CHECK(opened.find("finished") != std::string::npos);
  CHECK(repl.session().program()->position() == 1);
  CHECK(runtime::compare(repl.debugger().last_stop().value, result, {0, 0, true}).empty());
}

TEST_CASE("what is no run, or depends on more, is not written") {
  CapturedConsole console;
  Repl repl({}, console);
  CHECK(repl.execute(":save-run /nowhere/x.rldbrun") == Status::Failed);
  repl.execute(kProgram);
  repl.execute(":start main");
  CHECK(repl.execute(":save-run /nowhere/x.rldbrun") == Status::Failed);
  CHECK(repl.last().errors[0].find("/nowhere") != std::string::npos);
}
