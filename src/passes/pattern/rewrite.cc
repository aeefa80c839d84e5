// rewrite_call and rewrite_bindings: replace matches of patterns through a function of the caller.
#include "rldb/passes/rewrite.h"

#include "passes/common.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

class CallReplacer : public Rewriter {
 public:
  CallReplacer(Context& ctx, const Pattern& pattern, const CallRewriter& rewriter)
      : Rewriter(ctx), pattern_(pattern), rewriter_(rewriter) {}

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    support::poll();
    std::vector<const Binding*> made = default_binding(b);
    if (made.size() != 1 || made[0]->is_match_cast()) return made;
    PatternMatch parts;
    const Expr* value = made[0]->value;
    if (match(pattern_, value, bound_, parts)) value = rewriter_(value, parts);
    if (value != made[0]->value) {
      const Var* v = define_var(b->var, b->var->type == b->value->type ? value->type : nullptr);
      const Binding* replaced = ctx_.binding(v, value);
      ctx_.set_origin(replaced, b);
      made[0] = replaced;
    }
    bound_[made[0]->var] = made[0]->value;
    return made;
  }

 private:
  const Pattern& pattern_;
  const CallRewriter& rewriter_;
  BoundValues bound_;
};

class BindingsReplacer : public Rewriter {
 public:
  BindingsReplacer(Context& ctx, const PatternGraph& graph, const BindingsRewriter& rewriter)
      : Rewriter(ctx), graph_(graph), rewriter_(rewriter) {}

 protected:
  const BindingBlock* visit_block(const BindingBlock* block) override {
    const BindingBlock* made = default_block(block);
    if (!made->is_dataflow()) return made;
    std::unordered_map<const Var*, const Expr*> values;
    for (const PatternGraph::Match& found : graph_.all_matches(made))
      for (const auto& [v, e] : rewriter_(found)) values.emplace(v, e);
    if (values.empty()) return made;
    std::vector<const Binding*> out;
    for (const Binding* b : made->bindings) {
      const auto value = values.find(b->var);
      out.push_back(value == values.end() ? b : remake_binding(ctx_, b, b->var, value->second));
    }
    const BindingBlock* replaced = ctx_.block(out, true);
    ctx_.set_origin(replaced, block);
    return replaced;
  }

 private:
  const PatternGraph& graph_;
  const BindingsRewriter& rewriter_;
};

}  // namespace

const Function* rewrite_call(Context& ctx, const Pattern& pattern, const CallRewriter& rewriter, const Function* f) {
  const Function* made = CallReplacer(ctx, pattern, rewriter).rewrite_function(f);
  return made == f ? f : remove_dead_bindings(ctx, made);
}

const Function* rewrite_bindings(Context& ctx, const PatternGraph& graph, const BindingsRewriter& rewriter,
                                 const Function* f) {
  const Function* made = BindingsReplacer(ctx, graph, rewriter).rewrite_function(f);
  return made == f ? f : remove_dead_bindings(ctx, made);
}

}  // namespace rldb::passes
