// Intrinsics implemented by the evaluator itself: `Form` and `Eval` in the last column of intrinsic.def. Code that
// names any other does not compile.
#pragma once

#include "rldb/ir/expr.h"
#include "rldb/ir/intrinsic/all.h"

namespace rldb::eval {

consteval bool is_part(ir::Intrinsic id) {
#define RLDB_PART_Libm1(f) false
#define RLDB_PART_Libm2(f) false
#define RLDB_PART_Formula1(f) false
#define RLDB_PART_Formula2(f) false
#define RLDB_PART_Native(f) false
#define RLDB_PART_Own(f) false
#define RLDB_PART_Form true
#define RLDB_PART_Eval true
#define RLDB_PART_None false
#define RLDB_INTRINSIC(row, name, arity, dtype, purity, evaluate) \
  if (id == ir::intrin::row) return RLDB_PART_##evaluate;
#include "rldb/ir/intrinsic/intrinsic.def"
  return false;
}

template <ir::Intrinsic id>
bool is_call_of(const ir::Expr* e) {
  static_assert(is_part(id), "the row of the intrinsic says that the evaluator does not have it");
  return ir::is_call_of(e, id);
}

}  // namespace rldb::eval
