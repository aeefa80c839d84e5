// Edits of a text at random: bytes, pieces of syntax, words, lines. Used by the tests of documents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace rldb::frontend::testing {

class Vandal {
 public:
  Vandal(std::uint32_t seed, std::span<const std::string_view> pieces) : random_(seed), pieces_(pieces) {}

  std::uint32_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::uint32_t>(random_() % n); }

  struct Change {
    std::uint32_t begin, end;
    std::string text;
  };
  Change change(std::string_view text) {
    switch (below(8)) {
      case 0: {  // removes a few bytes
        const std::uint32_t at = below(text.size());
        return {at, std::min<std::uint32_t>(at + 1 + below(6), std::uint32_t(text.size())), ""};
      }
      case 1: {  // inserts a piece of syntax
        const std::uint32_t at = below(text.size() + 1);
        return {at, at, std::string(pieces_[below(pieces_.size())])};
      }
      case 2: {  // removes a line
        const auto [b, e] = line(text);
        return {b, e, ""};
      }
      case 3: {  // repeats a line, here or elsewhere
        const auto [b, e] = line(text);
        const auto [at, after] = line(text);
        return {at, at, std::string(text.substr(b, e - b))};
      }
      case 4: {  // replaces one word by another
        const auto [b, e] = word(text);
        const auto [b2, e2] = word(text);
        return {b, e, std::string(text.substr(b2, e2 - b2))};
      }
      case 5: {  // indentation
        const auto [b, e] = line(text);
        if (below(2)) return {b, b, "    "};
        return {b, std::min(b + 4, e), ""};
      }
      case 6: {  // lengthens a word
        const auto [b, e] = word(text);
        return {e, e, std::to_string(below(10))};
      }
      default: {  // changes a number
        const std::size_t at = text.find_first_of("0123456789", below(text.size()));
        if (at == std::string_view::npos) return {0, 0, ""};
        return {std::uint32_t(at), std::uint32_t(at + 1), std::to_string(below(10))};
      }
    }
  }

 private:
  std::pair<std::uint32_t, std::uint32_t> line(std::string_view text) {
    const std::uint32_t at = below(text.size());
    const std::size_t b = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    const std::size_t e = text.find('\n', at);
    return {b == std::string_view::npos ? 0 : std::uint32_t(b + 1), std::uint32_t(std::min(e, text.size() - 1) + 1)};
  }
  std::pair<std::uint32_t, std::uint32_t> word(std::string_view text) {
    static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const std::size_t b = text.find_first_of(kLetters, below(text.size()));
    if (b == std::string_view::npos) return {0, 0};
    return {std::uint32_t(b), std::uint32_t(std::min(text.find_first_not_of(kLetters, b), text.size()))};
  }
  std::mt19937 random_;
  std::span<const std::string_view> pieces_;
};

}  // namespace rldb::frontend::testing
