#include "rldb/session/session.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

using namespace rldb;
using session::Session;

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

constexpr const char* kDouble = R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32")) -> R.Tensor(("n", 2), "float32"):
        y = R.add(x, x)
        return y
)";

std::string first(const source::Diagnostics& d) { return d.all().empty() ? "" : d.all()[0].message; }

}  // namespace

TEST_CASE("a text that fails to load leaves the program as it was") {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("good", kDouble, d));
  const ir::Module* before = s.module();
  CHECK(!s.load_text("bad", "@I.ir_module\nclass M:\n    @R.function\n    def f(x):\n        return y\n", d));
  CHECK(d.has_errors());
  CHECK(s.module() == before);
  CHECK(s.program_path() == "good");
}

TEST_CASE("missing, empty and binary files get their diagnostics") {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  CHECK(!s.load_file("/nonexistent/x.py", d));
  CHECK(first(d).find("cannot open") != std::string::npos);
  source::Diagnostics empty;
  CHECK(!s.load_text("empty", "", empty));
  CHECK(empty.has_errors());
  source::Diagnostics binary;
  CHECK(!s.load_text("binary", std::string("\0\1\2\xff", 4), binary));
  CHECK(binary.has_errors());
  CHECK(s.module() == nullptr);
}

TEST_CASE("arguments are checked against the signature, and the rest is made up") {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("m", kDouble, d));
  s.options().dims["n"] = 3;
  auto made = s.arguments("main", {}, d);
  REQUIRE(made);
  CHECK((*made)[0].generated);
  CHECK((*made)[0].value.as_tensor().shape() == std::vector<std::int64_t>{3, 2});
  auto again = s.arguments("main", {}, d);
  REQUIRE(again);
  CHECK(runtime::compare((*made)[0].value, (*again)[0].value).empty());
  const auto rejected = [&](std::vector<std::string> texts) {
    source::Diagnostics bad;
    const bool refused = !s.arguments("main", texts, bad).has_value();
    return refused && bad.has_errors();
  };
  CHECK(rejected({"2x3xf32=ones"}));
  CHECK(rejected({"2x2xf64=ones"}));
  CHECK(rejected({"2xf32=ones"}));
  CHECK(rejected({"2x2xf32=ones", "2x2xf32=ones"}));
  CHECK(rejected({"x=2x2xf32=ones", "x=2x2xf32=ones"}));
  CHECK(rejected({"2x2xf32=1,2"}));
  CHECK(rejected({"nonsense"}));
}

TEST_CASE("entries at the prompt are all or nothing") {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  CHECK(s.enter("x = R.const([1.0, 2.0], \"float32\")", d).ok);
  source::Diagnostics bad;
  CHECK(!s.enter("y = R.add(x, x)\nz = R.add(y, nothing)", bad).ok);
  CHECK(s.find_value("y") == nullptr);
  source::Diagnostics good;
  const auto result = s.enter("R.add(x, x)", good);
  REQUIRE(result.ok);
  REQUIRE(s.find_value("_"));
  CHECK(s.find_value("_")->as_tensor().at(1) == 4);
}

TEST_CASE("an entry asks for the values that it names, and copies none") {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  for (int i = 0; i < 300; ++i)
    REQUIRE(s.enter("lv" + std::to_string(i) + " = R.prim_value(" + std::to_string(i) + ")", d).ok);
  const Session::Snapshot before = s.snapshot();
  REQUIRE(s.enter("lv7 = R.prim_value(70)", d).ok);
  CHECK(s.values().size() == before.values.size());
  CHECK(s.find_value("lv7")->as_int() == 70);
  CHECK(before.values.find("lv7")->value.as_int() == 7);
  CHECK(s.values().find("lv8") == before.values.find("lv8"));
  // Names that are hidden, given anew in one entry, misspelt.
  REQUIRE(s.enter("lv7 = T.int64()", d).ok);
  CHECK(s.find_value("lv7") == nullptr);
  CHECK_FALSE(s.enter("y = R.prim_value(lv7)", d).ok);
  REQUIRE(s.enter("lv7 = R.prim_value(1)\nlv8 = lv7\nlv7 = R.prim_value(2)\nlv9 = lv7", d).ok);
  CHECK(s.find_value("lv8")->as_int() == 1);
  CHECK(s.find_value("lv9")->as_int() == 2);
  source::Diagnostics misspelt;
  REQUIRE(s.enter("product = lv9", d).ok);
  CHECK_FALSE(s.enter("z = prodct", misspelt).ok);
  REQUIRE(misspelt.has_errors());
  CHECK(misspelt.all()[0].hint.find("product") != std::string::npos);
}

TEST_CASE("a build is kept until the version or an option changes") {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("m", kDouble, d));
  auto one = s.build(d);
  REQUIRE(one);
  CHECK(s.build(d) == one);
  s.options().engine = session::Engine::Vm;
  CHECK(s.build(d) != one);
  s.options().engine = session::Engine::Jit;
  REQUIRE(s.run_passes("LegalizeOps", d));
  auto two = s.build(d);
  CHECK(two != one);
  REQUIRE(s.program()->go_to(0));
  CHECK(s.module() != nullptr);
}

TEST_CASE("an executable on disk gives what its module gives") {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("m", kDouble, d));
  auto bytes = s.serialise(d);
  REQUIRE_MESSAGE(bytes, first(d));
  char path[] = "/tmp/rldb-session-XXXXXX.rlvm";
  ::close(::mkstemps(path, 5));
  std::ofstream(path, std::ios::binary) << *bytes;
  Session other({}, &quiet);
  const bool loaded = other.load_file(path, d);
  REQUIRE_MESSAGE(loaded, first(d));
  CHECK(other.program()->kind() == session::ProgramKind::RelaxExecutable);
  const std::vector<std::string> texts{"2x2xf32=1,2,3,4"};
  auto args = other.arguments("main", texts, d);
  REQUIRE(args);
  const std::vector<runtime::Value> values{(*args)[0].value};
  const session::RunResult result = other.run("main", values, d);
  REQUIRE_MESSAGE(result.ok, first(d));
  CHECK(result.value.as_tensor().at(3) == 8);
  // Damaged files are refused.
  Session third({}, &quiet);
  source::Diagnostics bad;
  std::ofstream(path, std::ios::binary) << bytes->substr(0, bytes->size() / 2);
  CHECK(!third.load_file(path, bad));
  ::unlink(path);
  CHECK(bad.has_errors());
}

TEST_CASE("a pass that fails names itself and keeps the versions before it") {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("m", kDouble, d));
  CHECK(!s.run_passes("LegalizeOps,NoSuchPass", d));
  CHECK(first(d).find("NoSuchPass") != std::string::npos);
  CHECK(s.history().position() == 0);
}

TEST_CASE("a shape over the memory limit is an error, not a dead machine") {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("m", kDouble, d));
  const std::size_t limit = runtime::memory_limit();
  runtime::set_memory_limit(std::size_t(1) << 20);
  const std::vector<std::string> texts{"9999999x2xf32=zeros"};
  CHECK(!s.arguments("main", texts, d).has_value());
  runtime::set_memory_limit(limit);
  CHECK(first(d).find("limit") != std::string::npos);
}
