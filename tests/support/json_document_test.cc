// JSON from outside: bounds, cancellation, the memory limit.
#include "rldb/support/json_document.h"

#include <doctest/doctest.h>

#include <string>

#include "rldb/support/cancel.h"
#include "rldb/support/memory.h"

using namespace rldb::support;

TEST_CASE("json documents: nesting counts brackets outside of strings") {
  CHECK(json_nesting("") == 0);
  CHECK(json_nesting("1") == 0);
  CHECK(json_nesting(R"({"a": [1, [2]], "b": {}})") == 3);
  CHECK(json_nesting(R"(["[[[[", "\"[[", "\\"])") == 1);
  CHECK(json_nesting("]]]][[") == 0);
  CHECK(json_nesting("[[[") == 3);
  CHECK(json_nesting("\"[[[") == 0);
}

TEST_CASE("json documents: read, too deep, no JSON") {
  const auto good = read_json(R"({"a": [1, 2]})", 2);
  REQUIRE(good.ok());
  CHECK((**good)["a"][1] == 2);
  CHECK(read_json("[[[]]]", 2).error() == JsonProblem::TooDeep);
  CHECK(read_json("[1, ", 2).error() == JsonProblem::NotJson);
  CHECK(read_json("", 2).error() == JsonProblem::NotJson);
}

TEST_CASE("json documents: the memory limit refuses a text that would need more, and is kept by those it lets pass") {
  const std::size_t limit = memory_limit();
  for (const std::string_view value : {"[],", "{},", "\"\",", R"({"":{"":[]}},)"}) {
    std::string text = "[";
    for (int i = 0; i < 100000; ++i) text += value;
    text += "0]";
    const std::uint64_t most = most_json_memory(text);
    set_memory_limit(memory_in_use() + std::size_t(most / 2));
    CHECK(read_json(text, 9).error() == JsonProblem::TooLarge);
    set_memory_limit(memory_in_use() + std::size_t(most) + (std::size_t(4) << 20));
    const std::size_t before = memory_in_use();
    {
      const auto made = read_json(text, 9);
      REQUIRE(made.ok());
      CHECK(memory_in_use() - before < most + (std::size_t(1) << 20));
      set_memory_limit(memory_in_use());  // freeing takes memory: it does not fail
    }
    set_memory_limit(limit);
  }
}
