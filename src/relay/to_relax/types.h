// Types of Relay as types of Relax. Type variables, algebraic data types and what inference left open are objects;
// function values are callables of any signature, so that a generic function takes each.
#pragma once

#include <functional>

#include "rldb/ir/context.h"
#include "rldb/relay/ir/type.h"

namespace rldb::to_relax {

// What stands for a `?`: a new variable, or null: the tensor's rank is all that is known of its shape.
using OpenDim = std::function<const ir::Expr*()>;

const ir::Type* relax_type(ir::Context& ctx, const relay::Type* t, const OpenDim& open);
// Without variables: what a function's result is declared to be.
const ir::Type* closed_type(ir::Context& ctx, const relay::Type* t);
bool mentions_reference(const relay::Type* t);

}  // namespace rldb::to_relax
