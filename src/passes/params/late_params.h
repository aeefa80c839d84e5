// LateParams: a base for passes that remove parameters from a function and fetch their values at their first use: right
// before that binding, or before the `if` that contains it, so that a name is bound once for the whole sequence. Values
// fetched in a dataflow block are not visible after it.
#pragma once

#include <unordered_map>
#include <vector>

#include "passes/common.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

class LateParams : public ir::Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  // The body without the parameters from `first` on. `symbols`: symbolic variables that only they bind are bound where
  // they are fetched, so a use of such a variable fetches its parameter.
  const ir::SeqExpr* rewrite_body(const ir::Function* f, std::size_t first, bool symbols = false);
  // Binds the value of the parameter, number `index` of the removed ones, and returns its new variable.
  virtual const ir::Var* fetch(const ir::Var* param, std::size_t index, bool dataflow,
                               std::vector<const ir::Binding*>& out) = 0;
  const ir::Var* variable(std::string_view name, const ir::Type* type, bool dataflow) {
    return dataflow ? static_cast<const ir::Var*>(ctx_.dataflow_var(name, type)) : ctx_.var(name, type);
  }

  // Whether the binding being visited is one of the body itself, not of a branch.
  bool outermost() const { return depth_ == 1; }

  const ir::SeqExpr* visit_seq(const ir::SeqExpr* s) override;
  const ir::BindingBlock* visit_block(const ir::BindingBlock* b) override;
  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override;

 private:
  void read(const ir::Var* v, std::vector<const ir::Binding*>& out);
  void read_dims(const ir::Type* t, std::vector<const ir::Binding*>& out);
  const ir::SeqExpr* read_rest(const ir::SeqExpr* from, const ir::SeqExpr* made);

  std::unordered_map<const ir::Var*, std::size_t> index_;     // of every removed parameter
  std::unordered_map<const ir::Var*, std::size_t> waiting_;   // those not fetched yet
  std::unordered_map<const ir::Var*, const ir::Var*> binds_;  // a symbolic variable, to the parameter that binds it
  std::vector<const ir::Var*> of_block_;                      // those fetched in this dataflow block
  int depth_ = 0;
  bool dataflow_ = false;
};

}  // namespace rldb::passes
