// Where a comparison holds: the values of one variable for which it is true whatever values inner loops have.
#pragma once

#include <optional>
#include <vector>

#include "rldb/ir/arith.h"

namespace rldb::passes {

struct Interval {  // inclusive; null: no limit
  const ir::Expr* lower = nullptr;
  const ir::Expr* upper = nullptr;
};

// A variable with all its values.
struct Domain {
  const ir::Var* var;
  const ir::Expr* min;
  const ir::Expr* max;
};

// The comparison has to be linear in the variable and in those that are relaxed, which are listed from the outside in.
// nullopt: not known.
std::optional<Interval> interval_where(ir::Context& ctx, ir::Analyzer& analyzer, const ir::BinaryExpr* comparison,
                                       bool holds, const ir::Var* v, const std::vector<Domain>& relaxed);

}  // namespace rldb::passes
