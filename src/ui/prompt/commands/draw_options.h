// Options of the commands that draw, and the output of a drawing.
#pragma once

#include <string>
#include <string_view>

#include "rldb/ui/prompt/command.h"

namespace rldb::ui {

struct DrawOptions {
  std::string file;  // -o FILE
  std::string kind;  // --kind=KIND
  bool ascii = false;
};
// Takes the options off the end of `text`. Returns the problem with one, or empty.
std::string take_draw_options(std::string_view& text, DrawOptions& options);
// Requested, or neither the terminal nor the locale has block characters.
bool draws_ascii(const Repl& repl, const DrawOptions& options);
// Writes a file and reports it; Failed after diagnosing.
Status write_drawing(Repl& repl, const std::string& path, std::string_view bytes);

}  // namespace rldb::ui
