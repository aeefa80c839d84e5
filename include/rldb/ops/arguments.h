// From the arguments of `R.<op>(...)` as written to the arguments, attributes and types of a call.
//
// The front end evaluates each argument to an expression or an attribute and hands them over in order; this decides
// where each goes (TVM's Python signatures mix both), converts forms (an int to a list of one, a tuple of dims to a
// ShapeExpr, a Python number to a constant of the right dtype) and reports missing, extra, repeated and unknown ones.
// Also knows the operators with a syntax of their own: call_tir and friends, call_packed, print, assert_op, closures.
#pragma once

#include "rldb/ops/op_info.h"

namespace rldb::ops {

// Exactly one of `expr` and `attr` is set. Types (out_ty=R.Tensor(...)) come as an Attr of kind Type, several as a
// List of them; `None` as an Attr of kind None. Lists and tuples of literals may come as Attr List or as ir::Tuple.
struct CallArg {
  std::string_view keyword;  // empty: positional
  const ir::Expr* expr = nullptr;
  const ir::Attr* attr = nullptr;
};

// `name` as after `R.` ("nn.conv2d") or full. The result goes to Context::call. A failure names the argument by its
// index in `args` (Message::argument). An operator without a row: expressions become arguments, keywords attributes.
Result<ir::CallSpec> normalize_arguments(ir::Context& ctx, std::string_view name, std::span<const CallArg> args);

// The place in the text that a message of type inference is about (Message::argument of the call, Message::attribute):
// an index in `args`, or -1 when it is not written.
int written_argument(const OpInfo& info, std::span<const CallArg> args, const source::Message& m);

// The literal forms of values that exist as expressions and as attributes.
const ir::Attr* to_attr(ir::Context& ctx, const ir::Expr* e);  // IntImm -> Int, Tuple -> List, else Attr of kind Expr
const ir::Expr* to_expr(ir::Context& ctx,
                        const ir::Attr* a);  // Int -> int64 literal, List -> Tuple; null when it has none

// `x + y`, `-x`, `x < y`, `x[i]` of Relax expressions: the operator's call. `op` is the Python operator: "+", "-", "*",
// "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "~" (unary), "neg" (unary).
Result<ir::CallSpec> operator_call(ir::Context& ctx, std::string_view op, std::span<const ir::Expr* const> operands);

}  // namespace rldb::ops
