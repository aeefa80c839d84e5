// FrameScope: while a program is stopped, the names of the selected frame stand for their values in what is typed.
//
// They are lent to the session for as long as one text is read, and hide its values of the same names. Users:
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
  // Lends the session each name of `text` that has a value in the frame. Nothing is stopped: none.
  FrameScope(Repl& repl, std::string_view text);
  // Takes them back. What the text defined stays, those of `defined` that have a lent name too.
  void close(const std::vector<std::string>& defined = {});
  // How values that were not simply there were come by.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Repl& repl_;
  std::vector<std::string> lent_;
  std::vector<session::NamedValue> before_;
  std::vector<std::string> notes_;
};

// What kind of name of the selected frame it is: `local`, `symbol`; empty: none.
std::string_view frame_name_kind(Repl& repl, std::string_view name);

// `TARGET = EXPRESSION` on one line, TARGET a name or elements of one (`x[0, :2]`).
struct Assignment {
  std::string_view target, name, expression;
};
std::optional<Assignment> split_assignment(std::string_view text);

// Is the text one name?
bool is_one_name(std::string_view text);

}  // namespace rldb::ui
