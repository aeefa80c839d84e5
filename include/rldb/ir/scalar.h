// Scalar expression helpers: operators that convert operands to a common dtype as TVM does and fold constants.
//
// int32 next to int64 gives int64; int next to float gives the float; `x + 0`, `x * 1`, `x * 0` fold. Users: te,
// ops (shape arithmetic), passes, the front end.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::ir {

// Both to the dtype that TVM's binary operators would use. Message when there is none (handle, lanes differ).
Result<std::pair<const Expr*, const Expr*>> match_dtypes(Context& ctx, const Expr* a, const Expr* b);
Result<const Expr*> make_binary(Context& ctx, BinaryKind kind, const Expr* a, const Expr* b);  // match, fold

// The same for operands that are known to agree after conversion; CHECKs.
const Expr* add(Context& ctx, const Expr* a, const Expr* b);
const Expr* sub(Context& ctx, const Expr* a, const Expr* b);
const Expr* mul(Context& ctx, const Expr* a, const Expr* b);
const Expr* div(Context& ctx, const Expr* a, const Expr* b);  // `/` of floats, truncated for ints
const Expr* floor_div(Context& ctx, const Expr* a, const Expr* b);
const Expr* floor_mod(Context& ctx, const Expr* a, const Expr* b);
const Expr* min(Context& ctx, const Expr* a, const Expr* b);
const Expr* max(Context& ctx, const Expr* a, const Expr* b);
const Expr* compare(Context& ctx, BinaryKind kind, const Expr* a, const Expr* b);
const Expr* logical_and(Context& ctx, const Expr* a, const Expr* b);
const Expr* logical_or(Context& ctx, const Expr* a, const Expr* b);
const Expr* logical_not(Context& ctx, const Expr* a);
const Expr* cast_to(Context& ctx, DType dtype, const Expr* e);  // folds literals, no-op when equal
const Expr* min_value(Context& ctx, DType dtype);
const Expr* max_value(Context& ctx, DType dtype);

const IntImm* as_int(const Expr* e);  // null when not an integer literal
bool is_const(const Expr* e, std::int64_t value);
std::optional<std::int64_t> const_int(const Expr* e);
// The factor of T.vscale() * n, in either order; nullopt for another expression.
std::optional<std::int64_t> vscale_factor(const Expr* e);
// Product of dims; 1 for an empty list.
const Expr* product(Context& ctx, std::span<const Expr* const> dims);

}  // namespace rldb::ir
