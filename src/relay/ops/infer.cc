// Infers the types of a module. Expressions are typed after their operands; a call whose operands are not known yet
// waits until more becomes known. Nodes that are settled (typing_memo.h) are walked over, not typed again.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "relay/ops/match.h"
#include "relay/ops/relation.h"
#include "rldb/relay/ir/node_set.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/relay/ops/typing_memo.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::relay {

namespace {

class Inference {
 public:
  Inference(Context& ctx, const Module* m, TypingMemo& memo, source::Diagnostics& out)
      : ctx_(ctx), module_(m), memo_(memo), typing_(memo.typing), before_(typing_), out_(out), solver_(ctx) {
    visited_.resize(ctx.expr_count());
    bound_.resize(ctx.expr_count());
    changed_.resize(ctx.expr_count());
    memo_.settled.resize(ctx.expr_count());
    ++memo_.run;
  }

  bool run() {
    const std::size_t before = out_.error_count();
    for (const Definition& d : module_->functions) {
      visited_[d.name->id] = true;
      set_type(d.name, signature(*d.function));
    }
    for (const Function* f : callees_first()) visit(f);
    if (module_->body) visit(module_->body);
    while (retry()) {
    }
    for (const Match* m : matches_) check_exhaustive(m);
    finish();
    return out_.error_count() == before;
  }

 private:
  // ---- order ----

  // If a callee has no declared result type, its callers find it known when the callee comes first.
  std::vector<const Function*> callees_first() {
    std::vector<const Function*> order;
    NodeSet seen;
    for (const Definition& d : module_->functions) {
      std::vector<std::pair<const Expr*, bool>> open{{d.function, false}};
      while (!open.empty()) {
        support::poll();
        const auto [e, expanded] = open.back();
        open.pop_back();
        if (expanded) {
          order.push_back(static_cast<const Function*>(e));
          continue;
        }
        if (!seen.insert(e)) continue;
        if (e->kind == ExprKind::Function && is_definition(e)) open.emplace_back(e, true);
        if (const auto* g = as<GlobalVar>(e))
          if (const Function* f = module_->find(g->name)) open.emplace_back(f, false);
        for_each_operand(e, [&](const Expr* x) { open.emplace_back(x, false); });
      }
    }
    return order;
  }
  bool is_definition(const Expr* e) {
    if (definitions_.empty())
      for (const Definition& d : module_->functions) definitions_.emplace(d.function, d.name);
    return definitions_.contains(e);
  }

  // Operands first, bodies included. A variable has its type before its uses: that of a `let` after its value, those of
  // patterns after the matched value.
  enum class Stage { Enter, Bind, Done };
  void visit(const Expr* root) {
    std::vector<std::pair<const Expr*, Stage>> open{{root, Stage::Enter}};
    while (!open.empty()) {
      support::poll();
      const auto [e, stage] = open.back();
      open.pop_back();
      if (stage == Stage::Done) {
        finish(e);
      } else if (stage == Stage::Bind) {
        const std::size_t errors = out_.error_count();
        bind(e);
        if (out_.error_count() != errors) wrong_.insert(e);
      } else if (!visited_[e->id]) {
        visited_[e->id] = true;
        enter(e);
        const std::size_t first = open.size();
        for_each_operand(e, [&](const Expr* x) {
          open.emplace_back(x, Stage::Enter);
          const bool binds = e->kind == ExprKind::Let || e->kind == ExprKind::Match;
          if (binds && open.size() == first + 1) open.emplace_back(e, Stage::Bind);
        });
        open.emplace_back(e, Stage::Done);
        std::reverse(open.begin() + std::ptrdiff_t(first), open.end());
      }
    }
  }

  // ---- nodes that are typed already ----

  // Whether nothing in a type is open. Very deep types count as open.
  bool is_known(const Type* t, int depth = 0) {
    constexpr int kDeepest = 100;
    if (t->kind == TypeKind::Tensor || t->kind == TypeKind::Variable) return true;
    if (t->kind == TypeKind::Hole || depth > kDeepest) return false;
    if (const auto found = known_.find(t); found != known_.end()) return found->second;
    const auto all = [&](Span<const Type*> parts) {
      return std::all_of(parts.begin(), parts.end(), [&](const Type* x) { return is_known(x, depth + 1); });
    };
    bool known = false;
    if (const auto* tuple = as<TupleType>(t)) known = all(tuple->fields);
    if (const auto* named = as<NamedType>(t)) known = all(named->args);
    if (const auto* f = as<FunctionType>(t)) known = all(f->params) && is_known(f->result, depth + 1);
    if (const auto* reference = as<ReferenceType>(t)) known = is_known(reference->value, depth + 1);
    return known_[t] = known;
  }
  void set_type(const Expr* e, const Type* t) {
    const Type* known = solver_.head(t);
    if (is_known(known)) t = known;
    typing_.set(e, t);
    changed_[e->id] = before_.of(e) != t;
  }
  // Variables and names count by what they are bound to, and operators have no type of their own.
  template <class Holds>
  static bool operands_are(const Expr* e, Holds&& holds) {
    bool all = true;
    for_each_operand(e, [&](const Expr* x) { all = all && (x->kind == ExprKind::Op || holds(x)); });
    return all;
  }
  bool is_typed(const Expr* e) { return typing_.of(e) && is_known(typing_.of(e)); }
  void finish(const Expr* e) {
    const bool leaf = is_leaf(e);
    const bool was_settled = !leaf && memo_.settled[e->id] == memo_.run - 1;
    if (was_settled && operands_are(e, [&](const Expr* x) { return !changed_[x->id]; })) return keep(e);
    const std::size_t errors = out_.error_count();
    const bool known = operands_are(e, [&](const Expr* x) { return is_typed(x); });
    set_type(e, type_of(e));
    const bool sound = out_.error_count() == errors && !wrong_.contains(e);
    if (!leaf && known && sound && is_typed(e)) memo_.settled[e->id] = memo_.run;
  }
  // The patterns of a match are checked when all of it is typed.
  void keep(const Expr* e) {
    memo_.settled[e->id] = memo_.run;
    if (const auto* m = as<Match>(e); m && m->complete) matches_.push_back(m);
  }

  void bind(const Expr* e) {
    if (const auto* l = as<Let>(e)) {
      // Unless the value names it, nothing is known of the variable before.
      if (!l->var->annotation && !bound_[l->var->id]) {
        bound_[l->var->id] = true;
        return set_type(l->var, typing_.of(l->value));
      }
      unify(bound(l->var), l->value, "the value of the variable", l);
      if (!l->var->annotation) set_type(l->var, bound(l->var));
    } else if (const auto* m = as<Match>(e)) {
      for (const Arm& arm : m->arms) pattern(arm.pattern, typing_.of(m->value), m);
    }
  }

  // Runs before the operands: types of the variables that the expression binds.
  void enter(const Expr* e) {
    if (const auto* f = as<Function>(e)) {
      for (const Var* p : f->params) bound(p);
    } else if (const auto* l = as<Let>(e); l && l->var->annotation) {
      bound(l->var);
    }
  }
  const Type* bound(const Var* v) {
    if (!bound_[v->id]) {
      bound_[v->id] = true;
      set_type(v, v->annotation ? v->annotation : ctx_.hole());
    }
    return typing_.of(v);
  }

  // ---- types of expressions ----

  const Type* type_of(const Expr* e) {
    switch (e->kind) {
      case ExprKind::Var:
        return bound(static_cast<const Var*>(e));
      case ExprKind::GlobalVar:
        return ctx_.hole();  // one that is not defined
      case ExprKind::Constant:
        return constant(cast<Constant>(e));
      case ExprKind::Op:
        return ctx_.hole();  // an operator gets a type where it is called
      case ExprKind::Constructor:
        return constructor(cast<Constructor>(e));
      case ExprKind::Call:
        return call(cast<Call>(e));
      case ExprKind::Function:
        return function(cast<Function>(e));
      case ExprKind::Let:
        return typing_.of(cast<Let>(e).body);
      case ExprKind::If:
        return if_expr(cast<If>(e));
      case ExprKind::Tuple:
        return ctx_.tuple_type(types_of(cast<Tuple>(e).fields));
      case ExprKind::Projection:
        return projection(cast<Projection>(e));
      case ExprKind::Match:
        return match(cast<Match>(e));
      case ExprKind::RefCreate:
        return ctx_.reference(typing_.of(cast<RefCreate>(e).value));
      case ExprKind::RefRead: {
        const Type* value = ctx_.hole();
        unify(ctx_.reference(value), cast<RefRead>(e).reference, "the reference that is read", e);
        return value;
      }
      case ExprKind::RefWrite:
        unify(ctx_.reference(typing_.of(cast<RefWrite>(e).value)), cast<RefWrite>(e).reference,
              "the reference that is written", e);
        return ctx_.tuple_type({});
    }
    return ctx_.hole();
  }

  std::vector<const Type*> types_of(Span<const Expr*> items) {
    std::vector<const Type*> types;
    for (const Expr* e : items) types.push_back(typing_.of(e));
    return types;
  }

  const Type* constant(const Constant& c) {
    Dims dims;
    for (const std::int64_t d : c.tensor->shape()) dims.push_back(known(d));
    return ctx_.tensor(dims, c.tensor->dtype());
  }

  const Type* constructor(const Constructor& c) {
    const TypeDefinition* t = module_->find_type(c.type_name);
    std::vector<const Type*> params;
    if (t) params.assign(t->params.begin(), t->params.end());
    const Type* made = ctx_.named(c.type_name, params);
    return ctx_.function_type(t ? t->params : Span<const TypeVar*>(), c.fields, made);
  }

  const FunctionType* signature(const Function& f) {
    std::vector<const Type*> params;
    for (const Var* p : f.params) params.push_back(bound(p));
    const Type*& result = results_[&f];
    if (!result) result = f.result ? f.result : ctx_.hole();
    return ctx_.function_type(f.type_params, params, result);
  }

  const Type* function(const Function& f) {
    const FunctionType* t = signature(f);
    unify(t->result, f.body, "the result of the function", &f);
    return t;
  }

  const Type* if_expr(const If& e) {
    unify(ctx_.scalar(DType::Bool()), e.condition, "the condition", &e);
    const Type* joined = solver_.unify(typing_.of(e.consequence), typing_.of(e.alternative));
    if (joined) return joined;
    report(&e, diag::RelayBranches, text(typing_.of(e.consequence)), text(typing_.of(e.alternative)));
    return typing_.of(e.consequence);
  }

  const Type* projection(const Projection& e) {
    const Type* result = ctx_.hole();
    if (!project(e, result)) waiting_projections_.emplace_back(&e, result);
    return result;
  }
  // False: the tuple is not known yet.
  bool project(const Projection& e, const Type* result) {
    const Type* t = solver_.head(typing_.of(e.tuple));
    if (t->kind == TypeKind::Hole) return false;
    const auto* tuple = as<TupleType>(t);
    if (!tuple) {
      report(&e, diag::RelayProjectionOf, text(t));
    } else if (e.index >= std::int64_t(tuple->fields.size())) {
      report(&e, diag::RelayFieldIndex, text(t), e.index);
    } else {
      solver_.unify(result, tuple->fields[std::size_t(e.index)]);
    }
    return true;
  }

  // ---- calls ----

  const Type* call(const Call& e) {
    if (const auto* op = as<Op>(e.callee)) return op_call(e, *op->info);
    const Type* t = solver_.head(typing_.of(e.callee));
    if (t->kind == TypeKind::Hole) {
      const Type* result = ctx_.hole();
      if (!solver_.unify(t, ctx_.function_type({}, types_of(e.args), result))) report(&e, diag::RelayInfiniteType);
      return result;
    }
    const auto* f = as<FunctionType>(t);
    if (!f) {
      report(&e, diag::RelayNotCallable, text(t));
      return ctx_.hole();
    }
    f = solver_.instantiate(f);
    if (f->params.size() != e.args.size()) {
      report(&e, diag::RelayArgumentCount, support::counted(f->params.size(), "argument"), e.args.size());
      return f->result;
    }
    for (std::size_t i = 0; i < e.args.size(); ++i)
      unify(f->params[i], e.args[i], fmt::format("argument {}", i + 1), &e);
    return f->result;
  }

  const Type* op_call(const Call& e, const OpInfo& op) {
    const Type* result = ctx_.hole();
    if (op.operands >= 0 && e.args.size() != std::size_t(op.operands)) {
      report(&e, diag::RelayOperandCount, op.name, support::counted(std::size_t(op.operands), "operand"),
             e.args.size());
      return result;
    }
    if (!relate(e, op, result)) waiting_.push_back({&e, &op, result});
    return result;
  }

  // False: operands are not known yet.
  bool relate(const Call& e, const OpInfo& op, const Type* result) {
    std::vector<const Type*> types;
    for (const Expr* a : e.args) types.push_back(solver_.head(typing_.of(a)));
    const Outcome outcome = relation_of(op.id)(Operands(ctx_, solver_, e, op, std::move(types)));
    if (outcome.waits) return false;
    if (!outcome.wrong.empty()) {
      report(&e, diag::RelayOperands, op.name, outcome.wrong);
    } else if (outcome.type && !solver_.unify(result, outcome.type)) {
      report(&e, diag::RelayMismatch, fmt::format("the result of `{}`", op.name), text(outcome.type), text(result));
    }
    return true;
  }

  // Tries waiting calls again; true when something became known.
  bool retry() {
    const std::size_t before = solver_.progress();
    std::erase_if(waiting_projections_, [&](const auto& w) { return project(*w.first, w.second); });
    std::erase_if(waiting_, [&](const Waiting& w) { return relate(*w.call, *w.op, w.result); });
    return solver_.progress() != before && !(waiting_.empty() && waiting_projections_.empty());
  }

  // ---- match ----

  const Type* match(const Match& e) {
    const Type* result = nullptr;
    for (const Arm& arm : e.arms) {
      if (!result)
        result = typing_.of(arm.body);
      else if (const Type* joined = solver_.unify(result, typing_.of(arm.body)))
        result = joined;
      else
        report(ctx_.span(arm.body) ? arm.body : &e, diag::RelayMismatch, "the value of this arm",
               text(typing_.of(arm.body)), text(result));
    }
    if (e.complete) matches_.push_back(&e);
    return result ? result : ctx_.hole();
  }

  void pattern(const Pattern* p, const Type* t, const Match* at) {
    switch (p->kind) {
      case PatternKind::Wildcard:
        return;
      case PatternKind::Variable:
        if (!solver_.unify(bound(p->var), t))
          report(p->var, diag::RelayMismatch, "the pattern", text(bound(p->var)), text(t));
        return;
      case PatternKind::Constructor: {
        const auto* c = solver_.instantiate(as<FunctionType>(constructor(*p->constructor)));
        if (!solver_.unify(c->result, t))
          return report(at, diag::RelayPatternType, p->constructor->name, text(c->result), text(t));
        if (c->params.size() != p->parts.size())
          return report(at, diag::RelayPatternParts, p->constructor->name, support::counted(c->params.size(), "field"),
                        p->parts.size());
        for (std::size_t i = 0; i < p->parts.size(); ++i) pattern(p->parts[i], c->params[i], at);
        return;
      }
      case PatternKind::Tuple: {
        std::vector<const Type*> fields;
        for (std::size_t i = 0; i < p->parts.size(); ++i) fields.push_back(ctx_.hole());
        const Type* tuple = ctx_.tuple_type(fields);
        if (!solver_.unify(tuple, t)) return report(at, diag::RelayMismatch, "a tuple pattern", text(tuple), text(t));
        for (std::size_t i = 0; i < p->parts.size(); ++i) pattern(p->parts[i], fields[i], at);
        return;
      }
    }
  }

  void check_exhaustive(const Match* m) {
    const Coverage coverage = coverage_of(*m, *module_);
    if (coverage.gave_up) report(m, diag::RelayMatchTooLarge);
    if (coverage.missed) report(m, diag::RelayNotExhaustive, *coverage.missed);
  }

  // ---- the end ----

  // Names of functions, operators and constructors are one node everywhere: `user` has the place.
  void unify(const Type* want, const Expr* e, std::string_view what, const Expr* user) {
    if (solver_.unify(want, typing_.of(e))) return;
    const Expr* at = ctx_.span(e) ? e : user;
    const auto is_open = [&](const Type* t) { return solver_.head(t)->kind == TypeKind::Hole; };
    // An unknown type fits anything except a type that contains it.
    if (is_open(want) || is_open(typing_.of(e))) return report(at, diag::RelayInfiniteType);
    report(at, diag::RelayMismatch, what, text(typing_.of(e)), text(want));
  }

  void finish() {
    typing_.for_each([&](const Type* t) { return is_known(t) ? t : solver_.resolved(t); });
  }

  std::string text(const Type* t) {
    constexpr std::size_t kMost = 1000;
    std::string s = print_type(solver_.resolved(t));
    if (s.size() > kMost) s = s.substr(0, kMost) + " ...";
    return s;
  }

  template <std::size_t Places, class... Args>
  void report(const Expr* e, const source::Diag<Places>& row, const Args&... args) {
    out_.add(ctx_.span(e), source::message(row, args...));
  }

  struct Waiting {
    const Call* call;
    const OpInfo* op;
    const Type* result;
  };

  Context& ctx_;
  const Module* module_;
  TypingMemo& memo_;
  Typing& typing_;
  const Typing before_;                    // of the inference before
  std::vector<bool> visited_;              // by id, as the next two
  std::vector<bool> bound_;                // a variable: its type has been set
  std::vector<bool> changed_;              // its type differs from the one before
  std::unordered_set<const Expr*> wrong_;  // what they bind does not fit
  std::unordered_map<const Type*, bool> known_;
  source::Diagnostics& out_;
  Solver solver_;
  std::unordered_map<const Expr*, const GlobalVar*> definitions_;
  std::unordered_map<const Function*, const Type*> results_;
  std::vector<Waiting> waiting_;
  std::vector<std::pair<const Projection*, const Type*>> waiting_projections_;
  std::vector<const Match*> matches_;
};

}  // namespace

bool infer_types(Context& ctx, const Module* m, Typing& typing, source::Diagnostics& out) {
  TypingMemo memo;
  const bool typed = infer_types(ctx, m, memo, out);
  typing = std::move(memo.typing);
  return typed;
}

bool infer_types(Context& ctx, const Module* m, TypingMemo& memo, source::Diagnostics& out) {
  source::Diagnostics found;
  const bool typed = Inference(ctx, m, memo, found).run();
  // In text order, not in the order of inference.
  std::vector<source::Diagnostic> all = found.all();
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
  for (source::Diagnostic& d : all) out.add(std::move(d));
  return typed;
}

}  // namespace rldb::relay
