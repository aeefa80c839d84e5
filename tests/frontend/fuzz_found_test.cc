// Earlier findings of the fuzz targets: tests/fuzz/found, `text_*` and `edit_*`.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz/edit_input.h"
#include "fuzz/text_input.h"

namespace rldb::fuzz {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::stringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

TEST_CASE("what the fuzzer found stays mended") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RLDB_SOURCE_DIR "/tests/fuzz/found")) {
    const std::string name = entry.path().filename();
    INFO(name);
    const std::string input = contents(entry.path());
    ++count;
    if (name.starts_with("text_")) {
      CHECK(read_text(input) == "");
    } else {
      CHECK(apply_edits(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()) == "");
    }
  }
  CHECK(count > 0);
}

}  // namespace
}  // namespace rldb::fuzz
