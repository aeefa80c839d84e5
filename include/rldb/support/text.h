// Text helpers that every reader needs. ASCII, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace rldb::support {

// The first line, with ` ...` if more follow; a line longer than `most` bytes ends in `...`.
inline std::string one_line(std::string_view text, std::size_t most = std::string_view::npos) {
  const std::size_t end = text.find('\n');
  std::string line(text.substr(0, end));
  if (end != std::string_view::npos) line += " ...";
  if (line.size() > most) line.replace(most, line.size(), "...");
  return line;
}

// `1 entry`, `2 entries`.
std::string counted(std::size_t count, std::string_view thing);

inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

inline std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace rldb::support
