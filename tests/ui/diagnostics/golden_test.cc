// Every text of tests/diagnostics/<topic>/: the diagnostics are those in the file. RLDB_BLESS=1 rewrites the
// expectations.
#include "ui/diagnostics/golden.h"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace rldb;
using namespace rldb::diagnostics_test;

TEST_CASE("golden texts (RLDB_BLESS=1 rewrites them)") {
  const bool blessing = std::getenv("RLDB_BLESS") != nullptr;
  const auto files = golden_files();
  CHECK(!files.empty());
  for (const auto& file : files) {
    const Golden golden = read_golden(file);
    std::vector<source::DiagId> kinds;
    const std::string found = check(golden, kinds);
    if (blessing && found != golden.expected) bless(golden, found);
    if (!blessing) CHECK_MESSAGE(found == golden.expected, golden.name);
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
