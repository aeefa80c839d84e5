// A scan of the text before the place; strings and comments are stepped over.
#include "frontend/cst/open_brackets.h"

#include <algorithm>

#include "frontend/cst/scan.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend::cst {

namespace {

void close(OpenBrackets& found, char c) {
  const char opener = c == ')' ? '(' : c == ']' ? '[' : '{';
  // The end of something that began before the text, say: what is open stays open.
  if (found.open.empty() || found.open.back().text != opener)
    found.stray = true;
  else
    found.open.pop_back();
}

}  // namespace

OpenBrackets open_brackets(std::string_view text, std::size_t place) {
  constexpr std::string_view kMarks = "()[]{},#\"'";
  OpenBrackets found;
  for (std::size_t at = text.find_first_of(kMarks); at < place; at = text.find_first_of(kMarks, at)) {
    support::poll();
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"' || c == '\'') {
      bool open = false;
      at = skip_string(text, at, text.size(), open);
      found.in_long_string = open;
    } else {
      if (c == '(' || c == '[' || c == '{') found.open.push_back({static_cast<std::uint32_t>(at), c, 0});
      if (c == ',' && !found.open.empty()) ++found.open.back().commas;
      if (c == ')' || c == ']' || c == '}') close(found, c);
      ++at;
    }
  }
  return found;
}

}  // namespace rldb::frontend::cst
