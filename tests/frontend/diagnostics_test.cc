#include <doctest/doctest.h>

#include "frontend/frontend_helper.h"

using frontend_reading = rldb::frontend::testing::Reading;

namespace {

// Each text, with all diagnostics and their places.
struct Case {
  const char* text;
  std::vector<std::string> messages;
};

void check(const Case& c) {
  frontend_reading r(c.text);
  CAPTURE(c.text);
  CHECK(r.messages() == c.messages);
  CHECK_FALSE(r.result.ok);
}

}  // namespace

TEST_CASE("three independent mistakes give three errors and no echo") {
  check({R"(@R.function
def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "flot32")):
    a = R.add(x, z)
    b = R.exp(a)
    c: R.Tensor((4, 4), "float32") = R.exp(x)
    return b
)",
         {"2:62: unknown dtype \"flot32\"", "3:18: `z` is not defined",
          "5:8: `c` is annotated `R.Tensor((4, 4), dtype=\"float32\")` but its value has type `R.Tensor((2, 3), "
          "dtype=\"float32\")`"}});
}

TEST_CASE("mistakes that users make") {
  check({"@R.function\ndef f(x: R.Tensor((1), \"float32\")):\n    return x\n",
         {"2:19: a shape must be a tuple; `(1)` is a number"}});
  check({"@R.function\ndef f(x):\n    return x\n", {"2:7: parameter `x` needs a type annotation"}});
  check({"@R.function\ndef f(x: R.Tensor((\"m + 1\",), \"float32\")):\n    return x\n", {"2:21: `m` is not defined"}});
  check({"@R.function\ndef f(x: R.Tensor(ndim=-2)):\n    return x\n",
         {"2:10: `ndim` must be between -1 (unknown) and 2147483647, found -2"}});
  check({"@R.function\ndef f(x: R.Any):\n    y = x\n", {"2:5: function `f` has no `return`"}});
  check({"@R.function\ndef f(x: R.Any):\n    return x\n    return x\n",
         {"4:5: a Relax function has one `return`, at its end"}});
}

TEST_CASE("dataflow blocks") {
  check({R"(@R.function
def f(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = R.exp(x)
        z = R.exp(y)
        R.output(z)
    w = R.add(y, z)
    return w
)",
         {"7:15: dataflow variable `y` is not visible outside of its block"}});
  check({R"(@R.function
def f(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = R.exp(x)
        R.output(y)
        R.output(y)
    return y
)",
         {"6:9: a dataflow block has one `R.output`"}});
}

TEST_CASE("branches") {
  check({R"(@R.function
def f(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
    if c:
        y = R.exp(x)
    else:
        z = R.exp(x)
    return z
)",
         {"6:9: the branches end in different names: `y` and `z`"}});
}

TEST_CASE("syntax") {
  check({"@R.function\ndef f(x: R.Any):\n    y = R.add(x, (x\n    return y\n", {"3:18: `(` is never closed"}});
  check({"@R.function\ndef f(x: R.Any):\n    s = \"abc\n    return x\n", {"3:9: this string is not terminated"}});
}

TEST_CASE("one bad statement does not drop the rest") {
  frontend_reading r(R"(@I.ir_module
class Module:
    @R.function
    def good(x: R.Tensor((2,), "float32")):
        y = R.exp(x)
        return y
    @R.function
    def bad(x: R.Tensor((2,), "float32")):
        y = R.exp(x) +
        z = R.exp(x)
        return z
)");
  CHECK_FALSE(r.result.ok);
  CHECK(r.function("good"));
  CHECK(r.diagnostics.error_count() == 1);
}

TEST_CASE("texts that are no text") {
  check({"", {"1:1: `test.py` contains no text"}});
  frontend_reading binary(std::string("abc\0def", 7));
  CHECK(binary.messages() == std::vector<std::string>{"1:4: `test.py` is not text: byte 3 is a zero byte"});
}

TEST_CASE("nesting without end does not end in a crash") {
  std::string deep = "@R.function\ndef f(x: R.Any):\n    y = " + std::string(100000, '(') + "x" +
                     std::string(100000, ')') + "\n    return x\n";
  frontend_reading r(deep);
  CHECK_FALSE(r.result.ok);
  CHECK(r.diagnostics.error_count() >= 1);
}
