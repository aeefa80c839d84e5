// Plans of LiftTransformParams, for one function and for several that share their weights.
#include "passes/params/lift_plan.h"

#include <algorithm>

#include "rldb/ir/equal.h"
#include "rldb/ir/op/device.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

// The variables that a binding reads in its value and in its type.
std::vector<const Var*> read_by(const Binding* b) {
  std::vector<const Var*> used = free_vars(b->value);
  collect_vars(b->is_match_cast() ? b->cast_type : b->var->type, used);
  return used;
}

class Planner {
 public:
  // `allowed`: only these variables may be lifted; null: all.
  Planner(LiftPlan& plan, const VarSet* allowed) : plan_(plan), allowed_(allowed) {}

  void run() {
    const Function* f = plan_.function;
    for (const Var* w : plan_.weights()) {
      plan_.from_weights.insert(w);
      known_.insert(w);
      bound_symbols(w->type, known_);
    }
    for (const BindingBlock* block : f->body->blocks)
      for (const Binding* b : block->bindings) {
        support::poll();
        visit(b, block->is_dataflow());
      }
    need(free_vars(f->body->body));
    std::vector<const Var*> used;
    collect_vars(f->ret_type, used);
    need(used);
  }

 private:
  void need(const std::vector<const Var*>& used) { plan_.at_runtime.insert(used.begin(), used.end()); }

  void visit(const Binding* b, bool dataflow) {
    const std::vector<const Var*> used = read_by(b);
    if (!dataflow || !can_lift(b, used)) return need(used);
    plan_.lifted.push_back(b);
    known_.insert(b->var);
    if (std::any_of(used.begin(), used.end(), [&](const Var* v) { return plan_.from_weights.count(v) > 0; }))
      plan_.from_weights.insert(b->var);
  }

  bool can_lift(const Binding* b, const std::vector<const Var*>& used) const {
    if (as_call_of(b->value, op::BuiltinStopLiftParams) || isa<ExternFunc>(b->value) || isa<Function>(b->value))
      return false;
    if (allowed_ && !allowed_->count(b->var)) return false;
    return std::all_of(used.begin(), used.end(), [&](const Var* v) { return known_.count(v) > 0; });
  }

  LiftPlan& plan_;
  const VarSet* allowed_;
  VarSet known_;  // weights, their symbolic variables, and lifted variables
};

// Finds bindings common to all functions.
class Unifier {
 public:
  Unifier(Context& ctx, std::vector<LiftPlan>& plans) : ctx_(ctx), plans_(plans) {}

  Result<SharedPlan> run() {
    RLDB_TRY_VOID(map_weights());
    for (std::size_t i = 0; i < plans_.size(); ++i)
      for (const Binding* b : plans_[i].lifted) add(i, b);
    VarSet shared;
    VarMap counterpart = map_;
    for (const Entry& e : entries_) {
      if (e.functions != plans_.size()) continue;
      for (const Binding* b : e.bindings) {
        shared.insert(b->var);
        counterpart[b->var] = e.bindings.front()->var;
      }
    }
    SharedPlan out;
    out.counterpart = std::move(counterpart);
    const auto first = [&](const Var* v) {
      const auto found = out.counterpart.find(v);
      return found == out.counterpart.end() ? v : as<Var>(found->second);
    };
    for (LiftPlan& p : plans_) {
      LiftPlan again{p.name, p.function, p.inputs, {}, {}, {}};
      Planner(again, &shared).run();
      p = std::move(again);
      for (const Var* v : p.from_weights) out.plan.from_weights.insert(first(v));
      for (const Var* v : p.at_runtime) out.plan.at_runtime.insert(first(v));
    }
    out.plan.function = plans_.front().function;
    out.plan.inputs = plans_.front().inputs;
    for (const Entry& e : entries_)
      if (e.functions == plans_.size()) out.plan.lifted.push_back(e.bindings.front());
    return out;
  }

 private:
  struct Entry {
    const Expr* value;  // in terms of the first function
    std::vector<const Binding*> bindings;
    std::size_t functions = 0;
    std::size_t last = 0;
  };

  Result<support::Unit> map_weights() {
    const std::vector<const Var*> first = plans_.front().weights();
    for (const LiftPlan& p : plans_) {
      const std::vector<const Var*> own = p.weights();
      if (own.size() != first.size())
        return different(p, std::to_string(own.size()) + " vs " + std::to_string(first.size()));
      for (std::size_t i = 0; i < own.size(); ++i) {
        std::vector<const Var*> from, to;
        collect_vars(own[i]->type, from);
        collect_vars(first[i]->type, to);
        const bool agree = from.size() == to.size();
        for (std::size_t k = 0; agree && k < from.size(); ++k) map_.try_emplace(from[k], to[k]);
        if (!agree || substitute(ctx_, own[i]->type, map_) != first[i]->type)
          return different(p, "`" + std::string(own[i]->name) + "` against `" + std::string(first[i]->name) + "`");
        map_[own[i]] = first[i];
      }
    }
    return support::Unit{};
  }

  support::Failure<source::Message> different(const LiftPlan& p, const std::string& what) const {
    return Failure(message(diag::PassUnsupported, "`" + std::string(p.name) + "`",
                           "its weights have other types than those of `" + std::string(plans_.front().name) +
                               "`, with which it shares a transform: " + what));
  }

  void add(std::size_t function, const Binding* b) {
    if (b->is_match_cast()) return;
    const Expr* value = substitute(ctx_, b->value, map_);
    for (const std::size_t at : by_hash_[structural_hash(value)]) {
      Entry& e = entries_[at];
      if (!structural_equal(e.value, value)) continue;
      if (e.last != function) ++e.functions;
      e.last = function;
      e.bindings.push_back(b);
      map_[b->var] = e.bindings.front()->var;
      return;
    }
    by_hash_[structural_hash(value)].push_back(entries_.size());
    entries_.push_back({value, {b}, 1, function});
    map_[b->var] = b->var;
  }

  Context& ctx_;
  std::vector<LiftPlan>& plans_;
  VarMap map_;
  std::vector<Entry> entries_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_hash_;
};

}  // namespace

std::vector<const Var*> LiftPlan::weights() const {
  return {function->params.begin() + std::ptrdiff_t(inputs), function->params.end()};
}

std::vector<const Var*> LiftPlan::outputs() const {
  std::vector<const Var*> out;
  for (const Var* w : weights())
    if (at_runtime.count(w)) out.push_back(w);
  for (const Binding* b : lifted)
    if (from_weights.count(b->var) && at_runtime.count(b->var)) out.push_back(b->var);
  return out;
}

std::vector<const Var*> LiftPlan::passed_symbols(const std::vector<const Var*>& outputs, bool with_inputs) const {
  VarSet bound;
  for (const Var* v : outputs) bound_symbols(v->type, bound);
  for (std::size_t i = 0; with_inputs && i < inputs; ++i) {
    bound.insert(function->params[i]);
    bound_symbols(function->params[i]->type, bound);
  }
  VarSet of_weights;
  for (const Var* w : weights()) bound_symbols(w->type, of_weights);
  std::vector<const Var*> out, all;
  for (const Var* w : weights()) collect_vars(w->type, all);
  for (const Var* v : all)
    if (of_weights.count(v) && at_runtime.count(v) && bound.insert(v).second) out.push_back(v);
  return out;
}

LiftPlan plan_lift(std::string_view name, const Function* f) {
  LiftPlan plan{name, f, input_count(f), {}, {}, {}};
  Planner(plan, nullptr).run();
  return plan;
}

Result<SharedPlan> plan_shared(Context& ctx, std::vector<LiftPlan>& plans) { return Unifier(ctx, plans).run(); }

}  // namespace rldb::passes
