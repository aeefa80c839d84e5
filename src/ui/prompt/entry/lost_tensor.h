// The message of an entry that needed a tensor which its device did not give.
#pragma once

#include "rldb/runtime/error.h"
#include "rldb/source/diagnostic.h"
#include "rldb/source/diagnostic_run.h"

namespace rldb::ui {

inline source::Message lost_tensor(const runtime::Error& lost) {
  source::Message m = source::message(diag::RunFailed, lost.message);
  m.notes.push_back({{}, "a tensor was needed here, and is not readable"});
  return m;
}

}  // namespace rldb::ui
