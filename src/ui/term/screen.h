// Screen arithmetic for multi-line redisplay: how many columns a text takes, and where the cursor is after it.
// Escape sequences take none; UTF-8 characters take what wcwidth says.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rldb::ui {

struct ScreenPosition {
  int row = 0;
  int column = 0;
};

// Moves `at` over `text` on a terminal of `width` columns, wrapping as terminals do.
ScreenPosition advance(ScreenPosition at, std::string_view text, int width);
int terminal_width();
// The text as it can be shown: a control character as ^X, a byte that is no UTF-8 as the replacement character, so that
// nothing in an entry is obeyed by the terminal. Line breaks and tabs stay.
std::string displayable(std::string_view text);

}  // namespace rldb::ui
