// CombineParallelMatmul: matmuls with the same left operand become one matmul of the concatenated right operands, split
// again afterwards. A bias addition and an activation that follow every one of them are included.
//
// As in TVM, and stricter where TVM goes wrong: a bias has to be as wide as its matmul (a broadcast one cannot be
// concatenated with others), operands have to be available before the first result is used, and values inside the
// combined chain that are also used elsewhere are not combined across.
#include <algorithm>
#include <map>

#include "passes/common.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

const TensorType* shaped_and_typed(const Expr* e) {
  const auto* t = as<TensorType>(e->type);
  return t && t->has_shape && !t->dtype.is_void() ? t : nullptr;
}

// One matmul and the operations that follow it.
struct Branch {
  std::size_t matmul;  // positions in the block
  std::size_t last;    // of the bindings replaced
  const Var* rhs;
  const Var* bias = nullptr;
  std::string_view activation;
};

class BlockCombiner {
 public:
  BlockCombiner(Context& ctx, const BindingBlock* block) : ctx_(ctx), block_(block) {
    place_.reserve(block->bindings.size());
    users_.reserve(block->bindings.size());
    for (std::size_t i = 0; i < block->bindings.size(); ++i) {
      place_[block->bindings[i]->var] = i;
      for (const Var* v : free_vars(block->bindings[i]->value)) users_[v].push_back(i);
    }
  }

  // The block with matmuls combined where possible; the same when there were none.
  const BindingBlock* run() {
    find_branches();
    for (const auto& [first, lhs] : order_) combine_all(lhs, branches_[lhs]);
    if (before_.empty()) return block_;
    std::vector<const Binding*> out;
    for (std::size_t i = 0; i < block_->bindings.size(); ++i) {
      support::poll();
      if (const auto extra = before_.find(i); extra != before_.end())
        out.insert(out.end(), extra->second.begin(), extra->second.end());
      const Binding* b = block_->bindings[i];
      const auto value = replaced_.find(i);
      out.push_back(value == replaced_.end() ? b : remake_binding(ctx_, b, b->var, value->second));
    }
    const BindingBlock* made = ctx_.block(out, true);
    ctx_.set_origin(made, block_);
    return made;
  }

 private:
  // ---- analysis ----

  void find_branches() {
    for (std::size_t i = 0; i < block_->bindings.size(); ++i) {
      const Call* call = as_call_of(block_->bindings[i]->value, op::Matmul);
      const auto* lhs = call ? as<Var>(call->args[0]) : nullptr;
      const auto* rhs = call ? as<Var>(call->args[1]) : nullptr;
      if (!lhs || !rhs || !shaped_and_typed(lhs) || !shaped_and_typed(rhs) || !shaped_and_typed(call)) continue;
      if (shaped_and_typed(rhs)->ndim < 2) continue;
      std::vector<Branch>& found = branches_[lhs];
      if (found.empty()) order_.emplace_back(i, lhs);
      found.push_back({i, i, rhs});
    }
  }

  // The only reader of a value, when it is a call of an operator with the value as its first operand.
  std::optional<std::size_t> follower(std::size_t i) const {
    const Var* v = block_->bindings[i]->var;
    const auto users = users_.find(v);
    if (!v->is_dataflow() || users == users_.end() || users->second.size() != 1) return std::nullopt;
    const std::size_t user = users->second[0];
    const auto* call = as<Call>(block_->bindings[user]->value);
    if (!call || !isa<Op>(call->callee) || call->args.empty() || call->args[0] != v) return std::nullopt;
    if (call->args.size() > 1 && call->args[1] == v) return std::nullopt;
    return user;
  }

  // Advances every branch by one step; does nothing unless all of them have it.
  template <class Step>
  bool extend(std::vector<Branch>& branches, const Step& step) {
    std::vector<Branch> longer = branches;
    for (Branch& b : longer)
      if (!step(b)) return false;
    branches = std::move(longer);
    return true;
  }

  bool add_bias(Branch& b) const {
    const auto user = follower(b.last);
    const Call* sum = user ? as_call_of(block_->bindings[*user]->value, op::Add) : nullptr;
    const auto* bias = sum ? as<Var>(sum->args[1]) : nullptr;
    const TensorType* t = bias ? shaped_and_typed(bias) : nullptr;
    if (!t || t->ndim < 1 || t->ndim > shaped_and_typed(block_->bindings[b.matmul]->value)->ndim) return false;
    const Expr* dims[] = {t->shape.back()};
    const Expr* wanted[] = {width(b)};
    if (!prove_shapes_equal(ctx_, dims, wanted)) return false;
    b.bias = bias;
    b.last = *user;
    return true;
  }

  // The same activation as in the first branch.
  bool add_activation(Branch& b, std::string_view& first) const {
    const auto user = follower(b.last);
    const Expr* value = user ? block_->bindings[*user]->value : nullptr;
    if (!value || !op::is_call_with(value, op::Trait::Activation)) return false;
    b.activation = as<Op>(as<Call>(value)->callee)->name;
    b.last = *user;
    if (first.empty()) first = b.activation;
    return b.activation == first;
  }

  static const Expr* width(const Branch& b) { return shaped_and_typed(b.rhs)->shape.back(); }

  // ---- combining ----

  void combine_all(const Var* lhs, std::vector<Branch> branches) {
    if (branches.size() < 2) return;
    if (extend(branches, [&](Branch& b) { return add_bias(b); })) {
      const int rank = shaped_and_typed(branches[0].bias)->ndim;
      if (std::any_of(branches.begin(), branches.end(),
                      [&](const Branch& b) { return shaped_and_typed(b.bias)->ndim != rank; }))
        for (Branch& b : branches) b = {b.matmul, b.matmul, b.rhs};
    }
    std::string_view activation;
    extend(branches, [&](Branch& b) { return add_activation(b, activation); });
    std::map<int, std::vector<Branch>> by_rank;
    for (const Branch& b : branches) by_rank[shaped_and_typed(b.rhs)->ndim].push_back(b);
    for (auto& [rank, same] : by_rank) combine(lhs, std::move(same));
  }

  bool batch_agrees(const std::vector<Branch>& branches, std::size_t excluded, const Var* Branch::*operand) const {
    const auto first = shaped_and_typed(branches[0].*operand)->shape;
    return std::all_of(branches.begin(), branches.end(), [&](const Branch& b) {
      const auto shape = shaped_and_typed(b.*operand)->shape;
      return prove_shapes_equal(ctx_, first.first(first.size() - excluded), shape.first(shape.size() - excluded));
    });
  }

  void combine(const Var* lhs, std::vector<Branch> branches) {
    if (branches.size() < 2 || !batch_agrees(branches, 2, &Branch::rhs)) return;
    // Known widths first; of unknown ones a single one, last, is enough, since it extends to the end.
    const auto is_dynamic = [](const Branch& b) { return !isa<IntImm>(width(b)); };
    std::stable_sort(branches.begin(), branches.end(),
                     [&](const Branch& a, const Branch& b) { return is_dynamic(a) < is_dynamic(b); });
    if (const auto first = std::find_if(branches.begin(), branches.end(), is_dynamic); first != branches.end())
      branches.erase(first + 1, branches.end());
    std::size_t at = block_->bindings.size();
    for (const Branch& b : branches) at = std::min(at, b.last);
    std::erase_if(branches,
                  [&](const Branch& b) { return !is_before(b.rhs, at) || (b.bias && !is_before(b.bias, at)); });
    if (branches.size() < 2) return;
    const DType dtype = shaped_and_typed(block_->bindings[branches[0].matmul]->value)->dtype;
    const bool same_dtype = std::all_of(branches.begin(), branches.end(), [&](const Branch& b) {
      return shaped_and_typed(block_->bindings[b.matmul]->value)->dtype == dtype;
    });
    if (!same_dtype || (branches[0].bias && !batch_agrees(branches, 1, &Branch::bias))) return;
    emit(lhs, branches, at, dtype);
  }

  bool is_before(const Var* v, std::size_t at) const {
    const auto found = place_.find(v);
    return found == place_.end() || found->second < at;
  }

  // Concatenates operands along the last dimension.
  const Expr* concat(const std::vector<Branch>& branches, const Var* Branch::*operand, std::size_t at) {
    std::vector<const Expr*> items;
    for (const Branch& b : branches) items.push_back(b.*operand);
    const std::int64_t axis = shaped_and_typed(items[0])->ndim - 1;
    return add(*ctx_.call(op::Concat, {ctx_.tuple(items)}, {ctx_.named(op_attr::Axis, ctx_.attr(axis))}), at);
  }

  const Expr* add(const Call* call, std::size_t at) {
    const Var* v = ctx_.dataflow_var("lv", call->type);
    const Binding* b = ctx_.binding(v, call);
    for (const Node* n : {static_cast<const Node*>(call), static_cast<const Node*>(v), static_cast<const Node*>(b)})
      ctx_.set_origin(n, block_->bindings[at]);
    before_[at].push_back(b);
    return v;
  }

  void emit(const Var* lhs, const std::vector<Branch>& branches, std::size_t at, DType dtype) {
    const Expr* rhs = concat(branches, &Branch::rhs, at);
    const Expr* all = add(*ctx_.call(op::Matmul, {lhs, rhs}, {ctx_.named(op_attr::OutDtype, ctx_.attr(dtype))}), at);
    if (branches[0].bias) all = add(*ctx_.call(op::Add, {all, concat(branches, &Branch::bias, at)}), at);
    if (!branches[0].activation.empty()) all = add(*ctx_.call(branches[0].activation, {all}), at);
    std::vector<std::int64_t> ends;
    std::int64_t end = 0;
    for (std::size_t i = 0; i + 1 < branches.size(); ++i) ends.push_back(end += as<IntImm>(width(branches[i]))->value);
    const std::int64_t axis = shaped_and_typed(all)->ndim - 1;
    const Expr* parts = add(*ctx_.call(op::Split, {all},
                                       {ctx_.named(op_attr::IndicesOrSections, ctx_.attr_ints(ends)),
                                        ctx_.named(op_attr::Axis, ctx_.attr(axis))}),
                            at);
    for (std::size_t i = 0; i < branches.size(); ++i)
      replaced_[branches[i].last] = *ctx_.tuple_get(parts, std::int64_t(i));
  }

  Context& ctx_;
  const BindingBlock* block_;
  std::unordered_map<const Var*, std::size_t> place_;
  std::unordered_map<const Var*, std::vector<std::size_t>> users_;
  std::unordered_map<const Var*, std::vector<Branch>> branches_;  // by left operand
  std::vector<std::pair<std::size_t, const Var*>> order_;
  std::map<std::size_t, std::vector<const Binding*>> before_;
  std::unordered_map<std::size_t, const Expr*> replaced_;
};

class Combiner : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const BindingBlock* visit_block(const BindingBlock* b) override {
    const BindingBlock* made = default_block(b);
    return made->is_dataflow() ? BlockCombiner(ctx_, made).run() : made;
  }
};

}  // namespace

Result<const Module*> combine_parallel_matmul(PassEnv& env, const Module* module,
                                              const CombineParallelMatmulOptions& options) {
  if (!options.check.is(pipeline::WrittenValue::Kind::None))
    return Failure(message(diag::PassOptionValue, "check", "None", options.check.written));
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    const Function* made = Combiner(env.ctx).rewrite_function(f);
    return made == f ? f : remove_dead_bindings(env.ctx, made);
  });
}

}  // namespace rldb::passes
