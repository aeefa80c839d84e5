// BodyCopier: copies a function's bindings, with fresh variables and symbolic variables.
#pragma once

#include <unordered_set>
#include <vector>

#include "rldb/ir/walk.h"

namespace rldb::passes {

class BodyCopier : public ir::Rewriter {
 public:
  // `dataflow`: the copies go into a dataflow block.
  BodyCopier(ir::Context& ctx, bool dataflow) : Rewriter(ctx), dataflow_(dataflow) {}

  // Substitutes the arguments for the parameters. Conditions that a call would check and the arguments' types do not
  // prove become a match_cast, which also defines symbolic variables.
  void put_arguments(const ir::Function* f, ir::Span<const ir::Expr*> args, std::vector<const ir::Binding*>& out);
  void copy_bindings(const ir::BindingBlock* block, std::vector<const ir::Binding*>& out);
  // The whole function copied with other attributes.
  const ir::Function* copy_function(const ir::Function* f, ir::Span<ir::NamedAttr> attrs);

 protected:
  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override;
  const ir::Expr* visit_expr(const ir::Expr* e) override;

 private:
  const ir::Var* variable(const ir::Var* from, const ir::Type* type, bool dataflow);
  void learn(const ir::Type* param, const ir::Expr* arg);
  void learn_dims(ir::Span<const ir::Expr*> dims, ir::Span<const ir::Expr*> given);
  void renew_symbols(const ir::Type* t);

  bool dataflow_;
  std::unordered_set<const ir::Var*> own_;  // symbols created here
};

}  // namespace rldb::passes
