// Conditions in normal forms, for StmtSimplify's options.
#pragma once

#include <functional>
#include <memory>

#include "rldb/ir/arith.h"
#include "rldb/ir/context.h"

namespace rldb::passes {

// A fresh analyzer that knows what holds where the condition stands.
using MakeAnalyzer = std::function<std::unique_ptr<ir::Analyzer>()>;

// Each operand of an `and` is simplified for the case that the other one holds, each operand of an `or` for the case
// that the other one does not. An operand that is decided then is left out.
const ir::Expr* simplify_branches(ir::Context& ctx, const MakeAnalyzer& analyzer, const ir::Expr* condition);

// The condition as an `and` of `or`s, without groups that others imply, and groups that differ in one operand as one.
// Conditions that would have more than kMaxGroups groups stay as they are.
inline constexpr std::size_t kMaxGroups = 32;
const ir::Expr* and_of_ors(ir::Context& ctx, const MakeAnalyzer& analyzer, const ir::Expr* condition);

}  // namespace rldb::passes
