// Solvers: for an operator, operands from the values of a function, attributes and shapes for which a call of it is
// valid and has a defined result. Room-private.
//
// solver.def names one for each class of operators, and others for operators with conditions of their own.
#pragma once

#include <string_view>
#include <vector>

#include "repro/fuzz/maker.h"
#include "rldb/ir/op_id.h"

namespace rldb::repro {

// False: no call was made. A call that type inference refuses is counted in the setting, as a fault of the solver.
using Solver = bool (*)(Maker& m, const ops::OpInfo& op);

// Null: the operator is not generated, because of `unsolved_reason`.
Solver solver_of(op::Id id);
std::string_view unsolved_reason(op::Id id);
// Those with a solver, in the order of the registry.
std::vector<op::Id> solvable();
bool solve(Maker& m, op::Id id);

namespace solver {
#define RLDB_SOLVER_FUNCTION(name) bool name(Maker& m, const ops::OpInfo& op);
#include "repro/fuzz/solver.def"
}  // namespace solver

}  // namespace rldb::repro
