#include "rldb/ui/render/wrap.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ui/render/table.h"

namespace rldb::ui {

std::string wrapped(std::string_view head, std::string_view text, std::size_t width) {
  constexpr std::size_t kNarrowest = 16;  // a text with less room starts on its own line
  std::string out(head), indent(width_of(head), ' ');
  if (width < indent.size() + kNarrowest) {
    indent = "    ";
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n" + indent;
  }
  std::size_t column = indent.size();
  bool first = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!first && column + 1 + width_of(word) > width) {
      out += "\n" + indent;
      column = indent.size();
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width_of(word);
    first = false;
    at = end + 1;
  }
  return out;
}

}  // namespace rldb::ui
