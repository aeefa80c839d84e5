// Fuzz target: any text. Started by scripts/fuzz.
#include <cstdio>
#include <cstdlib>

#include "fuzz/text_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = rldb::fuzz::read_text(std::string(reinterpret_cast<const char*>(data), size));
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}
