// `:save-script`: the contents of the script, and that running it gives the same session.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "rldb/ui/prompt/state.h"

using namespace rldb;
using namespace rldb::ui;
namespace fs = std::filesystem;

namespace {

struct ScriptFolder {
  ScriptFolder() {
    char name[] = "/tmp/rldb-saved-script-XXXXXX";
    path = ::mkdtemp(name);
    ::setenv("XDG_CONFIG_HOME", (path + "/config").c_str(), 1);
  }
  ~ScriptFolder() {
    ::unsetenv("XDG_CONFIG_HOME");
    fs::remove_all(path);
  }
  std::string operator/(const char* name) const { return path + "/" + name; }
  std::string path;
};

std::string bytes_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The entries of a saved script, without its first line.
std::string saved(Repl& repl, const ScriptFolder& folder) {
  CHECK(repl.execute(":save-script " + (folder / "saved")) == Status::Good);
  const std::string text = bytes_of(folder / "saved");
  return text.substr(text.find('\n') + 1);
}

}  // namespace

TEST_CASE("a saved script sets options, and leaves the settings of whoever runs it alone") {
  const ScriptFolder folder;
  CapturedConsole console;
  Repl repl({}, console);
  CHECK(repl.execute(":set --save list-lines 3") == Status::Good);
  CHECK(bytes_of(folder / "config/rldb/settings") == ":set list-lines 3\n");
  CHECK(saved(repl, folder) == ":set list-lines 3\n");
}

TEST_CASE("an entry that failed and changed something does not end the script that has it") {
  const ScriptFolder folder;
  CapturedConsole console;
  Repl repl({}, console);
  CHECK(repl.execute("for i in range(2):\n    a = R.const(i)\n    nothing\n") == Status::Failed);
  CHECK(repl.execute("b = R.const(2)") == Status::Good);
  CHECK(repl.execute("nothing") == Status::Failed);
  const std::string text = saved(repl, folder);
  CHECK(text == "for i in range(2):\n    a = R.const(i)\n    nothing\n:expect error\nb = R.const(2)\n");
  Repl again({}, console);
  CHECK(again.run_script(text, "saved", true) == Status::Good);
  CHECK(again.execute(":expect error \"x\"") == Status::Failed);
  CHECK(saved(again, folder) == text);
  // An expectation of the user's own stands for it.
  CHECK(again.execute("for i in range(2):\n    nothing\n") == Status::Failed);
  CHECK(again.execute(":expect error \"nothing\"") == Status::Good);
  CHECK(saved(again, folder) == text + "for i in range(2):\n    nothing\n:expect error \"nothing\"\n");
}

TEST_CASE("a sourced script is in a saved one once, by its entries") {
  const ScriptFolder folder;
  std::ofstream(folder / "inner") << "a = R.const(1)\n:nonsense\n:expect error \"unknown\"\n";
  CapturedConsole console;
  Repl repl({}, console);
  CHECK(repl.execute(":source " + (folder / "inner")) == Status::Good);
  CHECK(repl.execute("a = R.const(2)") == Status::Good);
  const std::string text = saved(repl, folder);
  CHECK(text == ":source " + (folder / "inner") +
                    " <<END\na = R.const(1)\n:nonsense\n:expect error \"unknown\"\nEND\na = R.const(2)\n");
  fs::remove(folder / "inner");
  Repl again({}, console);
  CHECK(again.run_script(text, "saved", true) == Status::Good);
  CHECK(saved(again, folder) == text);
}

TEST_CASE("comments in front of an entry belong to it") {
  CapturedConsole console;
  Repl repl({}, console);
  CHECK(repl.execute("# a number\n\n# of mine\na = R.const(7)") == Status::Good);
  CHECK(repl.session().find_value("a"));
  CHECK(repl.execute("# a command\n:expect value == 7") == Status::Good);
  CHECK(repl.execute("# nothing\n# at all") == Status::Good);
  console.take();
  CHECK(repl.execute("# the line of what is wrong\nb = R.nothing(a)") == Status::Failed);
  CHECK(console.take().find(":2:5: error") != std::string::npos);
}

TEST_CASE("a script that stops says how much of it was not executed") {
  const auto told = [](const char* text) {
    CapturedConsole console;
    Repl repl({}, console);
    CHECK(repl.run_script(text, "script") == Status::Failed);
    return console.take();
  };
  CHECK(told(":nonsense\n").ends_with("script:1: stopped here\n"));
  CHECK(told("R.const(1)\n:nonsense\n# a comment\nR.const(2)\n")
            .ends_with("script:2: stopped here; the entry after it was not executed\n"));
  CHECK(told(":nonsense\na = R.const(2)\n\n:expect value == 2\nR.const(3)\n")
            .ends_with("script:1: stopped here; the 3 entries after it were not executed\n"));
}

TEST_CASE("a number that is not as expected has no index") {
  CapturedConsole console;
  Repl repl({}, console);
  CHECK(repl.execute("R.const(3)") == Status::Good);
  CHECK(repl.execute(":expect value == 4") == Status::Failed);
  CHECK(console.take().find("the value is not as expected: 3, expected 4;") != std::string::npos);
}
