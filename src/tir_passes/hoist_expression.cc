// HoistExpression and HoistIfThenElse: conditions and bindings go out of the loops that they do not depend on; a loop
// below a hoisted condition is written for both of its values, and simplified.
//
// Bindings of what is read from memory go out only if the function does not write there and no condition is around:
// TVM does not check that.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/pass_functions.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/convert_ssa.h"

namespace rldb::passes {

using namespace ir;

namespace {

// TVM's numbers.
enum Conditionals : std::int64_t { kIfElseStmt = 1, kIfElseExpr = 2, kBooleanExpression = 4, kUsingBlockVar = 8 };
enum Bindings : std::int64_t { kRequiredByCondition = 1, kBind = 2, kLetExpr = 4 };
constexpr std::int64_t kAllConditionals = 15, kAllBindings = 7;
constexpr std::size_t kMaxConditions = 12;  // of one function: each doubles a loop
constexpr std::string_view kWithBlock = "tirx.HoistIfThenElseExprWithBlock";
constexpr std::string_view kBasic = "basic";

struct What {
  std::int64_t conditionals;
  std::int64_t bindings;
};

using Vars = std::unordered_set<const Var*>;

struct Condition {
  const Expr* value;
  std::int64_t from;
  bool uses_block_var;
  Vars required;
  bool has_else;
};
struct Binding {
  const Var* var;
  const Expr* value;
  std::int64_t from;
};
struct Loop {
  Vars vars;  // the loop's variable, or a block's axes
  const Stmt* stmt;
  std::vector<Binding> bindings;
  std::vector<Condition> conditions;
  bool sequential = false;  // it holds several statements: nothing goes out of them
};

Vars vars_of(const Expr* e) {
  std::vector<const Var*> list;
  collect_vars(e, list);
  return {list.begin(), list.end()};
}

// Finds the destinations. Loops by the statement that makes them.
class Collector : public Rewriter {
 public:
  Collector(Context& ctx, const What& what, const Stmt* body) : Rewriter(ctx), what_(what) {
    walk(body, [&](const Node* n) {
      if (const auto* s = as<BufferStore>(n)) written_.insert(s->buffer->data);
      if (const auto* v = as<Var>(n); v && v->dtype().is_handle()) written_.insert(v);
      return true;
    });
  }
  std::unordered_map<const Stmt*, Loop> loops;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    if (const auto* f = as<ForStmt>(s)) return within({f->var}, s), s;
    if (const auto* realize = as<SBlockRealize>(s)) {
      Vars axes;
      for (const IterVar& axis : realize->block->iter_vars) axes.insert(axis.var);
      return within(std::move(axes), s), s;
    }
    if (const auto* a = as<AttrStmt>(s)) {
      const Var* var = a->thread_var ? a->thread_var : a->node ? as<Var>(a->node->node) : nullptr;
      if (!var) return default_stmt(s), s;
      block_vars_.insert(var);
      within({var}, s);
      block_vars_.erase(var);
      return s;
    }
    if (const auto* b = as<BindStmt>(s)) bind(b->var, b->value, kBind);
    if (const auto* seq = as<SeqStmt>(s)) return sequence(seq), s;
    if (const auto* i = as<IfThenElse>(s)) {
      condition(i->cond, kIfElseStmt, i->else_case != nullptr);
      ++conditional_;
      default_stmt(s);
      --conditional_;
      return s;
    }
    return default_stmt(s), s;
  }

  const Expr* visit_expr(const Expr* e) override {
    if (e->kind == BinaryKind::And || e->kind == BinaryKind::Or) {
      const auto* both = as<BinaryExpr>(e);
      condition(both->a, kBooleanExpression, true);
      condition(both->b, kBooleanExpression, true);
    }
    if (const auto* let = as<LetExpr>(e)) {
      bind(let->var, let->value, kLetExpr);
      default_expr(e);
      forget(let->var);
      return e;
    }
    if (is_call_of(e, intrin::IfThenElse)) {
      condition(as<Call>(e)->args[0], kIfElseExpr, true);
      ++conditional_;
      default_expr(e);
      --conditional_;
      return e;
    }
    return default_expr(e), e;
  }

 private:
  void within(Vars vars, const Stmt* s) {
    active_.push_back({std::move(vars), s, {}, {}});
    default_stmt(s);
    loops.emplace(s, std::move(active_.back()));
    active_.pop_back();
  }

  void sequence(const SeqStmt* seq) {
    const auto others =
        std::count_if(seq->stmts.begin(), seq->stmts.end(), [](const Stmt* s) { return !isa<BindStmt>(s); });
    if (!active_.empty() && others > 1) active_.back().sequential = true;
    default_stmt(seq);
    for (const Stmt* s : seq->stmts)
      if (const auto* b = as<BindStmt>(s)) forget(b->var);
  }

  void forget(const Var* v) {
    loop_vars_of_.erase(v);
    lets_of_.erase(v);
  }

  // Loop variables that the value depends on, through bindings too.
  Vars loops_of(const Expr* e) const {
    Vars out;
    for (const Var* v : vars_of(e)) {
      out.insert(v);
      if (const auto it = loop_vars_of_.find(v); it != loop_vars_of_.end())
        out.insert(it->second.begin(), it->second.end());
    }
    return out;
  }
  Vars bindings_of(const Expr* e) const {
    Vars out;
    for (const Var* v : vars_of(e))
      if (const auto it = lets_of_.find(v); it != lets_of_.end()) {
        out.insert(v);
        out.insert(it->second.begin(), it->second.end());
      }
    return out;
  }

  // The outermost statement that the value may go in front of. It is no block: a block is not written twice.
  Loop* destination(const Expr* e) {
    const Vars used = loops_of(e);
    const bool reads = reads_memory(e);
    std::size_t outermost = active_.size();
    for (std::size_t i = active_.size(); i-- > 0;) {
      const Loop& l = active_[i];
      const bool is_block = isa<SBlockRealize>(l.stmt);
      const bool stays_in_threads = !(what_.conditionals & kUsingBlockVar) && isa<AttrStmt>(l.stmt);
      const bool uses = std::any_of(l.vars.begin(), l.vars.end(), [&](const Var* v) { return used.contains(v); });
      // The regions of a block have what it reads.
      if (l.sequential || uses || stays_in_threads || (is_block && reads)) break;
      if (!is_block) outermost = i;
    }
    return outermost == active_.size() ? nullptr : &active_[outermost];
  }

  void condition(const Expr* cond, std::int64_t from, bool has_else) {
    if (!is_pure_value(cond) || isa<IntImm>(cond)) return;
    Loop* to = destination(cond);
    if (!to || to->sequential) return;
    for (const Condition& known : to->conditions)
      if (known.from == from && known.has_else == has_else && expr_equal(known.value, cond)) return;
    const Vars used = vars_of(cond);
    const bool block = std::any_of(used.begin(), used.end(), [&](const Var* v) { return block_vars_.contains(v); });
    to->conditions.push_back({cond, from, block, bindings_of(cond), has_else});
  }

  static bool reads_memory(const Expr* value) {
    bool found = false;
    walk(value, [&](const Node* n) { return !(found = found || as<BufferLoad>(n) != nullptr); });
    return found;
  }

  bool can_move(const Expr* value) const {
    bool good = has_no_effect(value);
    walk(value, [&](const Node* n) {
      if (const auto* load = as<BufferLoad>(n))
        good = good && conditional_ == 0 && !written_.contains(load->buffer->data);
      return good;
    });
    return good;
  }

  void bind(const Var* v, const Expr* value, std::int64_t from) {
    if (can_move(value))
      if (Loop* to = destination(value); to && !to->sequential) to->bindings.push_back({v, value, from});
    Vars loop_vars = loops_of(value), lets = bindings_of(value);
    if (!can_move(value))
      for (const Loop& l : active_) loop_vars.insert(l.vars.begin(), l.vars.end());
    loop_vars_of_[v] = std::move(loop_vars);
    lets_of_[v] = std::move(lets);
  }

  const What what_;
  Vars written_, block_vars_;
  int conditional_ = 0;
  std::vector<Loop> active_;
  std::unordered_map<const Var*, Vars> loop_vars_of_, lets_of_;
};

class Hoister : public Rewriter {
 public:
  Hoister(Context& ctx, const What& what, const std::unordered_map<const Stmt*, Loop>& loops)
      : Rewriter(ctx), what_(what), loops_(loops) {
    for (const auto& [stmt, loop] : loops) {
      for (const Binding& b : loop.bindings) {
        movable_.insert(b.var);
        if (what.bindings & b.from) hoisted_.insert(b.var);
      }
    }
    if (!(what.bindings & kRequiredByCondition)) return;
    for (const auto& [stmt, loop] : loops)
      for (const Condition& c : loop.conditions)
        if (wanted(c))
          for (const Var* v : c.required)
            if (movable_.contains(v)) hoisted_.insert(v);
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* b = as<BindStmt>(s); b && hoisted_.contains(b->var)) return nullptr;
    const Stmt* made = default_stmt(s);
    const auto loop = loops_.find(s);
    return loop == loops_.end() || !made ? made : wrapped(made, loop->second);
  }
  const Expr* visit_expr(const Expr* e) override {
    const auto* let = as<LetExpr>(e);
    return let && hoisted_.contains(let->var) ? rewrite(let->body) : default_expr(e);
  }

 private:
  bool wanted(const Condition& c) const {
    const bool bindings = c.required.empty() || (what_.bindings & (kRequiredByCondition | kBind));
    const bool movable =
        std::all_of(c.required.begin(), c.required.end(), [&](const Var* v) { return movable_.contains(v); });
    return (what_.conditionals & c.from) && bindings && movable &&
           ((what_.conditionals & kUsingBlockVar) || !c.uses_block_var);
  }

  const Stmt* wrapped(const Stmt* s, const Loop& loop) {
    for (auto c = loop.conditions.rbegin(); c != loop.conditions.rend(); ++c) {
      if (!wanted(*c) || conditions_ == kMaxConditions) continue;
      ++conditions_;
      s = ctx_.if_stmt(rewrite(c->value), s, c->has_else ? s : nullptr);
    }
    std::vector<const Stmt*> out;
    for (const Binding& b : loop.bindings)
      if (hoisted_.contains(b.var)) out.push_back(ctx_.bind(b.var, rewrite(b.value)));
    if (out.empty()) return s;
    out.push_back(s);
    return ctx_.seq_stmt(out);
  }

  const What what_;
  const std::unordered_map<const Stmt*, Loop>& loops_;
  Vars movable_, hoisted_;
  std::size_t conditions_ = 0;
};

const PrimFunc* hoisted(Context& ctx, const PrimFunc* f, const What& what) {
  Collector collector(ctx, what, f->body);
  collector.rewrite(f->body);
  const Stmt* body = Hoister(ctx, what, collector.loops).rewrite(f->body);
  return body == f->body ? f : with_body(ctx, f, single_definitions(ctx, f, body));
}

Result<const Module*> simplified(PassEnv& env, const Module* module) {
  RLDB_TRY(const Module* simple, stmt_simplify(env, module, {}));
  return remove_no_op(env, simple, {});
}

// The branches alone, as TVM's pass of two names: `variant` is "basic" or None.
Result<const Module*> without_branches(PassEnv& env, const Module* module, const std::optional<std::string>& variant) {
  const bool basic = variant == kBasic;
  if (variant && !basic)
    return support::Failure(source::message(diag::PassOptionValue, "variant", "\"basic\" or None", *variant));
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    const Attr* flag = basic ? nullptr : find_attr(f->attrs, kWithBlock);
    const bool with_block = flag && flag->integer == 1;
    return hoisted(env.ctx, f, with_block ? What{kUsingBlockVar | kIfElseExpr, 0} : What{kIfElseStmt, 0});
  });
}

}  // namespace

Result<const Module*> hoist_expression(PassEnv& env, const Module* module, const HoistExpressionOptions& options) {
  const What what{options.hoisted_conditionals, options.hoisted_let_bindings};
  if (what.conditionals < 0 || what.conditionals > kAllConditionals)
    return support::Failure(source::message(diag::PassOptionValue, "hoisted_conditionals", "a sum of 1, 2, 4 and 8",
                                            std::to_string(what.conditionals)));
  if (what.bindings < 0 || what.bindings > kAllBindings)
    return support::Failure(source::message(diag::PassOptionValue, "hoisted_let_bindings", "a sum of 1, 2 and 4",
                                            std::to_string(what.bindings)));
  RLDB_TRY(const Module* made,
           map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
             return hoisted(env.ctx, f, what);
           }));
  return simplified(env, made);
}

Result<const Module*> hoist_if_then_else(PassEnv& env, const Module* module, const HoistIfThenElseOptions& options) {
  RLDB_TRY(const Module* made, without_branches(env, module, options.variant));
  return simplified(env, made);
}

Result<const Module*> insert_hoist_if_then_else(PassEnv& env, const Module* module,
                                                const InsertHoistIfThenElseOptions& options) {
  return without_branches(env, module, options.variant);
}

}  // namespace rldb::passes
