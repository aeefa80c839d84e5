// The values that `print` has shown, as gdb counts them: `$1`, `$2`, ...; `$` is the last one, `$$` the one before it.
// Users: Repl, `:print`.
#pragma once

#include <cstddef>
#include <deque>
#include <string_view>

#include "rldb/runtime/value.h"

namespace rldb::ui {

class ValueHistory {
 public:
  // Its number, from 1.
  std::size_t add(runtime::Value value);
  // The value that a name such as `$2` or `$$` stands for; null: there is none, or it is too old.
  const runtime::Value* find(std::string_view name) const;

 private:
  static constexpr std::size_t kMost = 100;  // tensors are shared with the run, but live on when it ends
  std::deque<runtime::Value> values_;        // the last ones
  std::size_t count_ = 0;                    // of all
};

}  // namespace rldb::ui
