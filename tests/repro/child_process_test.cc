// Processes that try candidates.
#include "repro/reduce/child_process.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "rldb/support/shell.h"

using namespace rldb;

namespace {

// Polls for up to ten seconds.
template <class Holds>
bool comes_true(Holds holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// It may be left unreaped, as `Z`.
bool has_ended(pid_t process) {
  std::string id, name, state = "Z";
  std::ifstream(fmt::format("/proc/{}/stat", process)) >> id >> name >> state;
  return state == "Z";
}

}  // namespace

TEST_CASE("a process that is given up ends with the commands it runs") {
  const support::TemporaryFolder folder("child");
  const std::string file = folder.path() + "/pid";
  pid_t command = 0;
  {
    const repro::ChildProcess child({60}, [&] {
      support::run_shell(fmt::format("echo $$ > '{}'; sleep 60", file));
      return std::string("done");
    });
    REQUIRE(comes_true([&] { return bool(std::ifstream(file) >> command); }));
    CHECK(!has_ended(command));
  }
  CHECK(comes_true([&] { return has_ended(command); }));
}
