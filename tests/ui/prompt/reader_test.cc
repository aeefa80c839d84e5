#include "rldb/ui/prompt/reader.h"

#include <doctest/doctest.h>

using namespace rldb::ui;

TEST_CASE("entries, comments, prompts and expected output") {
  ScriptReader reader("# a comment\n\nrldb> :load x.py\n#| loaded x.py\n#|\n(rldb main:lv1) next\n:expect stop main\n");
  auto first = reader.next();
  REQUIRE(first);
  CHECK(first->text == ":load x.py");
  CHECK(first->line == 3);
  REQUIRE(first->expected.size() == 2);
  CHECK(first->expected[0] == "loaded x.py");
  CHECK(first->expected[1].empty());
  auto second = reader.next();
  REQUIRE(second);
  CHECK(second->text == "next");
  auto third = reader.next();
  REQUIRE(third);
  CHECK(third->text == ":expect stop main");
  CHECK(!reader.next());
}

TEST_CASE("a here-document is one entry up to its mark") {
  ScriptReader reader(":load <<END\nclass A:\n    pass\nEND\n:list\n");
  auto entry = reader.next();
  REQUIRE(entry);
  CHECK(entry->text == ":load <<END\nclass A:\n    pass\nEND");
  CHECK(reader.next()->text == ":list");
}

TEST_CASE("an unfinished here-document ends with the text") {
  ScriptReader reader(":load <<END\nx");
  auto entry = reader.next();
  REQUIRE(entry);
  CHECK(entry->text == ":load <<END\nx");
  CHECK(!reader.next());
}

TEST_CASE("TVMScript goes over as many lines as the tree wants") {
  ScriptReader reader(
      "@R.function\ndef f(x: R.Tensor((2,), \"float32\")):\n    y = R.add(x,\n        x)\n\n    return y\n\n:show f\n");
  auto entry = reader.next();
  REQUIRE(entry);
  CHECK(entry->text.find("return y") != std::string::npos);
  CHECK(reader.next()->text == ":show f");
}

TEST_CASE("a transcript's continuation prompts are stripped") {
  ScriptReader reader("rldb> R.add(x,\n...> y)\n");
  auto entry = reader.next();
  REQUIRE(entry);
  CHECK(entry->text == "R.add(x,\ny)");
}

TEST_CASE("an open bracket holds the lines up to the one that closes it") {
  ScriptReader reader(
      "y = f((a,\n  g(b, \")\"),  # )\n\nc = [d]\n  '[', 'it\\'s'),\n  \"\"\"(\n)\"\"\",\n  e)\nz = 1\n"
      "w = (1,\n]\nv = 2\n");
  CHECK(reader.next()->text.ends_with("\n  e)"));
  CHECK(reader.next()->text == "z = 1");
  CHECK(reader.next()->text == "w = (1,\n]");
  CHECK(reader.next()->text == "v = 2");
}
