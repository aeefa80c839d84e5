// TemporaryNames: one search through the text of a function.
#include "frontend/script/temporary_names.h"

#include <algorithm>

namespace rldb::frontend::script {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<signed char>(c) < 0;
}

}  // namespace

TemporaryNames::TemporaryNames(std::string_view text) {
  // A function has fewer names than characters: no larger number is reached.
  const std::size_t limit = text.size();
  for (std::size_t at = text.find('v'); at != std::string_view::npos; at = text.find('v', at + 1)) {
    if (at == 0 || (text[at - 1] != 'l' && text[at - 1] != 'g') || (at > 1 && is_word(text[at - 2]))) continue;
    std::size_t number = 0, end = at + 1;
    for (; end < text.size() && text[end] >= '0' && text[end] <= '9' && number < limit; ++end)
      number = number * 10 + std::size_t(text[end] - '0');
    const bool bare = end == at + 1;
    if ((end < text.size() && is_word(text[end])) || (!bare && text[at + 1] == '0') || number >= limit) continue;
    std::vector<bool>& of = text[at - 1] == 'l' ? dataflow_ : plain_;
    if (of.size() <= number) of.resize(number + 1);
    of[number] = true;
  }
}

bool TemporaryNames::same(const TemporaryNames& other, int begin, int end) const {
  for (int n = begin; n < end; ++n)
    for (const bool dataflow : {false, true})
      if (is_written(dataflow, n) != other.is_written(dataflow, n)) return false;
  return true;
}

}  // namespace rldb::frontend::script
