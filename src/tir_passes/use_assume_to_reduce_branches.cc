// UseAssumeToReduceBranches: out = if_then_else(c, v, f(a)) becomes out = f(a) where `T.assume` guarantees that f(a) is
// v wherever c holds: the padding of a layout is computed with instead of branched around. Only elementwise kernels
// (attribute `op_pattern`), as in TVM.
//
// Stricter than TVM, which compares the two conditions by their form only: the assumption has to cover the whole
// buffer, nothing may write to it, and the computation has to be safe without its condition: every index within its
// buffer, no division by a possible zero.
#include <functional>
#include <unordered_set>

#include "rldb/fusion/op_pattern.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/support/rewrite_counter.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::size_t kMaxAxes = 64;  // repeated for the analyzer of a branch

// load == value wherever one of `when` is false.
struct Assumption {
  const BufferLoad* load;
  const Expr* value;
  std::vector<const Expr*> unless;
};

const Call* intrinsic_call(const Expr* e, Intrinsic id) { return is_call_of(e, id) ? as<Call>(e) : nullptr; }

bool has_assume(const Stmt* s) {
  bool found = false;
  walk(s, [&](const Node* n) {
    if (const auto* e = as<Evaluate>(n)) found = found || intrinsic_call(e->value, intrin::Assume);
    return !found;
  });
  return found;
}

// The operands of `a or b or c`.
void alternatives(const Expr* e, std::vector<const Expr*>& out) {
  std::vector<const Expr*> open{e};
  while (!open.empty()) {
    const Expr* next = open.back();
    open.pop_back();
    const auto* both = next->kind == BinaryKind::Or ? as<BinaryExpr>(next) : nullptr;
    if (!both) {
      out.push_back(next);
      continue;
    }
    open.push_back(both->b);
    open.push_back(both->a);
  }
}

class Branches : public Rewriter {
 public:
  Branches(Context& ctx, const PrimFunc* f) : Rewriter(ctx), analyzer_(ctx) {
    std::unordered_set<const Var*> pointers;
    for (const PrimParam& p : f->params)
      if (p.buffer) pointers.insert(p.buffer->data);
    walk(f->body, [&](const Node* n) {
      if (const auto* store = as<BufferStore>(n)) changed_.insert(store->buffer->data);
      if (const auto* v = as<Var>(n); v && pointers.count(v)) changed_.insert(v);
      return true;
    });
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }

  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* f = as<ForStmt>(s)) {
      if (f->step && !is_const(f->step, 1)) return s;
      axis(f->var, {f->min, f->extent});
      return default_stmt(s);
    }
    if (const auto* b = as<SBlock>(s)) {
      for (const IterVar& v : b->iter_vars) axis(v.var, v.dom);
      return default_stmt(s);
    }
    const auto* realize = as<SBlockRealize>(s);
    if (isa<IfThenElse>(s) || isa<WhileStmt>(s) || (realize && !is_const(realize->predicate, 1))) {
      ++conditions_;
      const Stmt* made = default_stmt(s);
      --conditions_;
      return made;
    }
    if (const auto* e = as<Evaluate>(s)) {
      if (const Call* assume = intrinsic_call(e->value, intrin::Assume); assume && conditions_ == 0)
        learn(assume->args[0]);
      return s;
    }
    if (const auto* store = as<BufferStore>(s)) return without_branch(store);
    return default_stmt(s);
  }

 private:
  void axis(const Var* v, const Range& range) {
    axes_.emplace(v, range);
    order_.push_back(v);
    analyzer_.bind_range(v, range);
    if (is_const(range.extent, 1)) fixed_[v] = range.min;
  }

  // ---- assumptions ----

  void learn(const Expr* condition) {
    Assumption a{};
    std::vector<const Expr*> parts;
    alternatives(condition, parts);
    for (const Expr* part : parts) {
      if (is_pure_value(part)) {
        a.unless.push_back(part);
        continue;
      }
      const auto* equal = part->kind == BinaryKind::EQ ? as<BinaryExpr>(part) : nullptr;
      if (!equal || a.load) return;
      a.load = as<BufferLoad>(equal->a);
      a.value = a.load ? equal->b : equal->a;
      if (!a.load) a.load = as<BufferLoad>(equal->b);
      if (!a.load || !(isa<IntImm>(a.value) || isa<FloatImm>(a.value))) return;
    }
    if (a.load && !a.load->predicate && !changed_.count(a.load->buffer->data) && covers(a.load))
      assumptions_.insert_or_assign(a.load->buffer, std::move(a));
  }

  // Each index is a separate axis that runs over the whole dim.
  bool covers(const BufferLoad* load) {
    std::unordered_set<const Var*> seen;
    for (std::size_t i = 0; i < load->indices.size(); ++i) {
      const auto* v = as<Var>(load->indices[i]);
      const auto found = v ? axes_.find(v) : axes_.end();
      if (found == axes_.end() || !seen.insert(v).second || !is_const(found->second.min, 0)) return false;
      if (!analyzer_.prove_equal(found->second.extent, load->buffer->shape[i])) return false;
    }
    return true;
  }

  // ---- uses ----

  const Stmt* without_branch(const BufferStore* s) {
    const Call* branch = intrinsic_call(s->value, intrin::IfThenElse);
    if (!branch || assumptions_.empty()) return s;
    const Expr *cond = branch->args[0], *yes = branch->args[1], *no = branch->args[2];
    if (!is_pure_value(cond)) return s;
    const Expr* chosen = nullptr;
    if (same_under(cond, yes, no) && computable(no))
      chosen = no;
    else if (same_under(logical_not(ctx_, cond), yes, no) && computable(yes))
      chosen = yes;
    if (!chosen || !support::may_rewrite([] { return std::string("a branch is computed through"); })) return s;
    return ctx_.store(s->buffer, analyzer_.simplify(substitute(ctx_, chosen, fixed_)), s->indices, s->predicate);
  }

  // Both have the same value wherever the condition holds.
  bool same_under(const Expr* cond, const Expr* a, const Expr* b) {
    return expr_equal(analyzer_.simplify(assumed(cond, a)), analyzer_.simplify(assumed(cond, b)));
  }

  const Expr* assumed(const Expr* cond, const Expr* e) {
    class Values : public Rewriter {
     public:
      Values(Context& ctx, std::function<const Expr*(const BufferLoad*)> value)
          : Rewriter(ctx), value_(std::move(value)) {}

     protected:
      const Expr* visit_expr(const Expr* e) override {
        const auto* load = as<BufferLoad>(e);
        const Expr* known = load ? value_(load) : nullptr;
        return known ? known : default_expr(e);
      }

     private:
      std::function<const Expr*(const BufferLoad*)> value_;
    };
    return Values(ctx_, [&](const BufferLoad* load) { return value_under(cond, load); }).rewrite(e);
  }

  const Expr* value_under(const Expr* cond, const BufferLoad* load) {
    const auto found = assumptions_.find(load->buffer);
    if (found == assumptions_.end() || load->predicate) return nullptr;
    const Assumption& a = found->second;
    VarMap here;
    for (std::size_t i = 0; i < load->indices.size(); ++i) here[as<Var>(a.load->indices[i])] = load->indices[i];
    for (const Expr* part : a.unless)
      if (!excludes(cond, substitute(ctx_, part, here))) return nullptr;
    return a.value;
  }

  // `part` is false wherever `cond` holds.
  bool excludes(const Expr* cond, const Expr* part) {
    const auto* negated = as<NotExpr>(part);
    if (negated && expr_equal(negated->a, cond)) return true;
    const auto* not_cond = as<NotExpr>(cond);
    if (not_cond && expr_equal(not_cond->a, part)) return true;
    if (order_.size() > kMaxAxes) return false;
    Analyzer inside(ctx_);
    for (const Var* v : order_) inside.bind_range(v, axes_.at(v));
    inside.assume(cond);
    return inside.prove(logical_not(ctx_, part));
  }

  // Whether it can be computed without its condition.
  bool computable(const Expr* e) {
    if (!has_no_effect(e)) return false;
    bool safe = true;
    walk(e, [&](const Node* n) {
      if (const auto* load = as<BufferLoad>(n)) safe = safe && within(load);
      if (const auto* b = as<BinaryExpr>(n); b && divides(b->op())) safe = safe && divisor_known(b->b);
      return safe;
    });
    return safe;
  }

  static bool divides(BinaryKind k) {
    return k == BinaryKind::Div || k == BinaryKind::Mod || k == BinaryKind::FloorDiv || k == BinaryKind::FloorMod;
  }
  static bool divisor_known(const Expr* e) {
    const auto value = const_int(e);
    return e->dtype().is_float() || (value && *value != 0);
  }

  bool within(const BufferLoad* load) {
    for (std::size_t i = 0; i < load->indices.size(); ++i) {
      const Expr* index = load->indices[i];
      if (!analyzer_.prove(compare(ctx_, BinaryKind::GE, index, ctx_.int_imm(index->dtype(), 0)))) return false;
      if (!analyzer_.prove(compare(ctx_, BinaryKind::LT, index, load->buffer->shape[i]))) return false;
    }
    return true;
  }

  Analyzer analyzer_;
  int conditions_ = 0;  // around the statement being visited
  std::unordered_map<const Var*, Range> axes_;
  std::vector<const Var*> order_;
  VarMap fixed_;                            // axes with a single value
  std::unordered_set<const Var*> changed_;  // pointers of buffers that are written or escape
  std::unordered_map<const Buffer*, Assumption> assumptions_;
};

bool is_elementwise(const PrimFunc* f) {
  const Attr* a = find_attr(f->attrs, attr_name::OpPattern);
  if (!a) return false;
  const auto* literal = a->is(AttrKind::Expr) ? as<IntImm>(a->node) : nullptr;
  const std::int64_t pattern = literal ? literal->value : a->integer;
  return pattern == fusion::kElemWise || pattern == fusion::kBroadcast;
}

}  // namespace

Result<const Module*> use_assume_to_reduce_branches(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    if (!is_elementwise(f) || !has_assume(f->body)) return f;
    return with_body(env.ctx, f, Branches(env.ctx, f).rewrite(f->body));
  });
}

}  // namespace rldb::passes
