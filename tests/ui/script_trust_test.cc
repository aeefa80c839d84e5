// Scripts not named on the command line: what they may not do without confirmation.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "ui/repl/entry/state.h"

using namespace rldb;
using namespace rldb::ui;

namespace {

// Temporary files.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / fmt::format("rldb_scripts_{}", ::getpid())) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string write(const char* name, const std::string& text) {
    const std::string path = at(name);
    std::ofstream(path) << text;
    return path;
  }
  std::string at(const char* name) const { return (path_ / name).string(); }
  bool has(const char* name) const { return std::filesystem::exists(path_ / name); }

 private:
  std::filesystem::path path_;
};

struct Prompt {
  explicit Prompt(CommandLine line = {}) : repl(line, console) {}
  CapturedConsole console;
  Repl repl;
};

}  // namespace

TEST_CASE("a sourced script runs no shell, loads no library and takes no protection away") {
  Folder folder;
  for (const char* entry :
       {"!touch TARGET", ":plugin TARGET", ":set trust-kernels on", ":set check-bounds off", ":set isolate off"}) {
    CAPTURE(entry);
    std::string text = entry;
    if (const auto at = text.find("TARGET"); at != std::string::npos) text.replace(at, 6, folder.at("made"));
    const std::string path = folder.write("inner.rldb", "# first\n" + text + "\n");
    Prompt p;
    CHECK(p.repl.execute(":source " + path) == Status::Failed);
    const std::string said = p.console.take();
    CHECK(said.find("inner.rldb`, line 2: a script that was not named on the command line may not") !=
          std::string::npos);
    CHECK(said.find("--trust-scripts") != std::string::npos);
    CHECK(!folder.has("made"));
    // An `:expect error` in the script cannot turn it into a yes.
    folder.write("inner.rldb", text + "\n:expect error \"not named\"\n");
    CHECK(p.repl.execute(":source " + path) == Status::Good);
    CHECK(!folder.has("made"));
    // Options that tighten security are free.
    folder.write("inner.rldb", ":set check-bounds on\n:set isolate on\n:set trust-kernels off\n");
    CHECK(p.repl.execute(":source " + path) == Status::Good);
    // The prompt itself may, also after a script was stopped.
    CHECK(p.repl.execute("!true") == Status::Good);
    CHECK(p.repl.execute(":set check-bounds off") == Status::Good);
  }
}

TEST_CASE("a script that was named may run a shell, what it sources may not") {
  Folder folder;
  const std::string inner = folder.write("inner.rldb", "!touch " + folder.at("inner") + "\n");
  const std::string outer = folder.write(
      "outer.rldb", "!touch " + folder.at("outer") + "\n:source " + inner + "\n!touch " + folder.at("after") + "\n");
  SUBCASE("on the command line") {
    Prompt p;
    p.repl.on_command_line = true;
    CHECK(p.repl.execute(":source " + outer) == Status::Failed);
    CHECK(folder.has("outer"));
    CHECK(!folder.has("inner"));
    CHECK(!folder.has("after"));
  }
  SUBCASE("as a named text") {
    Prompt p;
    CHECK(p.repl.run_script("!touch " + folder.at("outer") + "\n:source " + inner + "\n", "<stdin>", true) ==
          Status::Failed);
    CHECK(folder.has("outer"));
    CHECK(!folder.has("inner"));
  }
  SUBCASE("trusted") {
    CommandLine line;
    line.trust_scripts = true;
    Prompt p(line);
    CHECK(p.repl.execute(":source " + outer) == Status::Good);
    CHECK(folder.has("inner"));
    CHECK(folder.has("after"));
  }
}

TEST_CASE("at a terminal there is a question, and only a yes is a yes") {
  Folder folder;
  const std::string path = folder.write("inner.rldb", "!touch " + folder.at("made") + "\n");
  Prompt p;
  std::string asked;
  bool answer = false;
  p.repl.ask = [&](const std::string& question) {
    asked = question;
    return answer;
  };
  CHECK(p.repl.execute(":source " + path) == Status::Failed);
  CHECK(asked.find("line 1, wants to run a shell: \"touch ") != std::string::npos);
  CHECK(asked.ends_with("run it? (y/n) "));
  CHECK(!folder.has("made"));
  answer = true;
  CHECK(p.repl.execute(":source " + path) == Status::Good);
  CHECK(folder.has("made"));
}
