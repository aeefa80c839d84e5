// Index maps of R.layout_transform: as attributes, and their inverses.
#pragma once

#include "passes/common.h"

namespace rldb::passes {

// The map of a call of R.layout_transform; null when it is no lambda.
const ir::Lambda* index_map_of(const ir::Call* call);
// From an option: `T.index_map(lambda i: (i // 4, i % 4))`, or the lambda alone; null when it is none.
const ir::Lambda* read_index_map(ir::Context& ctx, std::string_view text);
const ir::Attr* index_map_attr(ir::Context& ctx, const ir::Lambda* map);
// The inverse map, from the positions that `map` gives the elements of a tensor of this shape back to their indices.
// Null when the map is neither of the two kinds inverted here: axes that are split (`i // 4, i % 4`) or moved, and axes
// that are fused (`i * 4 + j`).
const ir::Lambda* inverse_of(ir::Context& ctx, const ir::Lambda* map, ir::Span<const ir::Expr*> shape);

}  // namespace rldb::passes
