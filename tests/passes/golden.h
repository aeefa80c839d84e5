// Golden tests of passes: text before, pipeline, text after. Compared structurally (names of variables do not count);
// the result must verify, print, and parse back to itself.
#pragma once

#include <string>
#include <string_view>

#include "rldb/passes/pass.h"

namespace rldb::passes::testing {

// Everything a run needs, kept alive while the module is in use.
struct Program {
  Program();
  ir::Context ctx;
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  // Null after errors, which are then in `text`.
  const ir::Module* parse(std::string_view text);
  std::string errors() const;
};

// Runs and compares; failures report where the two differ.
void check_golden(std::string_view pipeline, std::string_view before, std::string_view after);
// The pipeline fails with a message that contains `text`.
void check_fails(std::string_view pipeline, std::string_view before, std::string_view text);
// Runs and verifies; returns the printed result.
std::string run_text(std::string_view pipeline, std::string_view before);

}  // namespace rldb::passes::testing
