// A fuzz target under libFuzzer. RLDB_FUZZ_POOL names a file with the paths of seeds, one per line: mutations take
// pieces of them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "fuzz/target.h"
#include "rldb/support/file.h"

namespace {

const rldb::fuzz::Pool& pool() {
  static const rldb::fuzz::Pool all = [] {
    rldb::fuzz::Pool out;
    const char* list = std::getenv("RLDB_FUZZ_POOL");
    auto paths = rldb::support::read_file(list ? list : "");
    if (!paths.ok()) return out;
    std::istringstream lines(*paths);
    for (std::string path; std::getline(lines, path);)
      if (auto bytes = rldb::support::read_file(path); bytes.ok()) out.push_back(std::move(bytes).value());
    return out;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = rldb::fuzz::run_one(std::string(reinterpret_cast<const char*>(data), size));
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  rldb::fuzz::Rng rng(seed);
  const std::string made = rldb::fuzz::mutate_one(std::string(reinterpret_cast<const char*>(data), size), pool(), rng);
  const std::size_t n = std::min(made.size(), most);
  std::memcpy(data, made.data(), n);
  return n;
}
