// Memory runs out at any allocation of an entry: the entry is refused, the session is unchanged, and the same entry
// works when memory is available again.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "rldb/ir/printer.h"
#include "rldb/support/memory.h"
#include "rldb/ui/prompt/state.h"

using namespace rldb;
using namespace rldb::ui;

namespace {

// Everything that a user can see of a session.
std::string state_of(Repl& repl) {
  const support::MemoryLimitExempt exempt;
  std::string text = repl.session().module() ? ir::print(repl.session().module()) : "(no module)";
  text += fmt::format("\nversion {} of {}\n", repl.session().history().position(), repl.session().history().size());
  for (const session::NamedValue& v : repl.session().values().in_order())
    text += v.name + " = " + runtime::format_value(v.value) + "\n";
  for (const auto& [number, b] : repl.debugger().breakpoints())
    text += fmt::format("breakpoint {} at {} {}: {} hits, {} sites, {}\n", number, b.spec, b.condition, b.hits,
                        b.sites.size(), b.enabled);
  const debug::StopReport& stop = repl.debugger().last_stop();
  text += fmt::format("stop {} at {} {} time {}\n", int(stop.kind), stop.where.function, stop.where.pc, stop.time);
  for (const debug::FrameInfo& f : repl.debugger().frames())
    for (const debug::LocalInfo& l : repl.debugger().locals(f.number))
      text += fmt::format("#{} {} = {}\n", f.number, l.name, runtime::format_value(l.value));
  text += fmt::format("{} entered\n", repl.entered().size());
  return text;
}

struct Row {
  std::vector<std::string> before;
  std::string entry;
};

constexpr const char* kMlp = ":load " RLDB_SOURCE_DIR "/docs/examples/mlp.py";

void fail_everywhere(const Row& row) {
  CAPTURE(row.entry);
  CommandLine line;
  line.options.engine = session::Engine::Vm;
  CapturedConsole console;
  Repl repl(line, console);
  for (const std::string& entry : row.before) REQUIRE_MESSAGE(repl.execute(entry) == Status::Good, console.text());
  const std::string before = state_of(repl);
  std::size_t refused = 0;
  // Every one of the first, then fewer and fewer: there may be a million.
  for (std::uint64_t n = 1;; n += 1 + n / 24) {
    console.take();
    support::fail_allocation(n);
    Status status = Status::Good;
    bool thrown = false;
    try {
      status = repl.execute(row.entry);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    const bool failed = support::allocation_failed();
    support::fail_allocation(0);
    CAPTURE(n);
    REQUIRE(!thrown);
    if (status == Status::Good) {
      CHECK((!failed || state_of(repl) != before || refused > 0));
      break;
    }
    REQUIRE_MESSAGE(failed, console.text());
    ++refused;
    CHECK_MESSAGE(console.text().find("out of memory") != std::string::npos, console.text());
    REQUIRE(state_of(repl) == before);
  }
  CHECK(refused > 3);
}

}  // namespace

TEST_CASE("loading, editing and passes") {
  fail_everywhere({{}, kMlp});
  fail_everywhere({{kMlp}, kMlp});
  fail_everywhere({{kMlp}, "@R.function\ndef g(x: R.Tensor((\"n\", 4), \"float32\")):\n    return R.add(x, x)"});
  fail_everywhere({{kMlp}, ":run-pass LegalizeOps"});
  fail_everywhere({{kMlp, ":run-pass Normalize"}, ":pipeline LegalizeOps,AnnotateTIROpPattern"});
  fail_everywhere({{kMlp, ":run-pass LegalizeOps"}, ":undo"});
}

TEST_CASE("expressions and values") {
  fail_everywhere({{}, "x = R.const(41)"});
  fail_everywhere({{"x = R.const(41)"}, "R.add(x, R.const(1))"});
  fail_everywhere({{kMlp, "x = R.const(41)"}, "x = R.add(x, R.const(1))"});
  fail_everywhere({{}, ":input v 2x3xf32=1,2,3,4,5,6"});
}

TEST_CASE("runs and the debugger") {
  fail_everywhere({{kMlp}, ":run main"});
  fail_everywhere({{kMlp}, ":break main"});
  fail_everywhere({{kMlp, ":break main"}, ":run main"});
  fail_everywhere({{kMlp, ":start main"}, ":step"});
  fail_everywhere({{kMlp, ":start main", ":step"}, ":stepi"});
  fail_everywhere({{kMlp, ":start main", ":step", ":step"}, ":reverse-step"});
  fail_everywhere({{kMlp, ":start main", ":step"}, ":continue"});
  fail_everywhere({{kMlp, ":start main", ":step"}, ":print x"});
}
