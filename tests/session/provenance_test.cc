// For every instruction it must be possible to find the source line it belongs to. Counted over the examples and the
// modules beside the tests; RLDB_PROVENANCE_DIR=DIR counts another folder and lists instructions without a line.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "rldb/bytecode/disassemble.h"
#include "rldb/session/session.h"

using namespace rldb;
using session::Session;

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

struct Count {
  std::size_t instructions = 0;
  std::size_t with_line = 0;
  std::map<std::string, std::size_t> without;  // by callee
};

void count(const std::string& path, Count& out) {
  Quiet quiet;
  session::Options options;
  options.engine = session::Engine::Vm;
  Session s(options, &quiet);
  source::Diagnostics d;
  if (!s.load_file(path, d)) return;
  const auto build = s.build(d);
  if (!build) return;
  const bytecode::Executable& exe = *build->executable;
  for (bytecode::Pc pc = 0; pc < exe.end(); ++pc) {
    ++out.instructions;
    const auto* debug = exe.debug.instruction(pc);
    if (debug && debug->location.line != 0)
      ++out.with_line;
    else
      ++out.without[bytecode::instruction_text(exe, pc).substr(0, 40)];
  }
}

}  // namespace

TEST_CASE("instructions know their line of the source") {
  const char* other = std::getenv("RLDB_PROVENANCE_DIR");
  Count all;
  for (const std::string& folder :
       other ? std::vector<std::string>{other}
             : std::vector<std::string>{RLDB_SOURCE_DIR "/docs/examples", RLDB_SOURCE_DIR "/tests/conformance/corpus"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".py") count(entry.path().string(), all);
  REQUIRE(all.instructions > 0);
  if (other)
    for (const auto& [text, n] : all.without) MESSAGE(n, "  ", text);
  INFO(all.with_line, " of ", all.instructions);
  CHECK(double(all.with_line) >= 0.95 * double(all.instructions));
}
