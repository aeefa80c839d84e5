// take_cancel: a machine that stops for the request to end has answered it, and what follows goes on.
//
// The request of the process is a flag and, for tree-sitter, a word: whoever took the flag alone would leave a word
// behind that makes the next reading end without a tree. Users: the machines, skims of them, attached processes.
#pragma once

#include "rldb/support/cancel.h"

namespace rldb::support {

// Whether it was requested.
inline bool take_cancel(std::atomic<bool>& flag) {
  if (!flag.exchange(false)) return false;
  if (&flag == &cancel_flag()) acknowledge_cancel();
  return true;
}

}  // namespace rldb::support
