// Shared by convolutions and pooling: spatial axes, and indices into tensors with a layout.
#pragma once

#include "ops/layout.h"
#include "ops/legal/util.h"

namespace rldb::ops::legal {

// The letters of the axes that an operator's window runs along, by its name: W, HW or DHW.
std::string spatial_of(const ir::Call* c);
// A window cannot run along an axis that the layout splits.
Result<support::Unit> whole_windows(const ir::Call* c, const Layout& layout, std::string_view letters);
inline ExprList zeros(ir::Context& ctx, std::size_t n) { return ExprList(n, ctx.i64(0)); }

}  // namespace rldb::ops::legal
