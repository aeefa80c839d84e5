// Values of other ranks in an expression about this one: `a + a@1`. Whoever has the runs of the ranks fetches them.
// User: `print`, `display`.
#pragma once

#include <map>
#include <string>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

// By the name in the expression, `a@1`; they replace those known before.
void set_rank_values(Debugger& debugger, std::map<std::string, runtime::Value, std::less<>> values);

}  // namespace rldb::debug
