// Steps whose number only a run knows, as a local function that calls itself. Inside the room only.
#pragma once

#include <functional>

#include "onnx/node_context.h"

namespace rldb::onnx::bodies {

struct Repeat {
  Exprs first;                      // the carried values before the first step
  std::size_t stacked = 0;          // results of each step, which become the rows of one tensor
  const Expr* limit = nullptr;      // the number of steps, a tensor of rank 0 and int64; null: no limit
  const Expr* condition = nullptr;  // whether there is a first step, a tensor of rank 0; null: there is
  // The results of a step: whether there is another one (null: there is), the carried values, the stacked ones.
  // `step` is its number as a tensor of rank 0, `at` as a dim.
  struct Step {
    const Expr *step, *at, *condition;
    Exprs carried;
  };
  std::function<ir::Result<Exprs>(const Step&)> run;
};

// The carried values after the last step, then what was stacked. A body that is not known to keep the shapes of the
// values that it carries is translated more than once.
ir::Result<Exprs> repeated(NodeContext& c, const Repeat& of);

// The bindings that `make` emits, as a branch whose result is what it makes.
ir::Result<const ir::SeqExpr*> branch(NodeContext& c, const std::function<Made()>& make);

// A value of rank 0.
Made scalar_of(NodeContext& c, const Expr* e);
// The fields of a tuple, in which dims that are not known become variables.
ir::Result<Exprs> named_fields(NodeContext& c, const Expr* tuple);

}  // namespace rldb::onnx::bodies
