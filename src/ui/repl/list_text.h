// What the prompt knows of whoever reads its replies.
#pragma once

#include <cstddef>
#include <string_view>

namespace rldb::ui {

class Repl;

// Columns of the terminal that somebody sits at; without one, any number.
std::size_t columns_of_reader(const Repl& repl);
// A line of a list: `head`, and the text wrapped behind it.
void print_item(Repl& repl, std::string_view head, std::string_view text);

}  // namespace rldb::ui
