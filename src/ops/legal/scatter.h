// Parts of scatters: how an update meets the old value, and the kernel that copies the data before it updates.
#pragma once

#include "ops/legal/statements.h"

namespace rldb::ops::legal {

// Negative indices count from the end.
const Expr* wrap(ir::Context& ctx, const Expr* index, const Expr* extent);
// `how`: a reduction of R.scatter_elements; any other text replaces the old value.
const Expr* combine(ir::Context& ctx, std::string_view how, const Expr* old_value, const Expr* update);

// The updates, given the inputs of the kernel and its result, which already has the data.
using Update = std::function<const ir::Stmt*(ir::Context&, Buffers in, const ir::Buffer* out)>;
Result<const Expr*> scatter(Legalizer& l, const ir::Call* c, std::string_view name, std::span<const Expr* const> args,
                            const Update& update);

}  // namespace rldb::ops::legal
