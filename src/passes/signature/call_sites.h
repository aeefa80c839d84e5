// What the passes share that change the signatures of private functions and all calls of them.
#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "passes/common.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

// Names of functions that appear somewhere else than as the callee of a call: their signature is somebody else's too.
std::unordered_set<std::string_view> escaping_functions(const ir::Module* module);
// Private Relax functions whose every use is a call.
bool is_internal(const ir::ModuleEntry& e, const std::unordered_set<std::string_view>& escaping);

// How many tensors, shapes or scalars a value of the type is when its tuples are taken apart.
std::size_t leaf_count(const ir::Type* t);
void collect_leaves(const ir::Type* t, std::vector<const ir::Type*>& out);
// The leaves of an argument: items of a literal tuple, else fields, bound by new bindings that go to `out`.
void flatten_argument(ir::Context& ctx, const ir::Expr* e, bool dataflow, std::vector<const ir::Expr*>& leaves,
                      std::vector<const ir::Binding*>& out);
// The value of the type from its leaves, from `next` on: a literal tuple of literal tuples.
const ir::Expr* from_leaves(ir::Context& ctx, const ir::Type* t, const std::vector<const ir::Expr*>& leaves,
                            std::size_t& next);

// Rewrites bindings whose value is a call of a function of the module.
class CallSiteRewriter : public ir::Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  // The bindings in place of one that binds a call of `name`, its operands rewritten already; empty: it stays.
  virtual std::vector<const ir::Binding*> replace_call(const ir::Binding* b, const ir::Call* call,
                                                       std::string_view name) = 0;
  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override;
  const ir::BindingBlock* visit_block(const ir::BindingBlock* b) override;
  bool in_dataflow() const { return dataflow_; }

 private:
  bool dataflow_ = false;
};

}  // namespace rldb::passes
