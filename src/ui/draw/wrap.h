// Text for readers: lines broken between words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rldb::ui {

// `head` and a text that is broken between words to stay within `width`, the lines after the first one indented as far
// as the head goes.
std::string wrapped(std::string_view head, std::string_view text, std::size_t width);

}  // namespace rldb::ui
