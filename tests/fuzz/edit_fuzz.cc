// Fuzz target: edits of a text, compared with fresh parses.
#include "frontend/edit_texts.h"
#include "fuzz/edit_input.h"
#include "fuzz/mutate.h"

namespace rldb::fuzz {

// The edits are bytes in a format of their own, behind a module.
const std::vector<std::string> kSeedEndings{".edits", ".py"};

std::string run_one(const std::string& input) {
  return apply_edits(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  const std::size_t behind = input.find(kBehindText);
  std::string bytes = behind == input.npos ? std::string() : input.substr(behind + kBehindText.size());
  std::string text = input.substr(0, std::min({behind, input.size(), kMaxText}));
  const std::size_t kinds = std::size(frontend::testing::kEditTexts);
  if (behind == input.npos && below(rng, 2) == 0)
    text = frontend::testing::kEditTexts[below(rng, kinds)].text;
  else if (below(rng, 3) == 0)
    text = mutate_text(std::move(text), pool, rng);
  const std::size_t more = 20 + below(rng, 60);
  for (std::size_t i = 0; i < more; ++i) bytes += char(rng());
  if (behind != input.npos) bytes = mutate_bytes(std::move(bytes), pool, rng);
  return text + std::string(kBehindText) + bytes;
}

}  // namespace rldb::fuzz
