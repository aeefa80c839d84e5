// Subscripts of buffers in conditions.
#pragma once

#include "debug/kernel/array_part.h"

namespace rldb::debug {

// One item of a subscript: an index, a slice, or `...`.
struct SlicedDim {
  std::optional<Operand> start, stop, step;  // an index: start
  bool is_slice = false;
  bool is_rest = false;
};

// An element if each dimension has an index, else an array. Slices are cut off at the ends, an index outside is bad.
ConditionPart sliced(ir::Context& ctx, OperandMath& math, const ir::Buffer* b, std::vector<SlicedDim> dims);

}  // namespace rldb::debug
