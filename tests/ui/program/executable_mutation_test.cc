// Damaged executables at the prompt: whatever a file contains, opening, listing, running and debugging it ends with an
// answer. Built from the examples. After a crash the file responsible is still in the temporary folder.
//
// RLDB_MUTATIONS=N tries N files instead of a few hundred, RLDB_MUTATION_SEED=S uses a different seed.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fuzz/executable_input.h"
#include "rldb/support/memory.h"

using namespace rldb;
using namespace rldb::ui;

namespace {

struct Example {
  const char* file;
  std::string call;  // the function and its arguments
};
const Example kExamples[] = {
    {"mlp.py", "main 2x4xf32=ones 4x8xf32=ones 8xf32=ones 8x3xf32=ones 3xf32=ones"},
    {"rfc_shapes.py", "shape_example 2x2x2xf32=ones"},
    {"rfc_cross_level.py", "relax_func 2x3xf32=ones 3x4xf32=ones"},
    {"attention.py", "main 3x8xf32=ones 8x8xf32=ones 8x8xf32=ones 8x8xf32=ones 8x8xf32=ones 8xf32=ones"},
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

TEST_CASE("no damage to an executable goes further than a diagnostic") {
  const std::size_t limit = support::memory_limit();
  support::set_memory_limit(std::size_t(768) << 20);
  const std::uint64_t count = from_environment("RLDB_MUTATIONS", 150);
  const std::uint64_t seed = from_environment("RLDB_MUTATION_SEED", 1);
  fuzz::Reached reached;
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("rldb_mutation_{}.rlvm", ::getpid())).string();
  for (const Example& example : kExamples) {
    CapturedConsole console;
    Repl repl(fuzz::vm_line(), console);
    source::Diagnostics d;
    REQUIRE(repl.session().load_file(fmt::format(RLDB_SOURCE_DIR "/docs/examples/{}", example.file), d));
    const auto bytes = repl.session().serialise(d);
    REQUIRE(bytes);
    const std::vector<fuzz::Part> parts = fuzz::split(*bytes);
    REQUIRE(parts.size() >= 4);
    for (std::uint64_t i = 0; i < count / std::size(kExamples); ++i) {
      std::mt19937_64 random(seed * 1'000'003 + i);
      fuzz::Mutator mutator(random);
      const std::string file = i == 0 ? *bytes : mutator.mutate(parts);
      std::ofstream(path, std::ios::binary | std::ios::trunc) << file;
      CAPTURE(example.file);
      CAPTURE(i);
      CHECK(fuzz::look_at(reached, path, example.call) == "");
    }
  }
  std::remove(path.c_str());
  support::set_memory_limit(limit);
  MESSAGE(count << " files, " << reached.opened << " opened, " << reached.started << " started");
  CHECK(reached.opened > int(count / 5));
  CHECK(reached.started > int(count / 10));
}
