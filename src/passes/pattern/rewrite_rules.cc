// Rewrite rules given as modules: `pattern` and `replacement` (R.rewriter).
//
// A round goes through the bindings of each block once and puts copies of the replacement where a result of the pattern
// is bound. Then dead values are removed, equal ones merged, and the next round begins, as in TVM.
#include <algorithm>
#include <map>

#include "passes/common.h"
#include "passes/fusion/function_table.h"
#include "passes/pattern/rule_match.h"
#include "passes/signature/body_copier.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/type_relation.h"
#include "rldb/passes/rewrite.h"
#include "rldb/source/diagnostic_pattern.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

constexpr std::size_t kMaxPatternBindings = 500;
constexpr int kMaxRounds = 1000;
// A function may grow to this many times its number of bindings, plus a constant, before its rules count as endless.
constexpr std::size_t kMaxGrowth = 16;
constexpr std::size_t kSmall = 10'000;

std::size_t count_bindings(const Function* f) {
  std::size_t count = 0;
  for (const BindingBlock* b : f->body->blocks) count += b->bindings.size();
  return count;
}

bool is_straight(const Function* f) {
  return std::all_of(f->body->blocks.begin(), f->body->blocks.end(), [](const BindingBlock* block) {
    return std::all_of(block->bindings.begin(), block->bindings.end(), [](const Binding* b) {
      return !isa<If>(b->value) && !isa<Function>(b->value) && !isa<SeqExpr>(b->value);
    });
  });
}

// A key for the head of a value, so that only likely bindings are examined closely.
const void* head_of(const Expr* value) {
  const auto* call = as<Call>(value);
  const auto* o = call ? as<Op>(call->callee) : nullptr;
  return o ? o->name.data() : nullptr;
}

struct Rule {
  const RewriteRule* rule;
  PatternBody pattern;
};

// A match that will be applied.
struct Hit {
  const Rule* rule;
  std::vector<const Expr*> args;
  std::vector<std::size_t> results;  // the binding of each result
  std::size_t at;                    // the last of them, where the replacement goes
};

// The replacements in one block, by binding.
class BlockMatcher {
 public:
  BlockMatcher(Context& ctx, const std::vector<Rule>& rules, const BindingBlock* block)
      : ctx_(ctx), rules_(rules), view_(block) {}

  std::map<std::size_t, Hit> run() {
    for (std::size_t i = 0; i < view_.block->bindings.size(); ++i) {
      support::poll();
      for (const Rule& rule : rules_)
        if (start(rule, i)) break;
    }
    return std::move(hits_);
  }

 private:
  bool start(const Rule& rule, std::size_t at) {
    RuleMatch match(ctx_, rule.pattern, view_);
    if (!match.add_result(0, at)) return false;
    return complete(rule, std::move(match), {at});
  }

  // Finds the remaining results, each at any binding that fits.
  bool complete(const Rule& rule, RuleMatch match, std::vector<std::size_t> results) {
    if (results.size() == rule.pattern.results.size()) return match.complete() && take(rule, match, results);
    const Expr* wanted = rule.pattern.value_of(rule.pattern.results[results.size()]);
    for (const std::size_t at : likely(wanted)) {
      support::poll();
      RuleMatch next = match;
      if (!next.add_result(results.size(), at)) continue;
      std::vector<std::size_t> more = results;
      more.push_back(at);
      if (complete(rule, std::move(next), std::move(more))) return true;
    }
    return false;
  }

  const std::vector<std::size_t>& likely(const Expr* wanted) {
    if (by_head_.empty())
      for (std::size_t i = 0; i < view_.block->bindings.size(); ++i)
        by_head_[head_of(view_.block->bindings[i]->value)].push_back(i);
    return by_head_[head_of(wanted)];
  }

  bool take(const Rule& rule, const RuleMatch& match, const std::vector<std::size_t>& results) {
    Hit hit{&rule, match.arguments(), results, *std::max_element(results.begin(), results.end())};
    const std::size_t first = *std::min_element(match.bindings().begin(), match.bindings().end());
    // No value moves across an effect, and bindings already replaced in this round no longer match.
    if (view_.impure[first] != view_.impure[hit.at]) return false;
    for (const std::size_t b : match.bindings())
      if (replaced_.count(b)) return false;
    if (results.size() > 1 && read_before(match.bindings(), results, hit.at)) return false;
    replaced_.insert(results.begin(), results.end());
    hits_.emplace(hit.at, std::move(hit));
    return true;
  }

  // Is a result read before all of them are defined?
  bool read_before(const std::vector<std::size_t>& own, const std::vector<std::size_t>& results, std::size_t last) {
    std::unordered_set<const Var*> vars;
    for (const std::size_t r : results) vars.insert(view_.block->bindings[r]->var);
    for (std::size_t i = *std::min_element(results.begin(), results.end()) + 1; i <= last; ++i) {
      if (std::find(own.begin(), own.end(), i) != own.end() && i != last) continue;
      for (const Var* v : free_vars(view_.block->bindings[i]->value))
        if (vars.count(v)) return true;
    }
    return false;
  }

  Context& ctx_;
  const std::vector<Rule>& rules_;
  BlockView view_;
  std::unordered_map<const void*, std::vector<std::size_t>> by_head_;
  std::unordered_set<std::size_t> replaced_;
  std::map<std::size_t, Hit> hits_;
};

class RuleApplier : public Rewriter {
 public:
  using Helpers = std::function<const Function*(const RewriteRule&)>;
  RuleApplier(Context& ctx, const std::vector<Rule>& rules, Helpers replacement)
      : Rewriter(ctx), rules_(rules), replacement_(std::move(replacement)) {}
  std::size_t count() const { return count_; }

 protected:
  const BindingBlock* visit_block(const BindingBlock* block) override {
    const std::map<std::size_t, Hit> hits = BlockMatcher(ctx_, rules_, block).run();
    if (hits.empty()) return default_block(block);
    std::unordered_set<std::size_t> moved;  // results that are bound where the last one is
    for (const auto& [at, hit] : hits) moved.insert(hit.results.begin(), hit.results.end());
    std::vector<const Binding*> out;
    for (std::size_t i = 0; i < block->bindings.size(); ++i) {
      if (const auto hit = hits.find(i); hit != hits.end())
        replace(block, hit->second, out);
      else if (!moved.count(i))
        for (const Binding* b : default_binding(block->bindings[i])) out.push_back(b);
    }
    const BindingBlock* made = ctx_.block(out, block->is_dataflow());
    ctx_.set_origin(made, block);
    return made;
  }

 private:
  void replace(const BindingBlock* block, const Hit& hit, std::vector<const Binding*>& out) {
    ++count_;
    const Binding* last = block->bindings[hit.at];
    const Function* f = replacement_(*hit.rule->rule);
    std::vector<const Expr*> args;
    for (const Expr* a : hit.args) args.push_back(rewrite(a));
    const std::size_t first_new = out.size();
    BodyCopier copier(ctx_, block->is_dataflow());
    copier.put_arguments(f, args, out);
    for (const BindingBlock* b : f->body->blocks) copier.copy_bindings(b, out);
    const Expr* result = copier.rewrite(f->body->body);
    for (std::size_t i = first_new; i < out.size(); ++i) ctx_.set_origin(out[i], last);
    if (!hit.rule->pattern.is_tuple) {
      bind(last, result, out);
      return;
    }
    for (std::size_t i = 0; i < hit.results.size(); ++i) {
      const auto* fields = as<Tuple>(result);
      bind(block->bindings[hit.results[i]], fields ? fields->items[i] : *ctx_.tuple_get(result, std::int64_t(i)), out);
    }
  }

  void bind(const Binding* b, const Expr* value, std::vector<const Binding*>& out) {
    const Var* v = define_var(b->var, b->var->type == b->value->type ? value->type : nullptr);
    out.push_back(ctx_.binding(v, value));
    ctx_.set_origin(out.back(), b);
  }

  const std::vector<Rule>& rules_;
  Helpers replacement_;
  std::size_t count_ = 0;
};

// Other functions called by replacements, under the names they get in the module.
class HelperFunctions {
 public:
  HelperFunctions(Context& ctx, const Module* module, ModuleBuilder& builder)
      : ctx_(ctx), table_(ctx, module, builder) {}

  const Function* replacement(const RewriteRule& rule) {
    const Function*& known = known_[&rule];
    if (!known) known = renamed(rule, rule.replacement);
    return known;
  }

 private:
  class Renamer : public Rewriter {
   public:
    Renamer(Context& ctx, std::function<const Expr*(const GlobalVar*)> name) : Rewriter(ctx), name_(std::move(name)) {}

   protected:
    const Expr* visit_expr(const Expr* e) override {
      const auto* g = as<GlobalVar>(e);
      return g ? name_(g) : Rewriter::visit_expr(e);
    }

   private:
    std::function<const Expr*(const GlobalVar*)> name_;
  };

  const Function* renamed(const RewriteRule& rule, const Function* f) {
    return Renamer(ctx_, [&](const GlobalVar* g) -> const Expr* { return helper(rule, g); }).rewrite_function(f);
  }

  const Expr* helper(const RewriteRule& rule, const GlobalVar* g) {
    const Expr* found = rule.module->find(g->name);
    if (!found || found == rule.pattern || found == rule.replacement) return g;
    if (const auto known = added_.find(found); known != added_.end()) return known->second;
    added_[found] = g;  // a helper that calls itself keeps its name
    const auto* f = as<Function>(found);
    return added_[found] = table_.add(f ? renamed(rule, f) : found, g->name);
  }

  Context& ctx_;
  FunctionTable table_;
  std::unordered_map<const RewriteRule*, const Function*> known_;
  std::unordered_map<const Expr*, const Expr*> added_;
};

// Removes dead, equal and trivial bindings, so that the output of rules can be matched again.
const Function* tidied(PassEnv& env, const Function* f) {
  f = canonicalize(env.ctx, f);
  f = merge_equal_bindings(env.ctx, f);
  f = canonicalize(env.ctx, f);
  return remove_dead_bindings(env.ctx, f);
}

Failure<source::Message> no_rule(std::string_view name, std::string_view why) {
  return Failure(message(diag::RewriteRuleForm, name, why));
}

}  // namespace

Result<RewriteRule> rule_of(Context& ctx, std::string_view name, const Module* module) {
  RewriteRule rule{std::string(name), module, as<Function>(module->find("pattern")),
                   as<Function>(module->find("replacement"))};
  if (!rule.pattern) return no_rule(name, "it has no Relax function `pattern`");
  if (!rule.replacement) return no_rule(name, "it has no Relax function `replacement`");
  if (!is_straight(rule.pattern)) return no_rule(name, "`pattern` has a branch or a local function");
  if (!is_straight(rule.replacement)) return no_rule(name, "`replacement` has a branch or a local function");
  if (count_bindings(rule.pattern) > kMaxPatternBindings)
    return no_rule(name, "`pattern` has more than " + std::to_string(kMaxPatternBindings) + " bindings");
  if (rule.pattern->is_pure != rule.replacement->is_pure)
    return no_rule(name, "one of `pattern` and `replacement` is pure and the other is not");
  const PatternBody pattern(rule.pattern);
  for (const Expr* result : pattern.results)
    if (isa<Var>(pattern.value_of(result)))
      return no_rule(name, "a result of `pattern` is one of its parameters: it would match everything");
  std::vector<const Expr*> params(rule.pattern->params.begin(), rule.pattern->params.end());
  const auto* type = as<FuncType>(rule.replacement->type);
  auto result = call_result(ctx, type, Span<const Expr*>(params));
  if (!result.ok()) return no_rule(name, "`replacement` does not take what `pattern` takes: " + result.error().text);
  if (base_check(ctx, rule.pattern->ret_type, *result) == BaseCheck::FailL0)
    return no_rule(name,
                   "`replacement` gives " + print_type(*result) + ", `pattern` " + print_type(rule.pattern->ret_type));
  return rule;
}

Result<Rewritten> apply_rules(PassEnv& env, const Module* module, std::span<const RewriteRule> rules) {
  std::vector<Rule> known;
  for (const RewriteRule& r : rules) known.push_back({&r, PatternBody(r.pattern)});
  Rewritten out{module, 0};
  ModuleBuilder builder(env.ctx, *module);
  HelperFunctions helpers(env.ctx, module, builder);
  for (const ModuleEntry& entry : module->entries) {
    const auto* f = as<Function>(entry.function);
    if (!f) continue;
    const std::size_t limit = count_bindings(f) * kMaxGrowth + kSmall;
    const std::size_t before = out.count;
    for (int round = 0;; ++round) {
      RuleApplier applier(env.ctx, known, [&](const RewriteRule& r) { return helpers.replacement(r); });
      const Function* made = applier.rewrite_function(f);
      if (applier.count() == 0) break;
      out.count += applier.count();
      f = tidied(env, made);
      if (round == kMaxRounds || count_bindings(f) > limit)
        return Failure(message(diag::RewriteEndless, entry.name, out.count - before));
    }
    if (out.count != before) builder.set(entry.name, refine_result(env.ctx, f));
  }
  if (out.count != 0) out.module = builder.build();
  return out;
}

}  // namespace rldb::passes
