// Splits texts at punctuation.
#include "rldb/support/bracketed.h"

#include "rldb/support/text.h"

namespace rldb::support {

std::string_view unquote(std::string_view s) {
  s = trim(s);
  if (s.size() >= 2 && (s.front() == '"' || s.front() == '\'') && s.back() == s.front())
    return s.substr(1, s.size() - 2);
  return s;
}

std::vector<std::string_view> split_items(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (quote != 0) {
      if (c == quote) quote = 0;
      if (i < text.size()) continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '}' || c == '>') --depth;
    if (i < text.size() && (c != ',' || depth > 0)) continue;
    if (const std::string_view item = trim(text.substr(begin, i - begin)); !item.empty()) items.push_back(item);
    begin = i + 1;
  }
  return items;
}

std::optional<std::vector<KeyValue>> split_dict(std::string_view text) {
  text = trim(text);
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return std::nullopt;
  std::vector<KeyValue> out;
  for (const std::string_view item : split_items(text.substr(1, text.size() - 2))) {
    // A key is a name or quoted, and a quoted key ends at the matching quote.
    const bool quoted = item.front() == '"' || item.front() == '\'';
    const std::size_t colon = item.find(':', quoted ? item.find(item.front(), 1) : 0);
    if (colon == std::string_view::npos) return std::nullopt;
    out.push_back({unquote(item.substr(0, colon)), trim(item.substr(colon + 1))});
  }
  return out;
}
}  // namespace rldb::support
