// nearest(): the "did you mean" of every room.
#include <algorithm>
#include <array>
#include <limits>

#include "rldb/source/diagnostic.h"

namespace rldb::source {

namespace {

// Longer words are never misspelt names; the bound also makes the three rows plain arrays.
constexpr std::size_t kMaxWord = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Cost of one letter for another, in halves of an edit: only the case differs -> 1.
int letter_cost(char a, char b) { return a == b ? 0 : lower(a) == lower(b) ? 1 : 2; }

// Edit distance in half edits, with the swap of two neighbours as one edit.
int distance(std::string_view a, std::string_view b) {
  using Row = std::array<int, kMaxWord + 1>;
  Row before_previous{};
  Row previous{};
  Row current{};
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = static_cast<int>(2 * j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(2 * i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      int best = previous[j - 1] + letter_cost(a[i - 1], b[j - 1]);
      best = std::min({best, previous[j] + 2, current[j - 1] + 2});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) best = std::min(best, before_previous[j - 2] + 2);
      current[j] = best;
    }
    before_previous = previous;
    previous = current;
  }
  return previous[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.empty() || word.size() > kMaxWord) return {};
  std::string_view best;
  int best_distance = std::numeric_limits<int>::max();
  for (const std::string_view candidate : candidates) {
    if (candidate.empty() || candidate.size() > kMaxWord) continue;
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t shorter = std::min(word.size(), candidate.size());
    // A third of the letters may be wrong, at least one; a one-letter word matches only by case.
    const auto allowed = longer == 1 ? 1 : 2 * static_cast<int>(std::max<std::size_t>(1, longer / 3));
    if (static_cast<int>(2 * (longer - shorter)) > allowed) continue;
    const int d = distance(word, candidate);
    if (d <= allowed && d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace rldb::source
