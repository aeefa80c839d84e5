// Helpers shared by passes that change the signatures of private functions and all calls of them.
#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "passes/common.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

// Names of functions used other than as the callee of a call: other code depends on their signature too.
std::unordered_set<std::string_view> escaping_functions(const ir::Module* module);
// Private Relax functions whose every use is a call.
bool is_internal(const ir::ModuleEntry& e, const std::unordered_set<std::string_view>& escaping);

// The number of tensors, shapes or scalars in a value of the type when its tuples are flattened.
std::size_t leaf_count(const ir::Type* t);
void collect_leaves(const ir::Type* t, std::vector<const ir::Type*>& out);
// The leaves of an argument: items of a literal tuple, else fields, bound by new bindings appended to `out`.
void flatten_argument(ir::Context& ctx, const ir::Expr* e, bool dataflow, std::vector<const ir::Expr*>& leaves,
                      std::vector<const ir::Binding*>& out);
// Rebuilds a value of the type from its leaves, starting at `next`: a literal tuple of literal tuples.
const ir::Expr* from_leaves(ir::Context& ctx, const ir::Type* t, const std::vector<const ir::Expr*>& leaves,
                            std::size_t& next);

// How the passes that change signatures end: bindings canonical in every function, no dead ones, no unreachable
// functions.
ir::Result<const ir::Module*> canonical_without_dead_code(PassEnv& env, const ir::Module* module);

// Rewrites bindings whose value is a call of a function of the module.
class CallSiteRewriter : public ir::Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  // The bindings that replace one binding a call of `name`, its operands already rewritten; empty: it stays.
  virtual std::vector<const ir::Binding*> replace_call(const ir::Binding* b, const ir::Call* call,
                                                       std::string_view name) = 0;
  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override;
  const ir::BindingBlock* visit_block(const ir::BindingBlock* b) override;
  bool in_dataflow() const { return dataflow_; }

 private:
  bool dataflow_ = false;
};

}  // namespace rldb::passes
