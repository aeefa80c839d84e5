// Random programs. Room-private.
#pragma once

#include <cstdint>
#include <vector>

#include "rldb/ir/module.h"
#include "rldb/ops/op_info.h"

namespace rldb::repro {

// An operator that takes tensors of the programs' shapes and returns tensors, according to the typer.
using Building = const ops::OpInfo*;

std::vector<Building> building_blocks(ir::Context& ctx);
const ir::Module* generate(ir::Context& ctx, const std::vector<Building>& blocks, std::uint64_t seed);

}  // namespace rldb::repro
