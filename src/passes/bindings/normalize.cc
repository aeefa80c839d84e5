// Normalize: arguments, tuple fields and conditions become leaves, adjacent blocks of one kind are merged. The front
// end and the passes produce only such programs; this is for programs built by other means.
#include "passes/common.h"
#include "rldb/ir/visitor.h"

namespace rldb::passes {

using namespace ir;

namespace {

// The mutator puts every binding into normal form; only the blocks remain to be handled.
class Normalizer : public ExprMutator {
 public:
  using ExprMutator::ExprMutator;

 protected:
  const SeqExpr* visit_seq(const SeqExpr* s) override {
    const SeqExpr* made = ExprMutator::visit_seq(s);
    bool mergeable = false;
    for (std::size_t i = 0; i < made->blocks.size(); ++i) {
      const BindingBlock* b = made->blocks[i];
      mergeable = mergeable || b->bindings.empty() || (i > 0 && b->is_dataflow() == made->blocks[i - 1]->is_dataflow());
    }
    return mergeable ? make_seq(ctx_, {made->blocks.begin(), made->blocks.end()}, made->body, s) : made;
  }
};

}  // namespace

Result<const Module*> normalize(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return refine_result(env.ctx, Normalizer(env.ctx).rewrite_function(f));
  });
}

}  // namespace rldb::passes
