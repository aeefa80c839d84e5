// Short texts whose programs would be immense: they run, or are refused at the binding that is too large, and the
// session continues.
#include <doctest/doctest.h>

#include "rldb/session/session.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/source/diagnostic_type.h"

using namespace rldb;
using session::Session;
using source::DiagId;

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

session::Options options() {
  session::Options o;
  o.engine = session::Engine::Vm;
  return o;
}

std::string program(const std::string& params, const std::string& body, const std::string& result) {
  return "@I.ir_module\nclass Module:\n    @R.function\n    def main(" + params + "):\n" + body + "        return " +
         result + "\n";
}

std::string repeated(const std::string& line, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += "        " + line + "\n";
  return out;
}

// The first diagnostic of the program; nullopt if there is none.
std::optional<DiagId> said(const std::string& text) {
  Quiet quiet;
  Session s(options(), &quiet);
  source::Diagnostics d;
  s.load_text("blow.py", text, d);
  return d.all().empty() ? std::nullopt : std::optional(d.all()[0].id);
}

constexpr const char* kSymbolic = "x: R.Tensor((\"n\", \"m\"), \"float32\")";
constexpr const char* kStatic = "x: R.Tensor((4, 4), \"float32\")";

}  // namespace

TEST_CASE("blow-up: dimensions that double or square") {
  CHECK(said(program(kSymbolic, repeated("x = R.concat((x, x), axis=0)", 60), "x")) == std::nullopt);
  CHECK(said(program(kSymbolic, repeated("x = R.concat((x, x), axis=0)", 100), "x")) == diag::DimOverflow);
  CHECK(said(program("x: R.Tensor((\"n\",), \"float32\")", repeated("x = R.reshape(R.outer(x, x), (-1,))", 200),
                     "x")) == diag::DimTooLarge);
  CHECK(said(program(kStatic, repeated("x = R.tile(x, (4294967296, 1))", 3), "x")) == diag::DimOverflow);
}

TEST_CASE("blow-up: tuples of tuples") {
  const std::string first = "        t = (x, x)\n";
  CHECK(said(program(kStatic, first + repeated("t = (t, t)", 12), "t")) == std::nullopt);
  CHECK(said(program(kStatic, first + repeated("t = (t, t)", 100), "t")) == diag::TypeTooLarge);
  CHECK(said(program(kStatic, first + repeated("t = (t,)", 1000), "t")) == diag::TypeTooDeep);
  CHECK(said(program(kStatic, first + repeated("t = (t, t)", 14) + repeated("u = t", 2000), "u")) ==
        diag::TypesTooLarge);
}

TEST_CASE("blow-up: macros and values of the file") {
  std::string macros;
  for (int i = 0; i < 19; ++i) {
    const std::string inner = i == 0 ? "A[0] = e" : "m" + std::to_string(i - 1) + "(A, e)";
    macros += "@T.macro\ndef m" + std::to_string(i) + "(A, e):\n    " + inner + "\n    " + inner + "\n";
  }
  const std::string kernel = "@T.prim_func\ndef k(A: T.Buffer((4,), \"float32\")):\n    m18(A, T.float32(1))\n";
  CHECK(said(macros + kernel) == diag::CodeTooLarge);
  std::string values = "b = (1, 2)\n";
  for (int i = 0; i < 60; ++i) values += "b = (b, b)\n";
  CHECK(said(values + program(kStatic, "        y = R.shape(b)\n", "x")) == diag::CodeTooLarge);
  values = "s = 'aaaa'\n";
  for (int i = 0; i < 60; ++i) values += "s = s + s\n";
  CHECK(said(values + program(kStatic, "", "x")) == diag::CodeTooLarge);
}

TEST_CASE("blow-up: one kernel of thousands of tensors is refused by name") {
  Quiet quiet;
  Session s(options(), &quiet);
  source::Diagnostics d;
  std::string items = "x";
  for (int i = 0; i < 3000; ++i) items += ", x";
  REQUIRE(s.load_text("concat.py", program(kStatic, "        y = R.concat((" + items + "), axis=0)\n", "y"), d));
  CHECK(s.build(d) == nullptr);
  REQUIRE(!d.all().empty());
  CHECK(d.all()[0].id == diag::CodeTooLarge);
  REQUIRE(!d.all()[0].notes.empty());
  CHECK(d.all()[0].notes[0].text.find("`y`") != std::string::npos);
}

TEST_CASE("blow-up: tuples nested at the prompt end with a message, and everything before them is there") {
  Quiet quiet;
  Session s(options(), &quiet);
  source::Diagnostics d;
  REQUIRE(s.enter("t = R.const(1)", d).ok);
  int depth = 0;
  for (; depth < 200; ++depth) {
    source::Diagnostics found;
    if (!s.enter("t = (t, t)", found).ok) {
      CHECK(found.all()[0].id == diag::TypeTooLarge);
      break;
    }
  }
  CHECK(depth > 10);
  CHECK(depth < 30);
  // Shown in part, typed as a whole, and usable.
  CHECK(runtime::format_value(*s.find_value("t")).size() < 200'000);
  source::Diagnostics after;
  CHECK(s.enter("u = t[0]", after).ok);
  CHECK(s.enter("v = R.const(7)", after).ok);
  CHECK(!after.has_errors());
}

TEST_CASE("blow-up: a flat tuple of thousands of fields is built and run") {
  Quiet quiet;
  Session s(options(), &quiet);
  source::Diagnostics d;
  std::string items = "x";
  for (int i = 0; i < 4000; ++i) items += ", x";
  REQUIRE(s.load_text("flat.py", program("x: R.Tensor((2,), \"float32\")", "        t = (" + items + ")\n", "t"), d));
  auto args = s.arguments("main", {}, d);
  REQUIRE(args);
  std::vector<runtime::Value> values;
  for (const session::Argument& a : *args) values.push_back(a.value);
  const session::RunResult result = s.run("main", values, d);
  REQUIRE(result.ok);
  CHECK(result.value.as_tuple().fields.size() == 4001);
}
