#include "frontend/place.h"

#include <algorithm>

namespace rldb::frontend {

source::Span at_name(source::Span span, std::string_view text) {
  if (!span.file || span.end > text.size() || span.begin >= span.end) return span;
  std::string_view rest = text.substr(span.begin, span.end - span.begin);
  if (!rest.starts_with("@") && !rest.starts_with("def ")) return span;
  // Past the decorators, each on lines of its own, to the line that begins with `def`.
  std::size_t line = 0;
  while (line < rest.size()) {
    const std::size_t first = rest.find_first_not_of(" \t", line);
    if (first == std::string_view::npos) return span;
    if (rest.substr(first).starts_with("def ")) {
      const std::size_t name = rest.find_first_not_of(" \t", first + 4);
      const std::size_t end = name == std::string_view::npos ? name : rest.find_first_of("([: \t\r\n", name);
      if (end == std::string_view::npos) return span;
      span.end = span.begin + static_cast<std::uint32_t>(end);
      span.begin += static_cast<std::uint32_t>(name);
      return span;
    }
    const std::size_t eol = rest.find('\n', first);
    if (eol == std::string_view::npos) return span;
    line = eol + 1;
  }
  return span;
}

}  // namespace rldb::frontend
