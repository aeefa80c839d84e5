// Gradients of operators: the gradient of each operand of a call, given that of its result.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "passes/common.h"

namespace rldb::passes {

// A call being differentiated, with the builders that its rule needs. Expressions are nested; whoever uses them binds
// the inner ones.
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

  // The reason why something could not be made. Anything made after it is useless.
  const std::string& problem() const { return problem_; }
  const ir::Expr* fail(std::string reason);

 private:
  ir::Context& ctx_;
  const ir::Call* call_;
  const ir::Expr* result_;
  const ir::Expr* grad_;
  std::string problem_;
};

// One per argument; null: the operand gets none (it is an index, a condition, a shape).
using Partials = std::vector<const ir::Expr*>;
using GradientRule = Partials (*)(GradientCall& g);
// Null: the operator has no gradient rule here.
GradientRule gradient_rule(std::string_view op);

namespace gradient_rules {
const ir::Expr* sub(GradientCall& g, const ir::Expr* a, const ir::Expr* b);
const ir::Expr* mul(GradientCall& g, const ir::Expr* a, const ir::Expr* b);
}  // namespace gradient_rules

// Functions named by the rows of class.def and rule.def.
namespace gradient_rules {
#define RLDB_OP_CLASS(id, infer, shard, layout, gradient, legalise, mixed, in_place, pattern, doc) \
  Partials gradient(GradientCall& g);
#include "rldb/ir/op/class.def"
#define RLDB_OP_GRADIENT(Op, function) Partials function(GradientCall& g);
#include "rldb/ir/op/rule.def"
}  // namespace gradient_rules

}  // namespace rldb::passes
