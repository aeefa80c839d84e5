// Fuzz target: edits of a module, compared with fresh parses.
#include "fuzz/edit_input.h"
#include "fuzz/mutate.h"

namespace rldb::fuzz {

// The edits are bytes in a format of their own: no file is a seed.
const std::vector<std::string> kSeedEndings{".edits"};

std::string run_one(const std::string& input) {
  return apply_edits(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  std::string bytes = input;
  const std::size_t more = below(rng, 40);
  for (std::size_t i = 0; i < more; ++i) bytes += char(rng());
  return mutate_bytes(std::move(bytes), pool, rng);
}

}  // namespace rldb::fuzz
