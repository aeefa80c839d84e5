// A lowered PrimFunc as OpenCL C. Room-private.
#pragma once

#include <string_view>

#include "rldb/codegen/gpu/program.h"

namespace rldb::codegen {

struct EmitOptions {
  std::string_view name;
  bool check_bounds = true;
  bool strict = true;                 // functions are the formulas of runtime/float_formula.h
  runtime::NumericEvents events = 0;  // numbers to look for among those that are written to parameters
};

ir::Result<Program> emit_program(ir::Context& ctx, const ir::PrimFunc* f, const EmitOptions& options);

}  // namespace rldb::codegen
