// EliminateCommonSubexpr(call_only=False): a pure expression that was already bound becomes an alias: a call, a tuple,
// a constant, a branch, another alias. This stays within a scope: not out of a branch, not from one dataflow block's
// variables to another's. Allocations stay separate, and so do variables that the program kills itself.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "passes/common.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/rewrite_counter.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Merger : public Rewriter {
 public:
  Merger(Context& ctx, const Function* f, bool call_only)
      : Rewriter(ctx), call_only_(call_only), killed_(killed_variables(f)) {}

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
    const bool outer = std::exchange(dataflow_, b->is_dataflow());
    const BindingBlock* made = default_block(b);
    dataflow_ = outer;
    // After the block an output is known by its own name again, and the block's variables by those of outputs.
    for (const Output& o : outputs_) remap(o.from, o.own);
    if (b->is_dataflow()) forget(mark, [](const Entry& entry) { return entry.var->is_dataflow(); });
    for (const Output& o : outputs_)
      if (o.known.var->is_dataflow()) know(o.key, {o.known.binding, o.own});
    outputs_.clear();
    return made;
  }

  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> out = default_binding(b);
    if (out.size() != 1 || !eligible(out[0])) return out;
    const Binding* made = out[0];
    const std::uint64_t hash = key_of(made->value);
    for (const Entry& entry : known_[hash]) {
      const Binding* first = entry.binding;
      if (first->cast_type != made->cast_type || first->value->type != made->value->type ||
          !structural_equal(first->value, made->value)) {
        continue;
      }
      if (!may_rewrite([&] { return fmt::format("`{}` becomes `{}`", b->var->name, entry.var->name); })) break;
      const Binding* alias = ctx_.binding(made->var, entry.var);
      ctx_.set_origin(alias, b);
      remap(b->var, entry.var);
      if (dataflow_ && !made->var->is_dataflow()) outputs_.push_back({b->var, made->var, hash, entry});
      return {alias};
    }
    know(hash, {made, made->var});
    return out;
  }

 private:
  struct Entry {
    const Binding* binding;
    const Var* var;
  };
  using Known = std::unordered_map<std::uint64_t, std::vector<Entry>>;
  // An output of the dataflow block that is an alias of `known`.
  struct Output {
    const Var* from;
    const Var* own;
    std::uint64_t key;
    Entry known;
  };

  void know(std::uint64_t key, const Entry& entry) {
    known_[key].push_back(entry);
    order_.push_back(key);
  }

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
    if (isa<If>(value) || isa<Function>(value)) return key;  // these bind variables of their own
    walk(value, [&](const Node* n) {
      if (isa<Var>(n)) key = (key ^ n->id) * 0x9E3779B97F4A7C15u;
      return true;
    });
    return key;
  }

  bool eligible(const Binding* b) const {
    const Expr* value = b->value;
    if ((call_only_ && !isa<Call>(value)) || op::is_call_with(value, op::Trait::Allocates)) return false;
    if (killed_.contains(b->var) || (isa<Var>(value) && killed_.contains(as<Var>(value)))) return false;
    return !has_effect(value);
  }

  // Functions inside of the value are not called by it; a function that is the value itself is looked into.
  static bool has_effect(const Expr* value) {
    const auto* f = as<Function>(value);
    bool found = false;
    walk(f ? static_cast<const Node*>(f->body) : value, [&](const Node* n) {
      const auto* call = as<Call>(n);
      found = found || (call && !ops::is_pure_call(call));
      return !found && !isa<Function>(n);
    });
    return found;
  }

  bool call_only_;
  bool dataflow_ = false;
  std::unordered_set<const Var*> killed_;
  std::vector<Output> outputs_;       // of this dataflow block, replaced inside of it
  Known known_;                       // by hash, expressions computed in the scope
  std::vector<std::uint64_t> order_;  // hashes of `known_` in insertion order
};

}  // namespace

const Function* merge_equal_bindings(Context& ctx, const Function* f) {
  return Merger(ctx, f, false).rewrite_function(f);
}

Result<const Module*> eliminate_common_subexpr(PassEnv& env, const Module* module,
                                               const EliminateCommonSubexprOptions& options) {
  const bool call_only = options.call_only;
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return Merger(env.ctx, f, call_only).rewrite_function(f);
  });
}

}  // namespace rldb::passes
