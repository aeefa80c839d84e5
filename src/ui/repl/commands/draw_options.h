// Options of the commands that draw, and where a drawing goes.
#pragma once

#include <string>
#include <string_view>

#include "ui/repl/commands/command.h"

namespace rldb::ui {

struct DrawOptions {
  std::string file;  // -o FILE
  std::string kind;  // --kind=KIND
  bool ascii = false;
};
// Takes the options off the end of `text`. What is wrong with one, or empty.
std::string take_draw_options(std::string_view& text, DrawOptions& options);
// Asked for, or the terminal is a dumb one.
bool draws_ascii(const DrawOptions& options);
// Writes a file and says so; Failed after diagnosing.
Status write_drawing(Repl& repl, const std::string& path, std::string_view bytes);

}  // namespace rldb::ui
