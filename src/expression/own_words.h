// Words of the expression language that the grammar of modules lacks: `$a`, `@w.npy`, `x@3`, `%x`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/expression/expression.h"

namespace rldb::expression {

struct Word {
  TermKind kind = TermKind::Name;  // or File
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string text;  // of the term
};
// In the order of the text. `@` and `%` between two values are operators.
std::vector<Word> own_words(std::string_view text);

}  // namespace rldb::expression
