// Keys that whoever read them had no use for: the next entry begins with them. One terminal, one queue; the prompt's
// thread alone. A ^C drops them, as it drops what waits in the terminal. Users: the pager (gives), the line editor
// (takes).
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
