// ExprVisitor and ExprMutator over a function with a dataflow block and a branch.
#include "rldb/ir/visitor.h"

#include <doctest/doctest.h>

#include <string>

#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/printer.h"

using namespace rldb;
using namespace rldb::ir;

namespace {

struct World {
  Context ctx;
  const Type* type = ctx.tensor_ndim(1, DType::Float(32));
  const Var* x = ctx.var("x", type);

  const Call* call(std::string_view op, std::initializer_list<const Expr*> args) {
    return ctx.call_typed(ctx.op(op), std::vector<const Expr*>(args), type);
  }
  // lv = relu(x) in a dataflow block, then if c: exp(lv1) else: x.
  const Function* function() {
    const Var* c = ctx.var("c", ctx.boolean());
    const Var* out = ctx.var("out", type);
    const Binding* first[] = {ctx.binding(out, call(op::NnRelu, {x}))};
    const BindingBlock* df[] = {ctx.block(first, true)};
    const Var* y = ctx.var("y", type);
    const Binding* inner[] = {ctx.binding(y, call(op::Exp, {out}))};
    const BindingBlock* inner_block[] = {ctx.block(inner)};
    const Var* z = ctx.var("z", type);
    const Binding* last[] = {ctx.binding(z, ctx.if_expr(c, ctx.seq(inner_block, y), ctx.seq({}, x), type))};
    const BindingBlock* blocks[] = {df[0], ctx.block(last)};
    const Var* params[] = {x, c};
    return ctx.function(params, ctx.seq(blocks, z), type, true, {});
  }
};

class Trace : public ExprVisitor {
 public:
  std::string text;
  bool into_branches = true;

 protected:
  bool visit_call(const Call* call) override {
    text += "call " + std::string(as<Op>(call->callee)->name) + "; ";
    return true;
  }
  bool visit_var(const Var* v) override {
    text += std::string(v->name) + "; ";
    return true;
  }
  bool visit_binding(const Binding* b) override {
    text += std::string(b->var->name) + " =; ";
    return true;
  }
  bool visit_if(const If*) override {
    text += "if; ";
    return into_branches;
  }
};

// exp(a) becomes exp(relu(a)), and the result of every sequence gets a call appended.
class Nester : public ExprMutator {
 public:
  using ExprMutator::ExprMutator;
  int inside = 0;

 protected:
  const Expr* visit_call(const Call* call) override {
    inside += in_dataflow() ? 1 : 0;
    if (as<Op>(call->callee)->name != op::Exp) return default_expr(call);
    const Expr* const operand[] = {ctx_.call_typed(ctx_.op(op::NnRelu), call->args, call->type)};
    return ctx_.call_typed(call->callee, operand, call->type);
  }
};

}  // namespace

TEST_CASE("visitor: parents first, in the order of the text") {
  World w;
  Trace all;
  all.visit(w.function());
  CHECK(all.text == "out =; call relax.nn.relu; x; z =; if; c; y =; call relax.exp; out; y; x; z; ");
  Trace some;
  some.into_branches = false;
  some.visit(w.function());
  CHECK(some.text == "out =; call relax.nn.relu; x; z =; if; z; ");
}

TEST_CASE("mutator: nested calls are bound before the binding, branch by branch") {
  World w;
  const Function* before = w.function();
  Nester nester(w.ctx);
  const Function* after = nester.rewrite_function(before);
  CHECK(nester.inside == 1);
  const std::string text = print_function("f", after);
  INFO(text);
  CHECK(text.find("        gv: R.Tensor(dtype=\"float32\", ndim=1) = R.nn.relu(out)\n"
                  "        y: R.Tensor(dtype=\"float32\", ndim=1) = R.exp(gv)\n") != std::string::npos);
  Nester again(w.ctx);
  CHECK(ExprMutator(w.ctx).rewrite_function(before) == before);
}
