// Meshes of workers and placements of tensors on them, as far as passes look into them: meshes of one dimension.
#pragma once

#include <optional>

#include "passes/common.h"

namespace rldb::passes {

// The axis of "S[1]"; nothing for another placement.
std::optional<std::int64_t> sharded_axis(std::string_view placement);
// "mesh[0]": of the module's meshes. Null: there is none.
const ir::Attr* mesh_of(const ir::Module* module, const ir::Attr* mesh);
// How many workers a mesh of one dimension has.
std::optional<std::int64_t> mesh_workers(const ir::Attr* mesh);

}  // namespace rldb::passes
