// Characters of an entry as the terminal shows them: the number of bytes and columns of each. UTF-8 and the
// tables of utf8proc, whatever the locale. Users: the line editor, layout, lists of completions, lines of
// progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rldb::ui {

// Length in bytes of the code point at the start of a non-empty text, and the code point. A byte that does not begin
// one counts as its own code point with length 1.
std::size_t decode(std::string_view text, std::int32_t& c);
// A character is the unit of cursor movement: a code point with the marks and joined code points after it.
std::size_t next_character(std::string_view text, std::size_t at);
std::size_t previous_character(std::string_view text, std::size_t at);

// The displayed form of a character. The terminal never obeys any of it: a control character is ^X; one that has no
// shape of its own, or is not UTF-8, is the replacement character.
struct ShownCharacter {
  std::string text;
  int columns = 0;
  bool uncertain = false;  // terminals differ in how wide they draw it
};
ShownCharacter shown_character(std::string_view character);
// The width of a text without line breaks.
int columns_of(std::string_view text);
// As much of such a text as fits, in its displayed form.
std::string first_columns(std::string_view text, int width);

}  // namespace rldb::ui
