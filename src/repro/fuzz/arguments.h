// What an operator of a random program is called with. Room-private.
#pragma once

#include <functional>
#include <vector>

#include "repro/fuzz/random.h"
#include "rldb/ops/op_info.h"

namespace rldb::repro {

// What there is to choose from.
struct Choices {
  std::function<const ir::Expr*()> tensor;
  std::vector<const ir::Expr*> dims;  // of shapes that are made up
};

// A call of an operator on arguments and attributes that are chosen by the kinds its row names. Null: it wants what is
// not made up (a function, an object, a text), or the typer refuses these.
const ir::Call* random_call(ir::Context& ctx, Random& random, const ops::OpInfo& info, const Choices& from);

}  // namespace rldb::repro
