// Every kind of diagnostic from parsing and verifying a text is shown by a golden text, or listed in
// tests/diagnostics/not_shown.txt, a list that only shrinks.
#include <doctest/doctest.h>

#include <set>

#include "golden/golden.h"
#include "ui/batch/diagnostics/golden.h"

using namespace rldb;
using namespace rldb::diagnostics_test;

namespace {

using Names = std::set<std::string>;

Names kinds_of_texts() {
  return {
#define RLDB_DIAG(id, severity, text, hint) #id,
#include "rldb/source/diagnostic_relay.def"
#include "rldb/source/diagnostic_script.def"
#include "rldb/source/diagnostic_syntax.def"
#include "rldb/source/diagnostic_type.def"
#include "rldb/source/diagnostic_verify.def"
#undef RLDB_DIAG
  };
}

Names shown_kinds() {
  Names shown;
  for (const auto& file : golden_files()) {
    std::vector<source::DiagId> kinds;
    check(read_golden(file), kinds);
    for (const source::DiagId id : kinds) shown.emplace(id.row().name);
  }
  return shown;
}

}  // namespace

TEST_CASE("tests/diagnostics/not_shown.txt: every diagnostic of a text is shown by a golden text") {
  if (golden::selective()) return;
  Names missing = kinds_of_texts();
  for (const std::string& name : shown_kinds()) missing.erase(name);
  std::string made = "# Kinds of diagnostics that no text of this folder shows. The list only shrinks.\n";
  for (const std::string& name : missing) made += name + "\n";
  const std::filesystem::path path = RLDB_SOURCE_DIR "/tests/diagnostics/not_shown.txt";
  golden::expect_file(path, golden::read(path), made);
}
