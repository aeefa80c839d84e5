// How long a call of a kernel takes, roughly: decides whether it is worth optimising the code first. Internal to the
// room.
#pragma once

#include <cstdint>
#include <span>

#include "rldb/ir/stmt.h"
#include "rldb/runtime/kernel.h"

namespace rldb::codegen {

// Operations of the statements that a call executes. `variables` are the values of the signature's; without them each
// counts as 1. A loop whose extent they do not tell counts as endless, both sides of a branch are counted.
double work_of(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
               std::span<const std::int64_t> variables);

}  // namespace rldb::codegen
