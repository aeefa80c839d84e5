#include "rldb/ui/prompt/command.h"

#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "ui/prompt/commands/command_docs.h"
#include "ui/prompt/commands/help_text.h"

using namespace rldb::ui;

TEST_CASE("names, aliases and unique prefixes find commands") {
  REQUIRE(find_command("break").command);
  CHECK(find_command("b").command->name == "break");
  CHECK(find_command("heap").command->name == "heap");
  CHECK(find_command("registers").command->name == "registers");
  CHECK(find_command("vali").command->name == "validate");
  const Lookup ambiguous = find_command("re");
  CHECK(!ambiguous.command);
  CHECK(ambiguous.candidates.size() > 1);
  const Lookup near = find_command("brek");
  CHECK(!near.command);
  REQUIRE(near.candidates.size() == 1);
  CHECK(near.candidates[0] == "break");
}

TEST_CASE("every command has an example in docs/help, which is really run") {
  // Commands without a reproducible reply to show: times, machine code, libraries, the user's folders.
  const std::set<std::string_view> without{"alias", "asm", "llvm", "plugin", "resume", "time", "tour", "trust"};
  for (const Command& c : commands()) CHECK_MESSAGE((!example_of(c).empty()) != (without.count(c.name) == 1), c.name);
}

TEST_CASE("topics are shown as at the prompt") {
  const std::string text = transcript("# A title.\n:set seed 1\n# More\nR.const(1)\n#| Tensor\n#| 1\n");
  CHECK(text == "A title.\nrldb> :set seed 1\n\nMore\nrldb> R.const(1)\nTensor\n1\n");
  const std::string_view long_comment =
      "# One two three four five six seven eight nine\n:quit\n#| a reply that is long\n";
  CHECK(transcript(long_comment, 30) ==
        "One two three four five six\nseven eight nine\nrldb> :quit\na reply that is long\n");
  CHECK(find_help_session("stepping"));
  CHECK(!find_help_session("nothing"));
  CHECK(tour_steps().size() > 10);
}

TEST_CASE("misspelt words") {
  CHECK(nearest_command("contnue") == "continue");
  CHECK(nearest_command("def").empty());
  CHECK(nearest_command("lv1").empty());
  CHECK(nearest_command("from").empty());
}

TEST_CASE("no name or alias is taken twice") {
  std::set<std::string> seen;
  for (const Command& c : commands()) {
    CHECK_MESSAGE(seen.insert(std::string(c.name)).second, c.name);
    for (const std::string& alias : split_words(c.aliases)) CHECK_MESSAGE(seen.insert(alias).second, alias);
  }
}

TEST_CASE("only debugger verbs work bare, and by full name or alias only") {
  CHECK(find_bare_verb("next"));
  CHECK(find_bare_verb("n"));
  CHECK(!find_bare_verb("nex"));
  CHECK(!find_bare_verb("load"));
  CHECK(!find_bare_verb("run-pass"));
}

TEST_CASE("words hold quotes together") {
  const auto words = split_words("  a \"b c\"  d='e f' it's ");
  REQUIRE(words.size() == 4);
  CHECK(words[1] == "b c");
  CHECK(words[2] == "d=e f");
  CHECK(words[3] == "it's ");
  CHECK(split_values("main (2xf32=1,2; 3) x=[1, 2] y") ==
        std::vector<std::string>{"main", "(2xf32=1,2; 3)", "x=[1, 2]", "y"});
  CHECK(split_values("a ) b (c d") == std::vector<std::string>{"a", ")", "b", "(c d"});
}

TEST_CASE("docs/commands.md is current: scripts/gen_docs") {
  std::ifstream in(RLDB_SOURCE_DIR "/docs/commands.md");
  std::stringstream text;
  text << in.rdbuf();
  CHECK(text.str() == commands_markdown());
}

TEST_CASE("the tables of docs/expressions.md are current: scripts/gen_docs") {
  std::ifstream in(RLDB_SOURCE_DIR "/docs/expressions.md");
  std::stringstream text;
  text << in.rdbuf();
  const auto tables = text.str().find("## Tables");
  REQUIRE(tables != std::string::npos);
  CHECK(text.str().substr(tables) == expressions_markdown());
}

TEST_CASE("the types of docs/json.md are current: scripts/gen_docs") {
  std::ifstream in(RLDB_SOURCE_DIR "/docs/json.md");
  std::ostringstream text;
  text << in.rdbuf();
  const auto types = text.str().find("## Types\n");
  REQUIRE(types != std::string::npos);
  CHECK(text.str().substr(types) == replies_markdown());
}
