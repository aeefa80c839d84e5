// Normalize: arguments, tuple fields and conditions become leaves, neighbouring blocks of one kind one block. The front
// end and the passes make only such programs; this is for what was built otherwise.
#include "passes/common.h"
#include "rldb/ir/block_builder.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Normalizer : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const BindingBlock* visit_block(const BindingBlock* b) override {
    const bool outer = dataflow_;
    dataflow_ = b->is_dataflow();
    const BindingBlock* made = default_block(b);
    dataflow_ = outer;
    return made;
  }

  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> outer;
    std::swap(outer, before_);
    std::vector<const Binding*> made = default_binding(b);
    for (const Binding*& m : made) m = remake_binding(ctx_, m, m->var, flat(m->value));
    std::swap(outer, before_);
    outer.insert(outer.end(), made.begin(), made.end());
    return outer;
  }

  const SeqExpr* visit_seq(const SeqExpr* s) override {
    std::vector<const Binding*> outer;
    std::swap(outer, before_);
    const SeqExpr* made = default_seq(s);
    const Expr* body = leaf(made->body);
    std::swap(outer, before_);
    std::vector<const BindingBlock*> blocks(made->blocks.begin(), made->blocks.end());
    if (!outer.empty()) blocks.push_back(ctx_.block(outer));
    bool neighbours = false;
    for (std::size_t i = 0; i + 1 < blocks.size(); ++i)
      neighbours = neighbours || blocks[i]->is_dataflow() == blocks[i + 1]->is_dataflow();
    for (const BindingBlock* b : blocks) neighbours = neighbours || b->bindings.empty();
    return outer.empty() && !neighbours && body == made->body ? made : make_seq(ctx_, blocks, body, s);
  }

 private:
  // The value with leaves below it.
  const Expr* flat(const Expr* e) {
    if (const auto* call = as<Call>(e)) {
      bool changed = false;
      std::vector<const Expr*> args;
      for (const Expr* a : call->args) {
        args.push_back(leaf(a));
        changed = changed || args.back() != a;
      }
      return changed ? ctx_.call_typed(call->callee, args, call->type, call->attrs, call->ty_args) : e;
    }
    if (const auto* get = as<TupleGetItem>(e)) {
      const Expr* tuple = leaf(get->tuple);
      if (tuple == get->tuple) return e;
      Result<const TupleGetItem*> made = ctx_.tuple_get(tuple, get->index);
      RLDB_CHECK(made.ok(), "a tuple keeps its fields");
      return *made;
    }
    if (const auto* branch = as<If>(e)) {
      const Expr* cond = leaf(branch->cond);
      return cond == branch->cond ? e : ctx_.if_expr(cond, branch->then_branch, branch->else_branch, branch->type);
    }
    return isa<Tuple>(e) ? leaf(e) : e;
  }

  const Expr* leaf(const Expr* e) {
    if (const auto* t = as<Tuple>(e)) {
      bool changed = false;
      std::vector<const Expr*> items;
      for (const Expr* item : t->items) {
        items.push_back(leaf(item));
        changed = changed || items.back() != item;
      }
      return changed ? ctx_.tuple(items) : e;
    }
    if (is_leaf(e)) return e;
    const Expr* value = flat(e);
    const Binding* b = bind_new(ctx_, dataflow_ ? "lv" : "gv", value, e);
    if (dataflow_) {
      const Var* v = ctx_.dataflow_var("lv", value->type);
      b = remake_binding(ctx_, b, v, value);
    }
    before_.push_back(b);
    return b->var;
  }

  bool dataflow_ = false;
  std::vector<const Binding*> before_;
};

}  // namespace

Result<const Module*> normalize(PassEnv& env, const Module* module, const PassOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return refine_result(env.ctx, Normalizer(env.ctx).rewrite_function(f));
  });
}

}  // namespace rldb::passes
