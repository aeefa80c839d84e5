// Operators of a program that builds on rldb: parsed, typed, printed and completed like the rows of op.def.
#pragma once

#include "rldb/ops/op_info.h"

namespace rldb::ops {

// The columns of a row of op.def. The texts are not copied, so they must live as long as the program.
struct OperatorRow {
  std::string_view name;       // full: "relax.mine.scale"
  std::string_view signature;  // as in op.def: "x, factor: float = 2.0"
  InferFn infer = nullptr;
  LegalizeFn legalize = nullptr;
  std::string_view doc;
  Purity purity = Purity::Pure;
  MixedPolicy mixed = MixedPolicy::Never;
};
// The table is sorted when it is first read, so call this first: before anything is parsed, built or looked up. A
// name that is taken, a signature that cannot be parsed and a table that is already in use fail a CHECK.
void register_operator(const OperatorRow& row);

}  // namespace rldb::ops
