// Which arguments were generated: all of a few, the first of many.
#include "rldb/session/generated.h"

#include <doctest/doctest.h>

using namespace rldb;

TEST_CASE("generated arguments: a few are all named, of many the first") {
  std::vector<session::Argument> arguments;
  const auto add = [&](bool generated) {
    arguments.push_back({"p" + std::to_string(arguments.size()), runtime::Value::of_int(7), generated});
  };
  add(false);
  CHECK(session::generated_lines(arguments).empty());
  add(true);
  REQUIRE(session::generated_lines(arguments).size() == 1);
  CHECK(session::generated_lines(arguments)[0].starts_with("generated p1 = "));
  for (int i = 0; i < 11; ++i) add(true);
  CHECK(session::generated_lines(arguments).size() == 12);
  add(true);
  const std::vector<std::string> lines = session::generated_lines(arguments);
  REQUIRE(lines.size() == 9);
  CHECK(lines[7].starts_with("generated p8 = "));
  CHECK(lines[8] == "generated 5 more, p9 to p13");
}
