// EliminateCommonSubexpr(call_only=False): a pure expression that was already computed becomes an alias. This stays
// within a scope: not out of a branch, not from one dataflow block's variables to another's. Allocations stay separate,
// and so do match_casts that define variables.
#include <fmt/format.h>

#include <unordered_map>

#include "passes/common.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/rewrite_counter.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Merger : public Rewriter {
 public:
  Merger(Context& ctx, bool call_only) : Rewriter(ctx), call_only_(call_only) {}

 protected:
  // Expressions found in a sequence are not visible outside it.
  const SeqExpr* visit_seq(const SeqExpr* s) override {
    const std::size_t mark = order_.size();
    const SeqExpr* made = default_seq(s);
    forget(mark, [](const Entry&) { return true; });
    return made;
  }

  const Expr* visit_expr(const Expr* e) override {
    const auto* f = as<Function>(e);
    if (!f) return Rewriter::visit_expr(e);
    Known outer;
    std::vector<std::uint64_t> order;
    std::swap(outer, known_);
    std::swap(order, order_);
    const Function* made = rewrite_function(f);
    std::swap(outer, known_);
    std::swap(order, order_);
    return made;
  }

  const BindingBlock* visit_block(const BindingBlock* b) override {
    const std::size_t mark = order_.size();
    const BindingBlock* made = default_block(b);
    // After the block an output is known by its own name again.
    for (const auto& [from, own] : outputs_) remap(from, own);
    outputs_.clear();
    if (b->is_dataflow()) forget(mark, [](const Entry& entry) { return entry.var->is_dataflow(); });
    return made;
  }

  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> out = default_binding(b);
    if (out.size() != 1 || !eligible(out[0])) return out;
    const Binding* made = out[0];
    const std::uint64_t hash = key_of(made->value);
    std::vector<Entry>& same = known_[hash];
    for (const Entry& entry : same) {
      const Binding* first = entry.binding;
      if (first->cast_type != made->cast_type || first->value->type != made->value->type ||
          !structural_equal(first->value, made->value)) {
        continue;
      }
      if (!may_rewrite([&] { return fmt::format("`{}` becomes `{}`", b->var->name, entry.var->name); })) break;
      const Binding* alias = ctx_.binding(made->var, entry.var);
      ctx_.set_origin(alias, b);
      remap(b->var, entry.var);
      if (entry.var->is_dataflow() && !made->var->is_dataflow()) outputs_.emplace_back(b->var, made->var);
      return {alias};
    }
    same.push_back({made, made->var});
    order_.push_back(hash);
    return out;
  }

 private:
  struct Entry {
    const Binding* binding;
    const Var* var;
  };
  using Known = std::unordered_map<std::uint64_t, std::vector<Entry>>;

  // Removes the entries since `mark` that are `out`.
  template <class Out>
  void forget(std::size_t mark, const Out& out) {
    std::vector<std::pair<std::uint64_t, Entry>> kept;
    for (; order_.size() > mark; order_.pop_back()) {
      std::vector<Entry>& bucket = known_[order_.back()];
      if (!out(bucket.back())) kept.emplace_back(order_.back(), bucket.back());
      bucket.pop_back();
    }
    for (auto it = kept.rbegin(); it != kept.rend(); ++it) {
      known_[it->first].push_back(it->second);
      order_.push_back(it->first);
    }
  }

  // The structural hash numbers free variables in order of occurrence, so that `x + x` and `y + y` agree; here they
  // must not, or every addition of a long chain falls into one bucket.
  static std::uint64_t key_of(const Expr* value) {
    std::uint64_t key = structural_hash(value);
    walk(value, [&](const Node* n) {
      if (isa<Var>(n)) key = (key ^ n->id) * 0x9E3779B97F4A7C15u;
      return true;
    });
    return key;
  }

  bool eligible(const Binding* b) const {
    const Expr* value = b->value;
    if (b->is_match_cast()) {
      std::vector<const Var*> vars;
      collect_vars(b->cast_type, vars);
      return !call_only_ && vars.empty();
    }
    if (const auto* call = as<Call>(value))
      return ops::is_pure_call(call) && !op::is_call_with(value, op::Trait::Allocates);
    return !call_only_ && (isa<Tuple>(value) || isa<TupleGetItem>(value) || isa<ShapeExpr>(value));
  }

  bool call_only_;
  std::vector<std::pair<const Var*, const Var*>> outputs_;  // of this dataflow block, replaced by inner variables
  Known known_;                                             // by hash, expressions computed in the scope
  std::vector<std::uint64_t> order_;                        // hashes of `known_` in insertion order
};

}  // namespace

const Function* merge_equal_bindings(Context& ctx, const Function* f) { return Merger(ctx, false).rewrite_function(f); }

Result<const Module*> eliminate_common_subexpr(PassEnv& env, const Module* module, const PassOptions& options) {
  const bool call_only = bool_option(options, 0, "call_only", false);
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return Merger(env.ctx, call_only).rewrite_function(f);
  });
}

}  // namespace rldb::passes
