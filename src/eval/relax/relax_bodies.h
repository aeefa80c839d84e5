// Declares the functions of the evaluator that the rows of op.def name; `none` marks a row without one.
#pragma once

#include "eval/relax/relax_op.h"

namespace rldb::eval::body {

#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc) \
  runtime::Result<runtime::Value> eval_fn(const OpCall& c);
#include "rldb/ir/op/op.def"

}  // namespace rldb::eval::body
