// The language of conditions: parsing and evaluation.
#include "rldb/expression/expression.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "runtime/made_values.h"

using namespace rldb;
using namespace rldb::expression;
using namespace rldb::runtime::testing;
using runtime::DType;
using runtime::Value;

namespace {

std::string result_of(std::string_view text) {
  static const std::map<std::string, Value, std::less<>> names{
      {"n", Value::of_int(7)},
      {"x", f32({2, 3}, {1, 2, 3, 4, 5, 6})},
      {"bad", f32({2}, {1, NAN})},
      {"one", f32({1}, {2.5})},
      {"t", Value::of_tuple({Value::of_int(3), f32({2}, {8, 9})})},
      {"s", Value::of_shape({4, 5})},
  };
  auto v = evaluate_text(text, [&](std::string_view name) -> runtime::Result<Value> {
    const auto it = names.find(name);
    if (it == names.end()) return runtime::fail(runtime::ErrorKind::UnknownFunction, "no " + std::string(name));
    return it->second;
  });
  if (!v.ok()) return "error: " + v.error().message;
  return show(*v);
}

}  // namespace

TEST_CASE("scalars follow Python") {
  CHECK(result_of("1 + 2 * 3") == "7");
  CHECK(result_of("(1 + 2) * -3") == "-9");
  CHECK(result_of("-7 // 2") == "-4");
  CHECK(result_of("-7 % 3") == "2");
  CHECK(result_of("7 / 2") == "3.5");
  CHECK(result_of("n % -2") == "-1");
  CHECK(result_of("1 < 2 < 3") == "True");
  CHECK(result_of("1 < 2 < 2") == "False");
  CHECK(result_of("not n == 7 or n >= 7") == "True");
  CHECK(result_of("1e3 == 1000") == "True");
  CHECK(result_of("1 // 0").find("division by zero") != std::string::npos);
  CHECK(result_of("-9223372036854775807 - 1") == "-9223372036854775808");
  CHECK(result_of("(-9223372036854775807 - 1) // -1") == "-9223372036854775808");
}

TEST_CASE("elements and facts of values") {
  CHECK(result_of("x[1, 2]") == "6.0");
  CHECK(result_of("x[-1, 0] > 3.5") == "True");
  CHECK(result_of("x[1]") == "[4. 5. 6.]");
  CHECK(result_of("x[1][0]") == "4.0");
  CHECK(result_of("x.shape[1] * n") == "21");
  CHECK(result_of("x.max - x.min") == "5.0");
  CHECK(result_of("x.has_nan") == "False");
  CHECK(result_of("bad.has_nan and bad.ndim == 1") == "True");
  CHECK(result_of("x.dtype == 'float32'") == "True");
  CHECK(result_of("t[1][0] + t[0]") == "11.0");
  CHECK(result_of("s[0] + s.ndim") == "6");
  CHECK(result_of("one > 2") == "[ True]");
}

TEST_CASE("the grammar is that of modules") {
  CHECK(result_of("1_000 + 0x10") == "1016");
  CHECK(result_of("x.dtype == 'float' \"32\"") == "True");
  CHECK(result_of("n  # the size") == "7");
  CHECK(result_of("n if x else 1").find("column 1, `if` expressions") != std::string::npos);
  CHECK(result_of("{n}").find("a set is not part of the expression language") != std::string::npos);
  CHECK(result_of("n in x").find("`in` is not an operator") != std::string::npos);
  CHECK(result_of("n = 7").find("column 3, `=` is not an operator") != std::string::npos);
}

TEST_CASE("words that modules lack") {
  const auto names = [](std::string_view text) {
    const auto read = parse(text);
    if (!read.ok()) return read.error().message;
    std::string joined;
    for (const std::string& name : names_of(*read)) joined += name + " ";
    return joined;
  };
  CHECK(names("$a + $1 * $ - $$") == "$a $1 $ $$ ");
  CHECK(names("x@3 + y @ 3") == "x@3 y ");
  CHECK(names("2 ** x@3") == "x@3 ");
  CHECK(names("x@3.5") == "x ");
  CHECK(names("%x + %0 % 2") == "x %0 ");
  CHECK(names("x %y") == "x y ");
  CHECK(names("x$a") == "cannot read `x$a`: column 2, unexpected `$a`");
  CHECK(names("'$a' == \"@f\"") == "");
  CHECK(parse("allclose(x, @a/b-c.npy)").value().terms[2].text == "a/b-c.npy");
  CHECK(parse("@\"a b.npz:c\"[0]").value().terms[0].text == "a b.npz:c");
  CHECK(names("x + @") == "cannot read `x + @`: column 5, the name of a file should follow `@`");
}

TEST_CASE("names that an expression looks up") {
  const auto names = [](std::string_view text) {
    std::string joined;
    for (const std::string& name : names_of(parse(text).value())) joined += name + " ";
    return joined;
  };
  CHECK(names("x[n, :m] + x.max(axis=k) > sum(y)") == "x n m k y ");
  CHECK(names("R.nn.relu(x) + cls.f(z)") == "x cls z ");
  CHECK(names("1 + 2") == "");
  CHECK(is_script(parse("R.add(x, (y, 1))").value()));
  CHECK(!is_script(parse("R.add(x, y)[0]").value()));
  CHECK(!is_script(parse("x + 1").value()));
}

TEST_CASE("what cannot be evaluated says why") {
  CHECK(result_of("x > 2 and n").find("is not a scalar") != std::string::npos);
  CHECK(result_of("x[2, 0]").find("index 2 is out of range: dimension 0 has 2") != std::string::npos);
  CHECK(result_of("x[0, 0, 0]").find("3 indices into a tensor of rank 2") != std::string::npos);
  CHECK(result_of("y + 1") == "error: no y");
  CHECK(result_of("n +").find("the text ends") != std::string::npos);
  CHECK(result_of("n n").find("column 3") != std::string::npos);
  CHECK(result_of("12abc").find("unexpected `abc`") != std::string::npos);
  CHECK(result_of("x.colour").find("has no `.colour`") != std::string::npos);
  CHECK(result_of(std::string(100'000, '(')).find("too long") != std::string::npos);
  CHECK(result_of(std::string(5'000, '(')).find("never closed") != std::string::npos);
  CHECK(result_of(std::string(5'000, '-') + "1").find("nested too deeply") != std::string::npos);
}

TEST_CASE("the undecided side only is looked at") {
  CHECK(result_of("n > 9 and y > 1") == "False");
  CHECK(result_of("n == 7 or x[99, 99] > 1") == "True");
  CHECK(result_of("n > 9 and y > 1 or n == 7") == "True");
  CHECK(result_of("n == 7 and y").find("no y") != std::string::npos);
}
