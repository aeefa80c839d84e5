// Keys that their reader did not use: the next entry begins with them, or the answer to a question. One terminal, one
// queue; only for the prompt's thread. A ^C drops them, like the input waiting in the terminal. Users: the pager
// (adds), the line editor (adds and takes), questions (take).
#pragma once

#include <string>
#include <utility>

namespace rldb::ui {

inline std::string& typed_ahead() {
  static std::string keys;
  return keys;
}

inline std::string take_typed_ahead() { return std::exchange(typed_ahead(), {}); }

}  // namespace rldb::ui
