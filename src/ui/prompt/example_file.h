// The files that the examples of the help name, `docs/examples/mlp.py`: in the folder of the sources, and, wherever
// rldb is started, those beside the program: installed ones, and those of the sources that it was built from.
#pragma once

#include <string>
#include <string_view>

namespace rldb::ui {

class Repl;

// `path`, or where that example is; then a note says so.
std::string example_file(Repl& repl, std::string_view path);

}  // namespace rldb::ui
