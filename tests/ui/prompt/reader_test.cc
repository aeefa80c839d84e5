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

TEST_CASE("Relay text goes up to its last bracket; definitions that follow one another are one entry") {
  ScriptReader reader(
      "#[version = \"0.0.5\"]\ndef @main(%x: int32) {\n  @f(%x)\n}\n\n// it's called above\ndef @g(%x: int32)\n{ %x }\n"
      "def @f(%x: int32) {\n\n  %x }\n# another\ndef @f(%y: int32) { %y }\nextern type Opaque\n:show\n");
  CHECK(reader.next()->text ==
        "#[version = \"0.0.5\"]\ndef @main(%x: int32) {\n  @f(%x)\n}\n\n// it's called above\n"
        "def @g(%x: int32)\n{ %x }\ndef @f(%x: int32) {\n\n  %x }");
  CHECK(reader.next()->text == "def @f(%y: int32) { %y }\nextern type Opaque");
  CHECK(reader.next()->text == ":show");
  ScriptReader twice("def @f(%x: int32) { %x }\ndef @f(%y: int32) { %y }\ndef @f1(%y: int32) { %y }\n");
  CHECK(twice.next()->text == "def @f(%x: int32) { %x }");
  CHECK(twice.next()->text == "def @f(%y: int32) { %y }\ndef @f1(%y: int32) { %y }");
  // A name that begins another, and one in a comment, are not names that were defined.
  ScriptReader prefixes(
      "// def @f\ndef @foo(%x: int32) { @f(%x) }\n/* def @g\n def @h */\ndef @f(%x: int32) { %x }  // }\n"
      "// the end\n   :show\n");
  CHECK(prefixes.next()->text ==
        "def @foo(%x: int32) { @f(%x) }\n/* def @g\n def @h */\ndef @f(%x: int32) { %x }  // }\n// the end");
  CHECK(prefixes.next()->text == "   :show");
  // Nothing follows the metadata of a module, and a bracket that another one closes stays open for no line more.
  ScriptReader last(
      "def @f(%x: int32) { %x }\n#[metadata]\n{\"a\": \"\\\"{\"}\n\ndef @g() { 1 }\ndef @h() { (1 }\n:show\n");
  CHECK(last.next()->text == "def @f(%x: int32) { %x }\n#[metadata]\n{\"a\": \"\\\"{\"}");
  CHECK(last.next()->text == "def @g() { 1 }\ndef @h() { (1 }");
  CHECK(last.next()->text == ":show");
  ScriptReader one("#[version = \"0.0.5\"] def @main(%x: int32) { %x }\n:show\n");
  CHECK(one.next()->text == "#[version = \"0.0.5\"] def @main(%x: int32) { %x }");
  CHECK(one.next()->text == ":show");
}

TEST_CASE("whether Relay text wants more lines") {
  for (const char* open :
       {"#[version = \"0.0.5\"]", "def @f(%x: int32)", "def @f(%x: int32) {", "fn (%x: int32)", "let %x = 1;",
        "def @f() { /* }", "def @f() { \"}", "type L[A] {", "#[version = \"0.0.5\"]\ntype L[A]",
        "def @f() { 1 }\n#[metadata]", "def @f() { 1 }\n#[metadata]\n{\"a\": \"}\""})
    CHECK_MESSAGE(wants_more(open, false), open);
  for (const char* whole : {"def @f(%x: int32) { %x }", "def @f() { ) }", "let %x = 1;\n%x", "extern type T[A]",
                            "type L[A] { Nil, }", "def @f() { 1 }\n#[metadata]\n{\"a\": \"}\"}"})
    CHECK_MESSAGE(!wants_more(whole, false), whole);
  CHECK(wants_more("def @f() {\n", true));
  CHECK(!wants_more("def @f() {\n\n", true));  // two empty lines end it
  for (const char* script : {"type = 1", "fn(x)", "fn (x % 2)", "fn [0]", "fn (3)", "let = 2", "x % y"})
    CHECK_MESSAGE(!wants_more(script, false), script);
}

TEST_CASE("a module follows its metadata") {
  const std::string metadata = "metadata = tvm.ir.load_json(\"\"\"{\n  \\\"a\\\": 1\n}\"\"\")";
  const std::string module =
      "# from tvm.script import ir as I\n\n@I.ir_module\nclass M:\n    @R.function\n    def f():\n        return 1";
  const std::string both = metadata + "\n" + module + "\n\n:show\n";  // the reader keeps views of it
  ScriptReader reader(both);
  CHECK(reader.next()->text == metadata + "\n" + module);
  CHECK(reader.next()->text == ":show");
  const std::string script = metadata + "\n\n:show\n";
  ScriptReader alone(script);
  CHECK(alone.next()->text.starts_with(metadata));
  CHECK(alone.next()->text == ":show");
  CHECK(wants_more(metadata, false));
  CHECK(wants_more(metadata + "\n", true));
  CHECK(!wants_more(metadata + "\n\n", true));
  CHECK(!wants_more(metadata + "\nx = 1", false));
  CHECK(wants_more(metadata + "\nfrom tvm.script import ir as I\nimport tvm", false));
}

TEST_CASE("pasted values are entries of their own, definitions one entry") {
  using Entries = std::vector<std::string>;
  CHECK(pasted_entries("x = 1.5 + y\nfor i in range(3):\n    z = x\n\nx[0, :]") ==
        Entries{"x = 1.5 + y", "for i in range(3):\n    z = x", "x[0, :]"});
  CHECK(pasted_entries("if c:\n    z = x\nelse:\n    z = y\nz") == Entries{"if c:\n    z = x\nelse:\n    z = y", "z"});
  const std::string both = "@R.function\ndef f(x: R.Any):\n    return x\n\nf(x)";
  CHECK(pasted_entries(both) == Entries{both});
  CHECK(pasted_entries("x = 1\n:info").size() == 2);
  CHECK(pasted_entries("x = (1,\n2)") == Entries{"x = (1,\n2)"});
}

TEST_CASE("brackets in brackets over many lines are one entry") {
  std::string text = "x = (";
  for (int i = 0; i < 3000; ++i) text += "\n  (7, \"(\",  # (\n  [7]),";
  text += "\n)";
  const std::string script = text + "\ny = (1,\n2]\nz = 3\n";
  ScriptReader reader(script);
  CHECK(reader.next()->text == text);
  CHECK(reader.next()->text == "y = (1,\n2]");
  CHECK(reader.next()->text == "z = 3");
}

TEST_CASE("comments and empty lines in an open block belong to it, as in the language") {
  using Entries = std::vector<std::string>;
  for (const std::string text :
       {"if c:\n    z = x\n\nelse:\n    z = y", "if c:\n    z = x\n# otherwise\nelse:\n    z = y",
        "with R.dataflow():\n    d = x\n\n# out\n    R.output(d)",
        "for i in range(3):\n    z = R.add(z, x)\n# then\n    z = R.multiply(z, x)"}) {
    CHECK(pasted_entries(text) == Entries{text});
    const std::string script = text + "\n\n# the next\nw = z\n";
    ScriptReader reader(script);
    CHECK(reader.next()->text == text);
    CHECK(reader.next()->text == "w = z");
  }
}
