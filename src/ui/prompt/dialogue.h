// A dialogue through a pipe: a program writes entries and waits for the reply to each (`--format=json`).
#pragma once

#include <string>
#include <vector>

#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

// Puts lines together to entries. An entry ends where it is complete; a block (a function, a module), and one with an
// open bracket, ends at an empty line or before a command; a here-document at its mark.
class EntryAssembler {
 public:
  // The entries that this line completes, in order.
  std::vector<std::string> add(std::string_view line);
  // An empty line within a block, which does not end it.
  void add_inside_block();
  // Whether the lines so far are a block, or have an open bracket, and an empty line would end them.
  bool in_block() const;
  // The rest, at the end of the input.
  std::vector<std::string> finish();

 private:
  std::vector<std::string> take();
  std::string text_;
  bool open_ = false;  // a bracket of it
};

// Reads entries from standard input and executes each as soon as it is complete. An entry that fails does not end the
// dialogue. The exit code.
int run_dialogue(Repl& repl);

}  // namespace rldb::ui
