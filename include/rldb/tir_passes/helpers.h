// Helpers of the passes over either half of a module: attributes, options in messages, types.
#pragma once

#include <string>
#include <string_view>

#include "rldb/ir/context.h"
#include "rldb/pipeline/option.h"

namespace rldb::passes {

// Whether the attribute is present and true: True, or a number other than 0.
bool is_set(ir::Span<ir::NamedAttr> attrs, std::string_view name);
bool is_void(const ir::Type* t);
std::string last_part(std::string_view dotted);  // `c` of `a.b.c`
// For messages: as written, or `nothing`.
std::string_view given_text(const pipeline::WrittenValue& value);

}  // namespace rldb::passes
