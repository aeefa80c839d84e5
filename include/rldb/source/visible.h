// Foreign text on a terminal: names, strings, paths, messages of the program being read. A character that a terminal
// obeys instead of showing (control characters, both halves of them; marks that change the direction of writing) is
// shown as an escape, and so is a byte that is not UTF-8. Used by the renderer of diagnostics and by the consoles.
#pragma once

#include <string>
#include <string_view>

namespace rldb::source {

// Would a terminal obey it? Line breaks and tabs count as shown.
bool is_obeyed(char32_t c);

struct VisibleOptions {
  bool line_breaks = true;  // stay, and tabs with them
  bool colours = false;     // of ours stay: the sequences that set the colour of text
};
std::string visible(std::string_view text, const VisibleOptions& options = {});

}  // namespace rldb::source
