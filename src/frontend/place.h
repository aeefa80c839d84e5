// Where a finding about a whole function is shown: at its name. Users: verify_parsed.cc, document.cc.
#pragma once

#include <string_view>

#include "rldb/source/span.h"

namespace rldb::frontend {

// The name in a function's header when the span is that of the function; else the span itself.
source::Span at_name(source::Span span, std::string_view text);

}  // namespace rldb::frontend
