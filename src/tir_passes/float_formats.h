// NarrowFloats: the formats that a kernel must not compute with, and how their values are taken apart and put together
// by integer arithmetic. Used by the passes of float_legalize.cc.
#pragma once

#include "rldb/tir_passes/pass_env.h"

namespace rldb::passes {

struct NarrowFloats {
  bool (*is)(ir::DType t);        // one of these formats
  bool (*is_known)(ir::DType t);  // one whose values can be taken apart
  std::string_view family;        // for messages
  std::string_view compute_pass;  // the pass that must have run before memory is rewritten
  ir::DType wide;                 // the type used for computing

  ir::DType widened(ir::DType t) const { return wide.with_lanes(t.lanes); }
  // The value of e in `wide`, and back: to the nearest, ties to even.
  const ir::Expr* widened(ir::Context& ctx, const ir::Expr* e) const;
  const ir::Expr* rounded(ir::Context& ctx, const ir::Expr* e, ir::DType to) const;
};

NarrowFloats bfloat16();
NarrowFloats float8(ir::DType wide);

// The storage type of the format: an unsigned integer of its bits.
ir::DType bits_of(ir::DType t);
// The value that a literal of a narrow format holds.
double nearest(ir::DType t, double value);

}  // namespace rldb::passes
