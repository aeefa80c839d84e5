// Text for readers: lines broken between words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rldb::ui {

// `head` and a text broken between words to stay within `width`, with the lines after the first one indented by the
// width of the head.
std::string wrapped(std::string_view head, std::string_view text, std::size_t width);

}  // namespace rldb::ui
