// FailedNames: the names that entries failed to bind lately. Such a name alone is not the command of that name (`q`
// behind a `q = ...` that failed would end the session). User: Repl.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::ui {

class FailedNames {
 public:
  // Each entry, in order.
  void note(std::string_view entry, bool failed);
  // The line of the last entry that failed to bind the name; empty: none of the last ones did.
  std::string_view entry_of(std::string_view name) const;

 private:
  struct Failed {
    std::string line;
    std::vector<std::string> names;
    std::size_t entry = 0;
  };
  std::deque<Failed> lines_;
  std::size_t entries_ = 0;
};

}  // namespace rldb::ui
