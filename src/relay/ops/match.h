// Does a `match` cover every value?
#pragma once

#include <optional>
#include <string>

#include "rldb/relay/ir/module.h"

namespace rldb::relay {

struct Coverage {
  std::optional<std::string> missed;  // a pattern of values that no arm matches
  bool gave_up = false;               // too many combinations to check
};
Coverage coverage_of(const Match& m, const Module& module);

}  // namespace rldb::relay
