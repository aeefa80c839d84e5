// Characters of an entry as the terminal shows them: how many bytes one has, how many columns it takes. UTF-8 and the
// tables of utf8proc, whatever the locale. Users: the line editor, layout, listings of completions,
// lines of progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rldb::ui {

// Length in bytes of the code point at the start of a text that is not empty, and the code point. A byte that begins
// none is its own code point and has length 1.
std::size_t decode(std::string_view text, std::int32_t& c);
// A character is what the cursor passes in one step: a code point with the marks and joined code points after it.
std::size_t next_character(std::string_view text, std::size_t at);
std::size_t previous_character(std::string_view text, std::size_t at);

// A character as it is shown. Nothing of it is obeyed by the terminal: a control character is ^X; what has no shape of
// its own, or is not UTF-8, is the replacement character.
struct ShownCharacter {
  std::string text;
  int columns = 0;
  bool uncertain = false;  // terminals differ in how wide they draw it
};
ShownCharacter shown_character(std::string_view character);
// Of a text without line breaks.
int columns_of(std::string_view text);
// As much of such a text as fits, as it is shown.
std::string first_columns(std::string_view text, int width);

}  // namespace rldb::ui
