// Parameters and arguments of programs on the Relay VM. Room-private.
#pragma once

#include "rldb/ir/context.h"
#include "rldb/relay/ir/type.h"
#include "rldb/runtime/value.h"

namespace rldb::session {

// The type of a parameter as Relax's: each `?` is a variable of its own. Null: neither a tensor nor a tuple of those.
const ir::Type* parameter_type(ir::Context& ctx, const relay::Type* t);

// A number becomes a tensor of the parameter's dtype. Errors: a value that is none of Relay's.
runtime::Result<runtime::Value> relay_argument(const runtime::Value& given, const ir::Type* type);

}  // namespace rldb::session
