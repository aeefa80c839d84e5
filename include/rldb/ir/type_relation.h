// Relations between types: base check, join, erasure of out-of-scope variables, unification of symbolic variables.
//
// Names and results follow TVM (type_base_check, type_lca, erase_to_well_defined). Users: verifier, type inference of
// calls and branches, the front end, passes.
#pragma once

#include <functional>

#include "rldb/ir/arith.h"
#include "rldb/ir/walk.h"

namespace rldb::ir {

// Whether `base` is a base of `derived`. FailL0: certainly not; FailL1: only by a checked cast (e.g. different known
// dims are FailL0, unknown against known is FailL1 when base knows more); FailL2: shapes cannot be proved equal.
enum class BaseCheck : std::uint8_t { FailL0, FailL1, FailL2, Pass };
BaseCheck base_check(Context& ctx, const Type* base, const Type* derived);
inline bool is_base_of(Context& ctx, const Type* base, const Type* derived) {
  return base_check(ctx, base, derived) == BaseCheck::Pass;
}
// Whether devices are equal by kind, number and memory scope, and by target where both have one: a device by name
// (`dst_vdevice="cuda:1"`) has no more of its target than the kind. Two nulls are equal.
bool same_device(const VDevice* a, const VDevice* b);
// The most precise common base (the type of an `if`).
const Type* join(Context& ctx, const Type* a, const Type* b);
// The type without parts that depend on variables out of scope: dims become unknown, ndim stays.
const Type* erase(Context& ctx, const Type* t, const std::function<bool(const Var*)>& visible);
// The return type of a call to a function of this type: matches parameter types against arguments, substitutes
// symbolic variables, erases the rest. Messages name the argument.
Result<const Type*> call_result(Context& ctx, const FuncType* f, Span<const Expr*> args);
// The hint where the type of a constant of an omitted metadata section would have been needed.
inline constexpr std::string_view kMetadataMissing =
    "the text came without its metadata: print the module with `show_meta=True`";
// Type without shape values: rank and dtype only (RFC: the checked type).
const Type* static_type(Context& ctx, const Type* t);

}  // namespace rldb::ir
