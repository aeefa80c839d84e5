#include "rldb/ui/terminal/guarded.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "rldb/support/cancel.h"
#include "rldb/support/check.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/exit_code.h"

using namespace rldb;
using namespace rldb::ui;

namespace {

// Reports of bugs go to a folder of the test's own.
struct CacheFolder {
  CacheFolder() {
    char name[] = "/tmp/rldb-test-XXXXXX";
    REQUIRE(::mkdtemp(name));
    path = name;
    ::setenv("XDG_CACHE_HOME", name, 1);
  }
  ~CacheFolder() {
    ::unsetenv("XDG_CACHE_HOME");
    std::system(("rm -rf " + path).c_str());
  }
  std::string path;
};

Status bug() {
  RLDB_CHECK(false, "a planted bug");
  return Status::Good;
}

std::string written_path(const std::string& output) {
  const std::string mark = "wrote ";
  const auto at = output.find(mark);
  if (at == std::string::npos) return {};
  return output.substr(at + mark.size(), output.find('\n', at) - at - mark.size());
}

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("an entry that meets a bug is reported and the session goes on") {
  const CacheFolder cache;
  CapturedConsole console;
  Repl repl({}, console);
  REQUIRE(repl.execute("keep = R.const(42)") == Status::Good);
  REQUIRE(repl.execute("@R.function\ndef f(x: R.Tensor((2,), \"float32\")):\n    return R.add(x, x)") == Status::Good);
  const ir::Module* module = repl.session().module();
  console.take();
  CHECK(repl.guard("the_entry()", bug) == Status::Failed);
  CHECK(repl.last().exit_code == kInternal);
  const std::string output = console.take();
  CHECK(output.find("a planted bug") != std::string::npos);

  // The report contains the module, the values and the entry, and its contents can be loaded.
  const std::string report = file_text(written_path(output));
  CHECK(report.find("the_entry()") != std::string::npos);
  CHECK(report.find("def f(x: R.Tensor((2,), dtype=\"float32\"))") != std::string::npos);
  Repl again({}, console);
  CHECK(again.run_script(report.substr(0, report.find("the_entry()")), "report") == Status::Good);
  CHECK(again.session().module()->entries.size() == module->entries.size());
  CHECK(again.session().find_value("keep"));

  CHECK(repl.session().module() == module);
  CHECK(repl.execute("R.add(keep, keep)") == Status::Good);
  CHECK(repl.last().value->as_tensor().at(0) == 84);
}

TEST_CASE("the ways of not finishing have their own codes") {
  const auto code_of = [](const std::function<void()>& work, double seconds = 0) {
    const auto abandoned = run_guarded(work, seconds);
    return abandoned ? abandoned->exit_code : int(kGood);
  };
  CHECK(code_of([] {}) == kGood);
  CHECK(code_of([] { bug(); }) == kInternal);
  CHECK(code_of([] { throw std::bad_alloc(); }) == kFailed);
  CHECK(code_of([] {
          support::request_cancel(support::CancelCause::Interrupt);
          support::poll();
        }) == 128 + SIGINT);
  CHECK(code_of(
            [] {
              for (;;) support::poll();
            },
            0.01) == kTimeout);
  CHECK_FALSE(run_guarded([] { throw std::bad_alloc(); }, 0)->internal);
  CHECK(run_guarded([] { bug(); }, 0)->internal);
  support::clear_cancel();
}

namespace {

// Presses ^C when a text is written to it.
class InterruptingConsole : public CapturedConsole {
 public:
  explicit InterruptingConsole(std::string at) : at_(std::move(at)) {}
  void write(std::string_view text) override {
    CapturedConsole::write(text);
    if (text.find(at_) != std::string_view::npos) support::request_cancel(support::CancelCause::Interrupt);
  }

 private:
  std::string at_;
};

}  // namespace

TEST_CASE("^C in a script ends the script, in an outer one as well, and nothing else") {
  InterruptingConsole console("b =");
  Repl repl({}, console);
  const Status status = repl.guard(
      ":source script", [&] { return repl.run_script("a = R.const(1)\nb = R.const(2)\nc = R.const(3)\n", "script"); });
  CHECK(status == Status::Failed);
  CHECK(console.text().find("script:2: stopped here") != std::string::npos);
  CHECK(repl.session().find_value("b"));
  CHECK_FALSE(repl.session().find_value("c"));
  CHECK(repl.execute("c = R.const(3)") == Status::Good);
}

TEST_CASE("a time limit ends a shell command, and what it started") {
  CapturedConsole console;
  Repl repl({}, console);
  repl.timeout = 0.05;
  CHECK(repl.execute("!sleep 1000; sleep 1000") == Status::Failed);
  CHECK(repl.last().exit_code == kTimeout);
  repl.timeout = 0;
  CHECK(repl.execute("!exit 3") == Status::Failed);
  CHECK(repl.execute("!true") == Status::Good);
}

TEST_CASE("sizes") {
  CHECK(parse_size("1000") == 1000);
  CHECK(parse_size("64K") == 65536);
  CHECK(parse_size("512M") == std::size_t(512) << 20);
  CHECK(parse_size("1.5GiB") == (std::size_t(3) << 29));
  CHECK_FALSE(parse_size(""));
  CHECK_FALSE(parse_size("-1"));
  CHECK_FALSE(parse_size("4X"));
  CHECK_FALSE(parse_size("1e30"));
  CHECK(size_text(std::size_t(2) << 30) == "2 GiB");
}

TEST_CASE("what comes after an entry that was given up is not cancelled with it") {
  CapturedConsole console;
  Repl repl({}, console);
  for (const support::CancelCause cause : {support::CancelCause::Timeout, support::CancelCause::Interrupt}) {
    const Status status = repl.guard("work", [&] {
      support::request_cancel(cause);
      support::poll();
      return Status::Good;
    });
    CHECK(status == Status::Failed);
    CHECK_FALSE(support::cancel_flag().load());
    CHECK(support::cancel_cause() == cause);  // for the script that contained the entry
    CHECK_NOTHROW(support::poll());
  }
  support::clear_cancel();
}
