// Fuzz target: executables, built from a module or loaded from a file, damaged inside their sections.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "fuzz/executable_input.h"
#include "fuzz/mutate.h"
#include "rldb/session/session.h"
#include "rldb/support/cancel.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".py", ".rlvm"};

namespace {

// The executable built from a module; empty if it cannot be built.
const std::string& built(const std::string& module) {
  static std::map<std::string, std::string> known;
  const auto found_or_made = known.emplace(module, "");
  std::string& bytes = found_or_made.first->second;
  if (!found_or_made.second) return bytes;
  ui::CapturedConsole console;
  ui::Repl repl(vm_line(), console);
  repl.guard("build", [&] {
    source::Diagnostics found;
    if (!repl.session().load_text("fuzz.py", module, found)) return ui::Status::Failed;
    bytes = repl.session().serialise(found).value_or("");
    return ui::Status::Good;
  });
  return bytes;
}

}  // namespace

std::string run_one(const std::string& input) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("rldb_fuzz_{}.rlvm", ::getpid());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << input;
  support::clear_cancel();
  Reached reached;
  std::string bug;
  try {
    bug = look_at(reached, path.string(), "main");
  } catch (const support::Cancelled&) {
    // An alarm from the fuzzer, which uses the same signal.
  }
  std::filesystem::remove(path);
  return bug;
}

std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  std::vector<Part> parts = split(input);
  if (parts.empty()) parts = split(built(input));
  if (parts.empty()) return mutate_bytes(input, pool, rng);
  return Mutator(rng).mutate(parts);
}

}  // namespace rldb::fuzz
