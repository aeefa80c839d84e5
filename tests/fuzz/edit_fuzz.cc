// Fuzz target: edits of a module. Started by scripts/fuzz.
#include <cstdio>
#include <cstdlib>

#include "fuzz/edit_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = rldb::fuzz::apply_edits(data, size);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}
