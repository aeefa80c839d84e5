// Every text of tests/diagnostics/<topic>/: the diagnostics are those in the file.
#include "ui/batch/diagnostics/golden.h"

#include <doctest/doctest.h>

#include "golden/golden.h"

using namespace rldb;
using namespace rldb::diagnostics_test;

TEST_CASE("tests/diagnostics: programs and their diagnostics") {
  for (const auto& file : golden_files()) {
    const Golden golden = read_golden(file);
    std::vector<source::DiagId> kinds;
    golden::expect_file(file, golden.whole, with_expectation(golden, check(golden, kinds)));
  }
}

TEST_CASE("a recovery text has as many errors as its name says") {
  for (const auto& file : golden_files()) {
    const Golden golden = read_golden(file);
    if (!golden.name.starts_with("recovery/three_")) continue;
    std::vector<source::DiagId> kinds;
    check(golden, kinds);
    CHECK_MESSAGE(kinds.size() == 3, golden.name);
  }
}
