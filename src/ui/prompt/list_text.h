// Facts about the reader of the prompt's replies.
#pragma once

#include <cstddef>
#include <string_view>

namespace rldb::ui {

class Repl;

// Columns of the user's terminal; unlimited without one.
std::size_t columns_of_reader(const Repl& repl);
// A line of a list: `head`, followed by the wrapped text.
void print_item(Repl& repl, std::string_view head, std::string_view text);

}  // namespace rldb::ui
