// Executables: refusals of the verifier, the three file layouts, listings.
#include <doctest/doctest.h>

#include "rldb/relay/vm/executable.h"

using namespace rldb;
using namespace rldb::relay_bytecode;

namespace {

Executable one_function(const std::vector<std::vector<Word>>& code, std::int64_t registers = 3) {
  Executable exe;
  FunctionEntry f;
  f.name = "main";
  f.params = {"x"};
  f.register_file_size = registers;
  for (const auto& words : code) exe.add(words);
  f.end = exe.end();
  exe.functions.push_back(f);
  return exe;
}

std::string refusal(const std::vector<std::vector<Word>>& code, std::int64_t registers = 3) {
  const auto result = verify(one_function(code, registers));
  return result.ok() ? "" : result.error().message;
}

}  // namespace

TEST_CASE("the verifier") {
  CHECK(refusal({{0, 0, 1}, {1, 1}}).empty());
  CHECK(refusal({{0, 0, 3}, {1, 1}}) == "function `main`, instruction 0: register 3 of 3");
  CHECK(refusal({{0, -1, 1}, {1, 1}}).find("register -1") != std::string::npos);
  CHECK(refusal({{0, 0, 1}}) == "function `main`, instruction 0: the function runs off its end");
  CHECK(refusal({{12, 2}, {1, 0}}).find("the jump by 2 leaves the function") != std::string::npos);
  CHECK(refusal({{12, 0}, {1, 0}}).find("a jump to itself") != std::string::npos);
  CHECK(refusal({{10, 0, 0, 1, -1}, {1, 0}}).find("the jump by -1") != std::string::npos);
  CHECK(refusal({{2, 1, 1, 1, 0}, {1, 0}}).find("function 1 of 1") != std::string::npos);
  CHECK(refusal({{2, 0, 0, 1}, {1, 0}}).find("`main` takes 1 argument, 0 given") != std::string::npos);
  CHECK(refusal({{8, 0, 2, 1, 0, 0}, {1, 0}}).find("takes 1 argument, 2 given") != std::string::npos);
  CHECK(refusal({{11, 0, 0, 1}, {1, 0}}).find("constant 0 of 0") != std::string::npos);
  CHECK(refusal({{4, 0, 1, 2, 0}, {1, 0}}).find("primitive 0 of 0") != std::string::npos);
  CHECK(refusal({{5, 0, 0, 9, 9, 1, 0, 1}, {1, 0}}).find("unknown dtype") != std::string::npos);
  CHECK(refusal({{21}, {1, 0}}).find("unknown opcode 21") != std::string::npos);
  CHECK(refusal({{7, 1, 5, 1, 0}, {1, 0}}).find("wrong number of fields") != std::string::npos);
  CHECK(refusal({{1, 0}}, 1 << 20).find("are more than the code can use") != std::string::npos);
  CHECK(refusal({{0, 1, 2}, {1, 2}}) ==
        "function `main`, instruction 0: register 1 is read and nothing has written it");
  // Either branch may write it; a loop may have written it before.
  CHECK(refusal({{10, 0, 0, 1, 2}, {0, 0, 1}, {1, 1}}).empty());
  CHECK(refusal({{12, 2}, {1, 1}, {0, 0, 1}, {12, -2}}).empty());
  // The register of a storage block with a known shape means nothing.
  CHECK(refusal({{16, 99, 64, 2, 32, 1, 0, 1, 1, 4}, {1, 1}}).empty());
}

TEST_CASE("numbers of devices are in the table") {
  const auto refusal_of = [](void (*damage)(Executable&)) {
    Executable exe = one_function({{1, 0}}, 3);
    damage(exe);
    const auto result = verify(exe);
    return result.ok() ? "" : result.error().message;
  };
  CHECK(refusal_of([](Executable&) {}).empty());
  CHECK(refusal_of([](Executable& exe) { exe.host_device = 7; }) == "host device 7 of 1");
  CHECK(refusal_of([](Executable& exe) { exe.host_device = -1; }) == "host device -1 of 1");
  CHECK(refusal_of([](Executable& exe) { exe.functions[0].param_devices = {1}; }) == "device 1 of 1");
}

TEST_CASE("layouts by version; the Relax VM's version is none of them") {
  CHECK(layout_of("0.8.0") == Layout::A);
  CHECK(layout_of("0.11.dev0") == Layout::B);
  CHECK(layout_of("0.14.0") == Layout::C);
  CHECK_FALSE(layout_of("0.14"));
  CHECK_FALSE(layout_of("0.20.0"));
  CHECK_FALSE(layout_of("1.14.0"));
}

TEST_CASE("what is written reads back, in each layout") {
  for (const char* version : {"0.8.0", "0.10.0", "0.14.0"}) {
    Executable exe = one_function({{14, 7, 1}, {7, 0, 2, 2, 0, 1}, {1, 2}});
    exe.version = version;
    if (layout_of(version) == Layout::A) exe.devices.clear();
    exe.functions[0].param_devices = {0};
    const auto bytes = serialise(exe);
    REQUIRE(bytes.ok());
    CHECK(is_executable_file(*bytes));
    const auto again = load(*bytes);
    REQUIRE(again.ok());
    CHECK(as_text(*again) == as_text(exe));
    CHECK(serialise(*again).value() == *bytes);
    // Truncated at every byte: an error, and nothing else.
    for (std::size_t n = 0; n < bytes->size(); ++n) CHECK_FALSE(load(bytes->substr(0, n)).ok());
    // Each byte changed: accepted or refused.
    for (std::size_t n = 0; n < bytes->size(); ++n) {
      std::string damaged = *bytes;
      damaged[n] = char(damaged[n] ^ 0x41);
      if (const auto loaded = load(damaged); loaded.ok()) CHECK_FALSE(as_text(*loaded).empty());
    }
  }
}

TEST_CASE("a layout that has no such instruction") {
  Executable exe = one_function({{20, 1}, {1, 0}});
  exe.version = "0.8.0";
  const auto bytes = serialise(exe);
  REQUIRE_FALSE(bytes.ok());
  CHECK(bytes.error().message == "the layout of TVM 0.8.0 has no `kill_register $1`");
}

TEST_CASE("listings pad from layout B on") {
  Executable exe = one_function({{0, 0, 1}, {1, 1}});
  CHECK(as_text(exe) ==
        "VM Function[0]: main(x)\n# reg file size = 3\n# instruction count = 2\nopcode, fields # inst(text):\n"
        " 0: 0 0 1                                 # move $1 $0\n"
        " 1: 1 1                                   # ret $1\n\n");
  exe.version = "0.8.0";
  CHECK(as_text(exe).find(" 0: 0 0 1   # move $1 $0\n") != std::string::npos);
  CHECK(stats(exe) ==
        "Relay VM executable statistics:\n  Constant shapes (# 0): []\n  Globals (#1): [(\"main\", 0)]\n"
        "  Primitive ops (#0): []\n");
}
