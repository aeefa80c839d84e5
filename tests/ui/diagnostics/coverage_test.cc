// Every kind of diagnostic from parsing and verifying a text is shown by a golden text, or listed in
// tests/diagnostics/not_shown.txt, a list that only shrinks. RLDB_BLESS=1 rewrites the list.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "ui/diagnostics/golden.h"

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

Names listed_kinds(const std::string& path) {
  Names listed;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') listed.insert(line);
  return listed;
}

}  // namespace

TEST_CASE("every diagnostic of a text is shown by a golden text") {
  const std::string path = RLDB_SOURCE_DIR "/tests/diagnostics/not_shown.txt";
  Names missing = kinds_of_texts();
  for (const std::string& name : shown_kinds()) missing.erase(name);
  if (std::getenv("RLDB_BLESS") != nullptr) {
    std::ofstream out(path);
    out << "# Kinds of diagnostics that no text of this folder shows. The list only shrinks.\n";
    for (const std::string& name : missing) out << name << "\n";
  }
  const Names listed = listed_kinds(path);
  for (const std::string& name : missing) CHECK_MESSAGE(listed.count(name) == 1, name, " is shown by no golden text");
  for (const std::string& name : listed)
    CHECK_MESSAGE(missing.count(name) == 1, name, " is shown now: take it off the list");
}
