// FrameScope: while a program is stopped, names of the selected frame refer to their values in text that is entered.
//
// They are lent to the session while one text is evaluated, and hide its own values of the same names. Users:
// Repl::run_entry, `:type`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::ui {

class Repl;

class FrameScope {
 public:
  // Lends the session each name of `text` that has a value in the frame. None when nothing is stopped.
  FrameScope(Repl& repl, std::string_view text);
  // Takes them back. Definitions made by the text stay, including those of `defined` that have a lent name.
  void close(const std::vector<std::string>& defined = {});
  // How values that were not directly available were obtained.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Repl& repl_;
  std::vector<std::string> lent_;
  session::ValueTable before_;
  std::vector<std::string> notes_;
};

// The kind of a name in the selected frame: `local`, `symbol`; empty: none.
std::string_view frame_name_kind(Repl& repl, std::string_view name);

// Functions of the module (null: none) with a parameter, or a binding at the top of the body, of that name; `main`
// alone if it is among them.
std::vector<std::string> functions_that_bind(const ir::Module* module, std::string_view name);

// `TARGET = EXPRESSION` on one line, TARGET a name or elements of one (`x[0, :2]`).
struct Assignment {
  std::string_view target, name, expression;
};
std::optional<Assignment> split_assignment(std::string_view text);

// Is the text a single name, `x` or `$x`?
bool is_one_name(std::string_view text);

}  // namespace rldb::ui
