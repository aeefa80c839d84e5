// `why a[0] + n`: the value of an expression, then what each of its operands was computed from. User: Debugger::why.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

// Nullopt: the text is no expression over several values, but a name or an element of one.
std::optional<std::vector<CauseStep>> why_expression(const Debugger& debugger, std::string_view text, int frame,
                                                     int depth, source::Diagnostics& out);

}  // namespace rldb::debug
