// Moves of the reducer on branches, parameters and attributes of a Relax function.
#include <algorithm>

#include "repro/reduce/moves.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;

namespace {

// Replaces a conditional, wherever it is bound, by one branch.
class Decide : public ir::Rewriter {
 public:
  Decide(ir::Context& ctx, const ir::Binding* target, const ir::SeqExpr* branch)
      : Rewriter(ctx), target_(target), branch_(branch) {}

 private:
  const ir::Expr* visit_expr(const ir::Expr* e) override {
    const auto* body = as<ir::SeqExpr>(e);
    if (!body) return default_expr(e);
    std::vector<const ir::BindingBlock*> blocks;
    bool found = false;
    for (const ir::BindingBlock* block : body->blocks) {
      const auto at = std::find(block->bindings.begin(), block->bindings.end(), target_);
      if (at == block->bindings.end() || block->is_dataflow()) {
        blocks.push_back(block);
        continue;
      }
      found = true;
      const std::vector<const ir::Binding*> before(block->bindings.begin(), at);
      if (!before.empty()) blocks.push_back(ctx_.block(before));
      blocks.insert(blocks.end(), branch_->blocks.begin(), branch_->blocks.end());
      std::vector<const ir::Binding*> after{ctx_.binding(target_->var, branch_->body)};
      after.insert(after.end(), at + 1, block->bindings.end());
      blocks.push_back(ctx_.block(after));
    }
    return found ? ctx_.seq(blocks, body->body) : default_expr(e);
  }
  const ir::Binding* target_;
  const ir::SeqExpr* branch_;
};

const ir::Module* decide(ir::Context& ctx, const ir::Module* module, const std::string& name, const ir::Binding* target,
                         const ir::SeqExpr* branch) {
  const auto* f = as<ir::Function>(module->find(name));
  const auto* body = as<ir::SeqExpr>(Decide(ctx, target, branch).rewrite(f->body));
  if (!body || body == f->body) return nullptr;
  const std::vector<const ir::Var*> params(f->params.begin(), f->params.end());
  return tidy(ctx, module,
              with_function(ctx, module, name, ctx.function(params, body, f->ret_type, f->is_pure, f->attrs)), name);
}

// Uses of `from` are replaced by `to`.
const ir::Module* unify(ir::Context& ctx, const ir::Module* module, const std::string& name, const ir::Var* from,
                        const ir::Var* to) {
  const auto* f = as<ir::Function>(module->find(name));
  Unify rewriter(ctx, from, to);
  const auto* body = as<ir::SeqExpr>(rewriter.rewrite(f->body));
  if (!body || body == f->body) return nullptr;
  const std::vector<const ir::Var*> params(f->params.begin(), f->params.end());
  return tidy(ctx, module,
              with_function(ctx, module, name, ctx.function(params, body, f->ret_type, f->is_pure, f->attrs)), name);
}

}  // namespace

std::vector<Candidate> decided_branches(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  const auto* f = as<ir::Function>(module->find(name));
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* b = as<ir::Binding>(n);
    if (const auto* branch = b ? as<ir::If>(b->value) : nullptr)
      for (const ir::SeqExpr* side : {branch->then_branch, branch->else_branch})
        out.push_back({"branch", [&ctx, module, name, b, side] { return decide(ctx, module, name, b, side); }});
    return true;
  });
  return out;
}

std::vector<Candidate> fewer_parameters(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  const auto* f = as<ir::Function>(module->find(name));
  for (std::size_t i = f->params.size(); i-- > 1;)
    for (std::size_t k = 0; k < i; ++k)
      if (const ir::Var* from = f->params[i], *to = f->params[k]; from->type == to->type) {
        out.push_back({"parameter", [&ctx, module, name, from, to] { return unify(ctx, module, name, from, to); }});
        break;
      }
  return out;
}

std::vector<Candidate> fewer_attributes(ir::Context& ctx, const ir::Module* module) {
  std::vector<Candidate> out;
  for (const ir::ModuleEntry& e : module->entries) {
    const auto* f = as<ir::Function>(e.function);
    const auto* kernel = as<ir::PrimFunc>(e.function);
    if (!f && !kernel) continue;
    for (const ir::NamedAttr& attr : f ? f->attrs : kernel->attrs) {
      if (attr.name == attr_name::GlobalSymbol) continue;  // marks it as public
      out.push_back({"attribute", [&ctx, module, f, kernel, entry = std::string(e.name), name = attr.name] {
                       ir::ModuleBuilder builder(ctx, *module);
                       if (f) {
                         const std::vector<const ir::Var*> params(f->params.begin(), f->params.end());
                         builder.set(entry, ctx.function(params, f->body, f->ret_type, f->is_pure,
                                                         ctx.with_attr(f->attrs, name, nullptr)));
                       } else {
                         builder.set(entry, ctx.prim_func(kernel->params, kernel->ret_type, kernel->body,
                                                          ctx.with_attr(kernel->attrs, name, nullptr), kernel->s_tir));
                       }
                       return builder.build();
                     }});
    }
  }
  return out;
}

}  // namespace rldb::repro
