// ToNonDataflow: dataflow blocks become plain ones and their variables ordinary variables.
#include "passes/common.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

class PlainBlocks : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    if (!b->var->is_dataflow()) return default_binding(b);
    // Before the value: a local function may call itself by this name.
    const Var* plain = ctx_.var(b->var->name, rewrite_type(b->var->type));
    ctx_.set_origin(plain, b->var);
    remap(b->var, plain);
    std::vector<const Binding*> out = default_binding(b);
    for (const Binding*& made : out) {
      const Var* to = plain;
      if (made->var->type != plain->type) {
        to = ctx_.var(plain->name, made->var->type);  // the value's type changed with a variable in it
        ctx_.set_origin(to, b->var);
      }
      remap(b->var, to);  // rewriting the binding may have created another variable, for a type with variables
      made = remake_binding(ctx_, made, to, made->value);
    }
    return out;
  }
  const BindingBlock* visit_block(const BindingBlock* b) override {
    const BindingBlock* made = default_block(b);
    if (!made || !made->is_dataflow()) return made;
    const BindingBlock* plain = ctx_.block(made->bindings, false);
    ctx_.set_origin(plain, b);
    return plain;
  }
  const SeqExpr* visit_seq(const SeqExpr* s) override {
    const SeqExpr* made = default_seq(s);
    if (made->blocks.size() < 2) return made;
    return make_seq(ctx_, {made->blocks.begin(), made->blocks.end()}, made->body, s);
  }
};

}  // namespace

const Function* without_dataflow(Context& ctx, const Function* f) { return PlainBlocks(ctx).rewrite_function(f); }

Result<const Module*> to_non_dataflow(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return without_dataflow(env.ctx, f);
  });
}

}  // namespace rldb::passes
