// Limits on the values behind names while a text is read. Names share their values, so that a few lines can make one
// that is immense when it is used: `t = (t, t)` at file level, macros that pass `e + e` on to each other.
#pragma once

#include "frontend/script/reader.h"
#include "frontend/script/value/value.h"

namespace rldb::frontend::script {

// False after a report: the value is to be treated as broken.
bool within_limits(Reader& r, const Val& value, std::string_view name, Node at);
// The same for the syntax read by calls of macros and lambdas, all of them together.
bool may_expand(Reader& r, Node body, std::string_view name, Node at);

}  // namespace rldb::frontend::script
