// Arguments for operator calls of a random program. Room-private.
#pragma once

#include <functional>
#include <vector>

#include "repro/fuzz/random.h"
#include "rldb/ops/op_info.h"

namespace rldb::repro {

// Values available for arguments.
struct Choices {
  std::function<const ir::Expr*()> tensor;
  std::vector<const ir::Expr*> dims;  // for shapes being generated
};

// A call of an operator with arguments and attributes chosen by the kinds in its row. Null: it requires something that
// is not generated (a function, an object, a text), or the typer refuses these.
const ir::Call* random_call(ir::Context& ctx, Random& random, const ops::OpInfo& info, const Choices& from);

}  // namespace rldb::repro
