// Meshes of workers and placements of tensors on them, as passes need them.
#pragma once

#include <optional>

#include "passes/common.h"

namespace rldb::passes {

// The axis of "S[1]"; nullopt for other placements.
std::optional<std::int64_t> sharded_axis(std::string_view placement);
// "mesh[0]": one of the module's meshes. Null: there is none.
const ir::Attr* mesh_of(const ir::Module* module, const ir::Attr* mesh);
// The number of workers in a mesh of one dimension.
std::optional<std::int64_t> mesh_workers(const ir::Attr* mesh);
// The number of workers along each dimension of a mesh; empty where it is not known.
std::vector<std::int64_t> mesh_shape(const ir::Attr* mesh);
// The name that a runtime function has in distributed programs.
std::string distributed_name(std::string_view function);

}  // namespace rldb::passes
