// Scripts not named on the command line: what they may not do without confirmation.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "rldb/ui/prompt/state.h"

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

namespace {

// A place where a script can leave an entry that is executed later, by the user's doing. `ACT` in `leave` is the entry;
// `trigger` is what the user types.
struct Store {
  const char* name;
  const char* leave;
  std::vector<std::string> trigger;
  bool executes = true;  // false: the place takes no commands
};

const std::vector<Store>& stores() {
  static const std::vector<Store> all{
      {"commands of a breakpoint", ":break main\n:commands 1\nACT\nend\n", {":run main"}},
      {"commands of a watchpoint", ":start main\n:watch x\n:commands 1\nACT\nend\n:kill\n", {":run main"}, false},
      {"an alias", ":alias zz = ACT\n", {"zz"}},
      {"an alias with a colon", ":alias zz = ACT\n", {":zz"}},
      {"an alias in the commands of a breakpoint",
       ":alias zz = ACT\n:break main\n:commands 1\nzz\nend\n",
       {":run main"},
       false},
      {"an alias for a part", ":alias zz = PART\n", {"zz ARGUMENT"}},
      {"a display", ":display ACT\n", {":start main"}, false},
      {"a condition", ":break main if ACT\n", {":run main"}, false},
      {"a log point", ":dprintf main, \"{ACT}\"\n", {":run main"}, false},
      {"a definition", "made = ACT\n", {"made"}, false},
  };
  return all;
}

std::string with(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

const char* const kProgram =
    ":load <<END\n@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), \"float32\")) -> "
    "R.Tensor((2,), \"float32\"):\n        y = R.add(x, x)\n        return y\nEND";

std::string script_for(const Store& store, const Folder& folder) {
  const std::string part = "!touch", argument = folder.at("made");
  return with(with(store.leave, "ACT", part + " " + argument), "PART", part);
}

void trigger(Repl& repl, const Store& store, const Folder& folder) {
  for (const std::string& entry : store.trigger) repl.execute(with(entry, "ARGUMENT", folder.at("made")));
}

}  // namespace

TEST_CASE("what a script leaves behind has the rights of the script, whoever triggers it") {
  for (const Store& store : stores()) {
    CAPTURE(store.name);
    Folder folder;
    const std::string path = folder.write("inner.rldb", script_for(store, folder));
    {
      Prompt p;
      p.repl.execute(kProgram);
      p.repl.execute(":source " + path);
      p.console.take();
      trigger(p.repl, store, folder);
      CHECK(!folder.has("made"));
      if (store.executes) CHECK(p.console.take().find("inner.rldb`, line ") != std::string::npos);
      // A saved script carries it on, also when it is named.
      CHECK(p.repl.execute(":save-script " + folder.at("saved.rldb")) == Status::Good);
    }
    {
      Prompt p;
      p.repl.on_command_line = true;
      p.repl.execute(":source " + folder.at("saved.rldb"));
      p.repl.on_command_line = false;
      p.console.take();
      trigger(p.repl, store, folder);
      CHECK(!folder.has("made"));
      if (store.executes) CHECK(p.console.take().find("inner.rldb`, line ") != std::string::npos);
    }
    // The same written by the user acts.
    if (!store.executes) continue;
    Prompt p;
    p.repl.execute(kProgram);
    p.repl.run_script(script_for(store, folder), "<stdin>", true);
    trigger(p.repl, store, folder);
    CHECK(folder.has("made"));
  }
}

TEST_CASE("a reproduction of a script's entry has the rights of the script") {
  Folder folder;
  const std::string path = folder.write("inner.rldb", "!touch " + folder.at("made") + "\n");
  Prompt p;
  p.repl.execute(kProgram);
  p.repl.execute(":source " + path);
  if (p.repl.execute(":save-repro " + folder.at("r.session")) == Status::Good) {
    Prompt q;
    q.repl.on_command_line = true;
    q.repl.execute(":source " + folder.at("r.session"));
    CHECK(!folder.has("made"));
  }
}

TEST_CASE("a sourced script writes no files") {
  Folder folder;
  for (const char* entry : {":save FILE", ":save-script FILE", ":html FILE", ":save-value 1 FILE", ":graph -o FILE.svg",
                            ":storage -o FILE.svg", ":plot 1 -o FILE.svg", ":save-repro FILE"}) {
    CAPTURE(entry);
    const std::string path = folder.write("inner.rldb", with(entry, "FILE", folder.at("made")) + "\n");
    Prompt p;
    p.repl.execute(kProgram);
    CHECK(p.repl.execute(":source " + path) == Status::Failed);
    CHECK(!folder.has("made"));
    CHECK(!folder.has("made.svg"));
  }
}

TEST_CASE("a script that ends in the lines of an entry says which line is missing") {
  Folder folder;
  for (const auto& [script, mark] : {std::pair<const char*, const char*>{":define a\nbt\nR.const(1)\n", "`end`"},
                                     {":load <<STOP\n# text\n", "`STOP`"}}) {
    CAPTURE(script);
    Prompt p;
    CHECK(p.repl.execute(":source " + folder.write("open.rldb", script)) == Status::Failed);
    CHECK(p.console.take().find(fmt::format("the line {} that ends", mark)) != std::string::npos);
    CHECK(p.repl.execute(":source " + folder.write("closed.rldb", ":define a\nbt\nend\n")) == Status::Good);
  }
}
