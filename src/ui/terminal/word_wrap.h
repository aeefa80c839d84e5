// Sentences on a terminal: lines that are too long are broken between words, not where the terminal happens to end.
#pragma once

#include <string>
#include <string_view>

namespace rldb::ui {

// Lines of more than `width` columns are continued on lines with an indentation, rows of tables and listings under
// their text. Other lines that begin with a blank stay: source, which may be copied. Colours take no columns.
std::string break_between_words(std::string_view text, int width);

// Bytes of the escape sequence at the start of the text; 1 if there is none.
std::size_t escape_length(std::string_view text);

}  // namespace rldb::ui
