// StmtSimplify: simplifies index arithmetic and conditions, and replaces decided branches by the one taken.
//
// Known facts: ranges of loops, axes and threads, values of variables, sizes of parameters (not negative), and inside a
// branch its condition. The analyzer never forgets facts, so a branch gets its own analyzer that is given everything
// again; where that would be much, its condition is not used.
#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/boolean_forms.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::size_t kMaxFacts = 64;    // beyond this many they are not repeated for a branch's analyzer
constexpr std::size_t kMaxWritten = 64;  // nodes of a value that is written instead of its variable

struct Fact {
  const Var* var;     // null: `value` is a condition that holds
  const Expr* value;  // with an extent: the least value
  const Expr* extent;
  bool non_negative;
};

// Values in place of variables. A buffer keeps the variables of its shape, so that an access has the buffer that its
// declaration has.
class ValueWriter : public Rewriter {
 public:
  using Rewriter::remap;
  using Rewriter::Rewriter;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
};

class Simplify : public Rewriter {
 public:
  Simplify(Context& ctx, const StmtSimplifyOptions& options)
      : Rewriter(ctx), options_(options), analyzer_(std::make_unique<Analyzer>(ctx)), values_(ctx) {}

  void parameters(const PrimFunc* f) {
    for (const PrimParam& p : f->params)
      if (p.buffer)
        for (const Expr* dim : p.buffer->shape) size(dim);
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override {
    if (e->dtype().is_void()) return e;
    if (has_values_) e = values_.rewrite(e);
    const Expr* made = analyzer_->simplify(e);
    const MakeAnalyzer fresh = [this] { return informed(); };
    if (options_.apply_constraints_to_boolean_branches && is_condition(made))
      made = simplify_branches(ctx_, fresh, made);
    if (options_.convert_boolean_to_and_of_ors && is_condition(made)) made = and_of_ors(ctx_, fresh, made);
    return made;
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* f = as<ForStmt>(s)) return scoped(f, {f->var, f->min, f->extent, false});
    if (const auto* a = as<AttrStmt>(s); a && a->thread_var)
      return scoped(a, {a->thread_var, ctx_.int_imm(a->thread_var->dtype(), 0), a->value, false});
    if (const auto* i = as<IfThenElse>(s)) return branch(i);
    if (const auto* b = as<SBlock>(s)) return block(b);
    if (isa<SeqStmt>(s)) {
      const std::size_t known = facts_.size();
      const Stmt* made = default_stmt(s);
      facts_.resize(known);
      return made;
    }
    const Stmt* made = default_stmt(s);
    if (const auto* b = as<BindStmt>(made); b && is_pure_value(b->value)) {
      learn({b->var, b->value, nullptr, false});
      if (!b->var->dtype().is_handle() && is_short(b->value)) write_value(b);
    }
    if (const auto* store = as<BufferStore>(made); store && stores_what_is_there(store)) return no_op(ctx_);
    return made;
  }

 private:
  void write_value(const BindStmt* b) {
    values_.remap(b->var, b->value);
    has_values_ = true;
  }
  bool is_condition(const Expr* e) const {
    return e->dtype().is_bool() && e->dtype().is_scalar() && facts_.size() < kMaxFacts && has_no_effect(e);
  }
  std::unique_ptr<Analyzer> informed() {
    auto made = std::make_unique<Analyzer>(ctx_);
    for (const Fact& f : facts_) tell(*made, f);
    return made;
  }
  static bool is_short(const Expr* e) {
    std::size_t nodes = 0;
    walk(e, [&](const Node*) { return ++nodes <= kMaxWritten; });
    return nodes <= kMaxWritten;
  }

  // A dim that is a multiple of one variable.
  void size(const Expr* dim) {
    const auto* product = as<BinaryExpr>(dim);
    if (product && product->op() == BinaryKind::Mul)
      if (const auto factor = const_int(product->b); factor && *factor > 0) dim = product->a;
    if (const auto* v = as<Var>(dim)) learn({v, nullptr, nullptr, true});
  }

  void tell(Analyzer& analyzer, const Fact& f) {
    if (!f.var) return analyzer.assume(f.value);
    if (f.non_negative) return analyzer.mark_non_negative(f.var);
    if (f.extent && is_const(f.extent, 1)) return analyzer.bind_value(f.var, cast_to(ctx_, f.var->dtype(), f.value));
    if (f.extent) return analyzer.bind_range(f.var, {f.value, f.extent});
    if (f.var->dtype().is_integral() || f.var->dtype().is_bool()) analyzer.bind_value(f.var, f.value);
  }
  void learn(const Fact& f) {
    tell(*analyzer_, f);
    facts_.push_back(f);
  }

  const Stmt* scoped(const Stmt* s, const Fact& f) {
    const std::size_t known = facts_.size();
    learn(f);
    const Stmt* made = default_stmt(s);
    facts_.resize(known);
    analyzer_->end_range(f.var);
    return made;
  }

  const Stmt* block(const SBlock* b) {
    const std::size_t known = facts_.size();
    for (const IterVar& v : b->iter_vars) learn({v.var, v.dom.min, v.dom.extent, false});
    const Stmt* made = default_stmt(b);
    facts_.resize(known);
    for (const IterVar& v : b->iter_vars) analyzer_->end_range(v.var);
    return made;
  }

  const Stmt* branch(const IfThenElse* i) {
    const Expr* cond = rewrite(i->cond);
    if (is_const(cond, 1)) return rewrite(i->then_case);
    if (is_const(cond, 0)) return i->else_case ? rewrite(i->else_case) : no_op(ctx_);
    const Stmt* then_case = under(cond, i->then_case);
    const Stmt* else_case = under(logical_not(ctx_, cond), i->else_case);
    if (cond == i->cond && then_case == i->then_case && else_case == i->else_case) return i;
    return ctx_.if_stmt(cond, then_case, else_case);
  }

  const Stmt* under(const Expr* cond, const Stmt* s) {
    if (!s || facts_.size() >= kMaxFacts || !is_pure_value(cond)) return rewrite(s);
    auto outer = std::exchange(analyzer_, informed());
    const std::size_t known = facts_.size();
    learn({nullptr, cond, nullptr, false});
    const Stmt* made = rewrite(s);
    facts_.resize(known);
    analyzer_ = std::move(outer);
    return made;
  }

  static bool stores_what_is_there(const BufferStore* s) {
    const auto* load = as<BufferLoad>(s->value);
    if (!load || load->buffer != s->buffer || s->predicate || load->predicate) return false;
    for (std::size_t i = 0; i < s->indices.size(); ++i)
      if (!has_no_effect(s->indices[i]) || !expr_equal(s->indices[i], load->indices[i])) return false;
    return true;
  }

  const StmtSimplifyOptions& options_;
  std::unique_ptr<Analyzer> analyzer_;
  std::vector<Fact> facts_;
  bool has_values_ = false;
  ValueWriter values_;  // of variables that are bound to short pure values
};

}  // namespace

Result<const Module*> stmt_simplify(PassEnv& env, const Module* module, const StmtSimplifyOptions& options) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    Simplify simplify(env.ctx, options);
    simplify.parameters(f);
    return with_body(env.ctx, f, simplify.rewrite(f->body));
  });
}

}  // namespace rldb::passes
