// Fuzz target: arbitrary text, as a file, as an entry and as text being typed.
#include "fuzz/mutate.h"
#include "fuzz/text_input.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".py"};

std::string run_one(const std::string& input) { return read_text(input); }
std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) { return mutate_text(input, pool, rng); }

}  // namespace rldb::fuzz
