#include "rldb/support/python_keyword.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace rldb::support {

namespace {

// In order, so that those of one first letter are together.
constexpr std::array<std::string_view, 35> kKeywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

struct Range {
  std::uint8_t begin = 0, end = 0;
};
constexpr std::array<Range, 128> kByLetter = [] {
  std::array<Range, 128> ranges{};
  for (std::uint8_t i = 0; i < kKeywords.size(); ++i) {
    Range& r = ranges[static_cast<unsigned char>(kKeywords[i][0])];
    if (r.end == 0) r.begin = i;
    r.end = i + 1;
  }
  return ranges;
}();

}  // namespace

bool is_python_keyword(std::string_view word) {
  if (word.empty() || (word[0] & 0x80)) return false;
  const Range r = kByLetter[static_cast<unsigned char>(word[0])];
  return std::find(kKeywords.begin() + r.begin, kKeywords.begin() + r.end, word) != kKeywords.begin() + r.end;
}

}  // namespace rldb::support
