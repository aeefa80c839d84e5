// Operators on the parts of their operands: each worker gets a part of the result, or results that are still to be
// combined. lower_distir.cc and propagate_sharding.cc read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "passes/common.h"

namespace rldb::passes {

// How the workers' results become the result: the op_type of an all-reduce, or empty where each worker has its part.
// A failure where the parts of the operands do not suffice. `placement` is the result's.
ir::Result<std::string> combined_by(ir::Context& ctx, const ir::Call* call, std::string_view placement);

// The axis of the result that an axis of an operand becomes; nullopt: none, or it is not known.
std::optional<std::int64_t> result_axis(ir::Context& ctx, const ir::Call* call, std::size_t operand, std::int64_t axis);

}  // namespace rldb::passes
