// The arithmetic of a kernel: operations of the values that it stores, times the extents of the loops around them.
//
// Operations of floats and integers count, computations of indices do not. Both sides of a branch are counted, a
// `while` loop once. A loop whose extent depends on an outer loop counts with the mean of its extents, which is exact
// for triangles. Users: costs of bindings (cost.cc), profiles.
#pragma once

#include <string>

#include "debug/look/amount.h"
#include "rldb/ir/stmt.h"

namespace rldb::debug {

struct KernelCost {
  Amount operations;
  std::string unknown;  // what the count leaves out; empty: nothing
};
KernelCost kernel_cost(const ir::PrimFunc* f, AmountOf vars);

// The variables of the kernel's shapes, by what is known of one tensor's.
void bind_dims(AmountOf& vars, const ir::Buffer* buffer, const std::vector<Amount>& dims);

}  // namespace rldb::debug
