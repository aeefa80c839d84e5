// The hint below an entry being typed: the signature of the command or call at the cursor, the inferred type of the
// entry so far, or its first error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/frontend/entry_tree.h"
#include "rldb/ui/terminal/line_editor.h"

namespace rldb::ui {

class Repl;

class HintMaker {
 public:
  // `tree`: of the entry, shared with its other users.
  HintMaker(Repl& repl, std::shared_ptr<frontend::EntryTree> tree);
  ~HintMaker();
  HintMaker(const HintMaker&) = delete;
  HintMaker& operator=(const HintMaker&) = delete;
  std::vector<HintLine> hints(std::string_view text, std::size_t cursor);

 private:
  struct Names;
  const Names& names();
  std::string signature(std::string_view text, std::size_t cursor) const;
  std::string open_bracket(std::string_view text, std::size_t cursor) const;
  void add_type(std::string_view text, std::size_t cursor, std::vector<HintLine>& out);
  frontend::Environment values_of(std::string_view text, ir::Context& context);

  Repl& repl_;
  std::shared_ptr<frontend::EntryTree> tree_;
  std::unique_ptr<Names> names_;  // values of the frame that an entry may name, at the current stop
};

// May the text after a verb without its colon be an argument? In `x = R.add(` and `n + 1` the verb is a variable.
bool may_be_argument(std::string_view rest);

}  // namespace rldb::ui
