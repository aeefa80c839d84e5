// Fuzz target: libraries that TVM exported. An executable built from a module is put into a library, which is then
// damaged anywhere: the file is opened, listed, run and debugged, and none of its machine code runs.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "bytecode/library_image.h"
#include "fuzz/executable_input.h"
#include "fuzz/mutate.h"
#include "rldb/bytecode/exported_library.h"
#include "rldb/session/session.h"
#include "rldb/support/cancel.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".py", ".so"};

namespace {

// The library of a module; empty if the module cannot be built.
const std::string& library_of(const std::string& module) {
  static std::map<std::string, std::string> known;
  const auto [at, added] = known.emplace(module, "");
  std::string& bytes = at->second;
  if (!added) return bytes;
  ui::CapturedConsole console;
  ui::Repl repl(vm_line(), console);
  repl.guard("build", [&] {
    source::Diagnostics found;
    if (!repl.session().load_text("fuzz.py", module, found)) return ui::Status::Failed;
    const auto made = repl.session().serialise(found);
    if (made) bytes = testing::exported_library({{"relax.VMExecutable", *made}, {"_lib", ""}});
    return ui::Status::Good;
  });
  return bytes;
}

}  // namespace

std::string run_one(const std::string& input) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("rldb_fuzz_{}.so", ::getpid());
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
  std::string library = input.starts_with(ELFMAG) ? input : library_of(input);
  if (library.empty()) return mutate_bytes(input, pool, rng);
  Mutator mutator(rng);
  // Half of them in the frame: the header, and the ends of the file with lengths, kinds and sections.
  std::string tail = library.substr(library.size() - std::min<std::size_t>(library.size(), 400));
  if (below(rng, 2) == 0) {
    mutator.damage(library);
  } else {
    mutator.damage(tail);
    library.replace(library.size() - std::min<std::size_t>(library.size(), 400), std::string::npos, tail);
  }
  return library;
}

}  // namespace rldb::fuzz
