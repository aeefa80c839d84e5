// FoldScaleShift: two consecutive calls of scale_shift become one call; DeadCodeElimination removes the unused one.
#include "my_compiler.h"
#include "rldb/ir/visitor.h"
#include "rldb/passes/helpers.h"
#include "rldb/passes/register.h"

using namespace rldb;

namespace {

double number(const ir::Call* call, std::string_view name) { return ir::find_attr(call->attrs, name)->floating; }

class Folder : public ir::ExprMutator {
 public:
  using ExprMutator::ExprMutator;

 protected:
  const ir::Expr* visit_call(const ir::Call* call) override {
    const ir::Expr* made = default_expr(call);
    const ir::Call* outer = passes::as_call_of(made, kScaleShift);
    const ir::Call* inner = outer ? passes::as_call_of(value_of(outer->args[0]), kScaleShift) : nullptr;
    if (!inner) return made;
    const double scale = number(inner, "scale") * number(outer, "scale");
    const double shift = number(inner, "shift") * number(outer, "scale") + number(outer, "shift");
    return *ctx_.call(kScaleShift, {inner->args[0]},
                      {ctx_.named("scale", ctx_.attr(scale)), ctx_.named("shift", ctx_.attr(shift))});
  }
};

ir::Result<const ir::Module*> fold_scale_shift(passes::PassEnv& env, const ir::Module* module,
                                               const passes::NoOptions&) {
  return passes::map_dataflow_blocks(env, module, [](passes::PassEnv& e, const ir::BindingBlock* block) {
    return ir::Result<const ir::BindingBlock*>(Folder(e.ctx).rewrite_block(block));
  });
}

}  // namespace

void register_fold_scale_shift() {
  passes::register_pass<fold_scale_shift>("FoldScaleShift", passes::PassKind::DataflowBlock,
                                          "two consecutive calls of scale_shift become one");
}
