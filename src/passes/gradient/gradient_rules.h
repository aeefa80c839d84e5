// Gradients of operators: what reaches each operand of a call, given what reaches its result.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "passes/common.h"

namespace rldb::passes {

// A call that is differentiated, and the makers of what its rule needs. Expressions are nested; whoever takes them
// binds what is inside.
class GradientCall {
 public:
  GradientCall(ir::Context& ctx, const ir::Call* call, const ir::Expr* result, const ir::Expr* grad)
      : ctx_(ctx), call_(call), result_(result), grad_(grad) {}

  ir::Context& ctx() { return ctx_; }
  const ir::Call* call() const { return call_; }
  const ir::Expr* arg(std::size_t i) const { return call_->args[i]; }
  const ir::Expr* result() const { return result_; }  // of the call, as computed on the way forward
  const ir::Expr* grad() const { return grad_; }      // of the target by the result
  const ir::Attr* attr(std::string_view name) const { return ir::find_attr(call_->attrs, name); }

  const ir::Expr* make(std::string_view op, std::initializer_list<const ir::Expr*> args,
                       std::initializer_list<ir::NamedAttr> attrs = {});
  const ir::Expr* make_like(std::string_view op, std::initializer_list<const ir::Expr*> args);  // the call's attributes
  const ir::Expr* scalar(double value, const ir::Expr* like);
  const ir::TensorType* tensor(const ir::Expr* e);                        // its shape is known
  const ir::Expr* shape(const ir::Expr* e);                               // as a value
  std::optional<std::int64_t> dim(const ir::Expr* e, std::int64_t axis);  // when it is a number
  const ir::Expr* fit(const ir::Expr* partial, const ir::Expr* operand);  // summed down to the operand's shape
  // Where a call computes in another dtype than its operand has.
  const ir::Expr* as_dtype_of(const ir::Expr* partial, const ir::Expr* operand);
  ir::NamedAttr named(std::string_view name, const ir::Attr* value) { return ctx_.named(name, value); }

  // Something could not be made: the reason. What was made since is of no use.
  const std::string& problem() const { return problem_; }
  const ir::Expr* fail(std::string reason);

 private:
  ir::Context& ctx_;
  const ir::Call* call_;
  const ir::Expr* result_;
  const ir::Expr* grad_;
  std::string problem_;
};

// One an argument; null: the operand gets nothing (it is an index, a condition, a shape).
using Partials = std::vector<const ir::Expr*>;
using GradientRule = Partials (*)(GradientCall& g);
// Null: the operator has no gradient here.
GradientRule gradient_rule(std::string_view op);

namespace gradient_rules {
const ir::Expr* sub(GradientCall& g, const ir::Expr* a, const ir::Expr* b);
const ir::Expr* mul(GradientCall& g, const ir::Expr* a, const ir::Expr* b);
}  // namespace gradient_rules

// The functions that the rows of rule.def name.
namespace gradient_rules {
#define RLDB_OP_GRADIENT(Op, function) Partials function(GradientCall& g);
#include "rldb/ir/op/rule.def"
}  // namespace gradient_rules

}  // namespace rldb::passes
