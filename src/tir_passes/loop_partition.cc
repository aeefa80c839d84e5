// LoopPartition: a loop with conditions that T.likely marks is split where they change; in the parts where their values
// are known the conditions are gone. With an annotation `pragma_loop_partition_hint` every comparison counts.
//
// The middle part is where all conditions hold (or, if that is nowhere, where they fail). Sound where TVM is not: the
// borders of the parts are kept between the ends of the loop unless that is proved, and a loop that a jump leaves stays
// whole.
#include <algorithm>
#include <unordered_set>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/comparison.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/loop_jump.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/condition_interval.h"
#include "tir_passes/convert_ssa.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr int kMaxParts = 1'000;  // into which one function may be split

struct PartitionOptions {
  bool const_loops;
  bool keep_single;  // loops of one iteration
  bool unroll_undivided;
};

// A condition, and where it is known to hold or to fail.
struct Divider {
  const Expr* condition;
  std::optional<Interval> where[2];  // fails, holds
};

bool is_order(const Expr* e) { return comparison_of(as<BinaryExpr>(e)).has_value(); }

const Expr* last_of(Context& ctx, const Expr* min, const Expr* extent) {
  return sub(ctx, add(ctx, min, extent), ctx.int_imm(extent->dtype(), 1));
}

bool is_thread_index(const Stmt* s) { return is_thread_idx(thread_tag(s)); }
bool is_block_index(const Stmt* s) { return is_block_idx(thread_tag(s)); }

class DividerFinder : public Rewriter {
 public:
  DividerFinder(Context& ctx, Analyzer& analyzer, const Var* v, std::vector<Domain> threads, const Stmt* scope,
                bool every_comparison)
      : Rewriter(ctx), analyzer_(analyzer), v_(v), relaxed_(std::move(threads)), every_(every_comparison) {
    for (const Var* outer : free_vars(scope)) outer_.insert(outer);
  }
  std::vector<Divider> found;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override {
    if (is_call_of(e, intrin::Likely)) return note(as<Call>(e)->args[0]), e;
    if (every_ && is_order(e)) return note(e), e;
    return default_expr(e);
  }
  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    const Var* var = nullptr;
    Domain d{};
    if (const auto* f = as<ForStmt>(s)) {
      var = f->var;
      d = {var, f->min, f->step ? nullptr : last_of(ctx_, f->min, f->extent)};
    } else if (const auto* a = as<AttrStmt>(s); a && a->thread_var) {
      var = a->thread_var;
      d = {var, ctx_.int_imm(var->dtype(), 0), last_of(ctx_, ctx_.int_imm(a->value->dtype(), 0), a->value)};
    }
    if (var) relaxed_.push_back(d);
    default_stmt(s);
    if (var) relaxed_.pop_back();
    return s;
  }

 private:
  void note(const Expr* condition) {
    std::vector<const Var*> vars;
    collect_vars(condition, vars);
    if (!is_order(condition) || std::find(vars.begin(), vars.end(), v_) == vars.end() || !is_pure_value(condition))
      return;
    Divider d{condition, {}};
    for (const bool holds : {false, true}) {
      d.where[holds] = interval_where(ctx_, analyzer_, as<BinaryExpr>(condition), holds, v_, relaxed_);
      if (d.where[holds] && !(is_known(d.where[holds]->lower) && is_known(d.where[holds]->upper)))
        d.where[holds].reset();
    }
    if (d.where[0] || d.where[1]) found.push_back(d);
  }

  // Whether the bound can be computed before the loop.
  bool is_known(const Expr* bound) const {
    if (!bound) return true;
    std::vector<const Var*> vars;
    collect_vars(bound, vars);
    return is_pure_value(bound) && std::all_of(vars.begin(), vars.end(), [&](const Var* v) { return outer_.count(v); });
  }

  Analyzer& analyzer_;
  const Var* v_;
  std::vector<Domain> relaxed_;
  std::unordered_set<const Var*> outer_;
  bool every_;
};

// The statement with the conditions replaced by their value.
class ConditionEliminator : public Rewriter {
 public:
  ConditionEliminator(Context& ctx, const std::vector<const Expr*>& conditions, bool value)
      : Rewriter(ctx), conditions_(conditions), value_(ctx.int_imm(DType::Bool(), value ? 1 : 0)) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override {
    const Expr* condition = is_call_of(e, intrin::Likely) ? as<Call>(e)->args[0] : e;
    if (is_order(condition))
      for (const Expr* c : conditions_)
        if (c == condition || structural_equal(c, condition)) return value_;
    return default_expr(e);
  }

 private:
  const std::vector<const Expr*>& conditions_;
  const Expr* value_;
};

// Writes the body of the innermost thread twice: for the blocks in which the conditions are known, and the others.
class BlockDivider : public Rewriter {
 public:
  BlockDivider(Context& ctx, ConditionEliminator& eliminator, const Expr* known)
      : Rewriter(ctx), eliminator_(eliminator), known_(known) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* a = as<AttrStmt>(s);
    if (!a || !a->thread_var) return default_stmt(s);
    innermost_ = true;
    const Stmt* made = default_stmt(s);
    if (!innermost_) return made;
    innermost_ = false;
    const Stmt* divided = ctx_.if_stmt(known_, eliminator_.rewrite(a->body), a->body);
    return ctx_.attr_stmt(a->node, a->key, a->value, divided, a->thread_var);
  }

 private:
  ConditionEliminator& eliminator_;
  const Expr* known_;
  bool innermost_ = false;
};

class Partitioner : public Rewriter {
 public:
  Partitioner(Context& ctx, const PartitionOptions& options, const PrimFunc* f)
      : Rewriter(ctx), options_(options), analyzer_(ctx) {
    for (const PrimParam& p : f->params)
      if (p.buffer)
        for (const Expr* dim : p.buffer->shape)
          if (const auto* v = as<Var>(dim)) analyzer_.mark_non_negative(v);
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* f = as<ForStmt>(s)) return loop(f);
    const auto* a = as<AttrStmt>(s);
    if (!a || !a->thread_var) return default_stmt(s);
    const Expr* zero = ctx_.int_imm(a->thread_var->dtype(), 0);
    const bool candidate = is_block_index(a) && (options_.const_loops || !const_int(a->value));
    if (candidate && has_likely(a->body, a->thread_var))
      if (const Stmt* made = partitioned(a)) return made;
    analyzer_.bind_range(a->thread_var, {zero, a->value});
    if (!is_thread_index(a)) return default_stmt(s);
    threads_.push_back({a->thread_var, zero, last_of(ctx_, zero, a->value)});
    const Stmt* made = default_stmt(s);
    threads_.pop_back();
    return made;
  }

 private:
  struct Middle {
    Interval interval;
    std::vector<const Expr*> conditions;
    bool value;
  };

  const Stmt* loop(const ForStmt* f) {
    if (is_candidate(f))
      if (const Stmt* made = partitioned(f)) return made;
    analyzer_.bind_range(f->var, {f->min, f->extent});
    const bool relaxed = f->for_kind == ForKind::ThreadBinding && is_thread_index(f);
    if (relaxed) threads_.push_back({f->var, f->min, last_of(ctx_, f->min, f->extent)});
    const Stmt* made = default_stmt(f);
    if (relaxed) threads_.pop_back();
    analyzer_.end_range(f->var);
    return made;
  }

  static bool has_hint(const ForStmt* f) {
    const Attr* hint = find_attr(f->annotations, attr_name::LoopPartitionHint);
    return hint && is_set(f->annotations, attr_name::LoopPartitionHint);
  }

  bool is_candidate(const ForStmt* f) const {
    if (f->for_kind == ForKind::ThreadBinding || f->step || parts_ >= kMaxParts || jumps(f->body)) return false;
    if (has_hint(f)) return true;
    const bool fixed = const_int(f->min) && const_int(f->extent);
    return (!fixed || options_.const_loops) && has_likely(f->body, f->var);
  }

  static bool has_likely(const Stmt* body, const Var* v) {
    bool found = false;
    walk(body, [&](const Node* n) {
      const auto* call = as<Call>(n);
      if (call && is_call_of(call, intrin::Likely)) {
        std::vector<const Var*> vars;
        collect_vars(call, vars);
        found = found || std::find(vars.begin(), vars.end(), v) != vars.end();
      }
      return !found;
    });
    return found;
  }

  bool before(const Expr* a, const Expr* b) { return analyzer_.prove(compare(ctx_, BinaryKind::LT, a, b)); }
  bool not_after(const Expr* a, const Expr* b) {
    if (analyzer_.prove(compare(ctx_, BinaryKind::LE, a, b))) return true;
    // n // 4 <= (n + 3) // 4
    const auto *x = as<BinaryExpr>(a), *y = as<BinaryExpr>(b);
    if (!x || !y || x->op() != BinaryKind::FloorDiv || y->op() != BinaryKind::FloorDiv) return false;
    const auto by = const_int(x->b);
    return by && *by > 0 && is_const(y->b, *by) && analyzer_.prove(compare(ctx_, BinaryKind::LE, x->a, y->a));
  }
  const Expr* larger(const Expr* a, const Expr* b) {
    return not_after(b, a) ? a : not_after(a, b) ? b : max(ctx_, a, b);
  }
  const Expr* smaller(const Expr* a, const Expr* b) {
    return not_after(a, b) ? a : not_after(b, a) ? b : min(ctx_, a, b);
  }

  // Where the conditions that can have the value within min..last have it.
  std::optional<Middle> middle(const std::vector<Divider>& dividers, bool value, const Expr* first, const Expr* last) {
    Middle m{{}, {}, value};
    for (const Divider& d : dividers) {
      const auto& where = d.where[value];
      if (!where || (where->lower && before(last, where->lower)) || (where->upper && before(where->upper, first)))
        continue;
      m.conditions.push_back(d.condition);
      if (where->lower) m.interval.lower = m.interval.lower ? larger(m.interval.lower, where->lower) : where->lower;
      if (where->upper) m.interval.upper = m.interval.upper ? smaller(m.interval.upper, where->upper) : where->upper;
    }
    if (m.conditions.empty()) return std::nullopt;
    return m;
  }

  std::vector<Divider> dividers(const Var* v, const Stmt* scope, const Stmt* body, bool hinted) {
    DividerFinder finder(ctx_, analyzer_, v, threads_, scope, hinted);
    finder.rewrite(body);
    return std::move(finder.found);
  }
  std::optional<Middle> middle(const std::vector<Divider>& found, const Expr* first, const Expr* last) {
    auto m = middle(found, true, first, last);
    return m ? m : middle(found, false, first, last);
  }

  const Stmt* partitioned(const ForStmt* f) {
    const Expr* end = analyzer_.simplify(add(ctx_, f->min, f->extent));
    const bool hinted = has_hint(f);
    const std::vector<Divider> found = dividers(f->var, f, f->body, hinted);
    const auto m = middle(found, f->min, last_of(ctx_, f->min, f->extent));
    if (!m) {
      if (!hinted || !options_.unroll_undivided || found.empty() ||
          !before(ctx_.int_imm(f->extent->dtype(), 1), f->extent))
        return nullptr;
      const Stmt* made = ctx_.for_stmt(f->var, f->min, f->extent, ForKind::Unrolled, rewrite(f->body),
                                       ctx_.with_attr(f->annotations, attr_name::LoopPartitionHint, nullptr));
      ctx_.set_origin(made, f);
      return made;
    }
    const Expr* begin = m->interval.lower ? smaller(larger(m->interval.lower, f->min), end) : f->min;
    const Expr* upper = m->interval.upper
                            ? analyzer_.simplify(add(ctx_, m->interval.upper, ctx_.int_imm(f->var->dtype(), 1)))
                            : nullptr;
    const Expr* doubt = upper ? smaller(larger(upper, begin), end) : end;
    std::vector<const Stmt*> parts;
    const bool first_part = !analyzer_.prove_equal(begin, f->min);
    const bool last_part = !analyzer_.prove_equal(doubt, end);
    parts_ += 1 + int(first_part) + int(last_part);
    if (first_part) parts.push_back(part(f, f->body, f->min, begin));
    if (!not_after(doubt, begin))
      parts.push_back(part(f, ConditionEliminator(ctx_, m->conditions, m->value).rewrite(f->body), begin, doubt));
    if (last_part) parts.push_back(part(f, f->body, doubt, end));
    if (parts.empty()) return no_op(ctx_);
    for (const Stmt*& s : parts) s = again(s, first_part || last_part);
    return ctx_.seq_stmt(parts);
  }

  // A part may be split once more, by other conditions, if its size is known: else there might be no end.
  const Stmt* again(const Stmt* s, bool smaller_part) {
    const auto* f = as<ForStmt>(s);
    if (!f || (smaller_part && const_int(f->extent))) return rewrite(s);
    return inner(f);
  }

  const Stmt* inner(const ForStmt* f) {
    analyzer_.bind_range(f->var, {f->min, f->extent});
    const Stmt* made = default_stmt(f);
    analyzer_.end_range(f->var);
    return made;
  }

  // Iterations begin..end, counted from 0.
  const Stmt* part(const ForStmt* f, const Stmt* body, const Expr* begin, const Expr* end) {
    const Expr* count = analyzer_.simplify(sub(ctx_, end, begin));
    const DType t = f->var->dtype();
    if (!options_.keep_single && is_const(count, 1)) return substitute(ctx_, body, {{f->var, cast_to(ctx_, t, begin)}});
    const Var* var = ctx_.var(f->var->name, f->var->type);
    ctx_.set_origin(var, f->var);
    const Stmt* moved = substitute(ctx_, body, {{f->var, cast_to(ctx_, t, add(ctx_, var, begin))}});
    const Stmt* made =
        ctx_.for_stmt(var, ctx_.int_imm(t, 0), cast_to(ctx_, t, count), f->for_kind, moved, f->annotations);
    ctx_.set_origin(made, f);
    return made;
  }

  const Stmt* partitioned(const AttrStmt* a) {
    const Expr* zero = ctx_.int_imm(a->thread_var->dtype(), 0);
    const auto m = middle(dividers(a->thread_var, a, a->body, false), zero, last_of(ctx_, zero, a->value));
    if (!m || parts_ >= kMaxParts) return nullptr;
    parts_ += 2;
    const Expr* known = ctx_.int_imm(DType::Bool(), 1);
    if (m->interval.lower && !not_after(m->interval.lower, zero))
      known = logical_and(ctx_, known, compare(ctx_, BinaryKind::GE, a->thread_var, m->interval.lower));
    const Expr* last = last_of(ctx_, zero, a->value);
    if (m->interval.upper && !not_after(last, m->interval.upper))
      known = logical_and(ctx_, known, compare(ctx_, BinaryKind::LE, a->thread_var, m->interval.upper));
    ConditionEliminator eliminator(ctx_, m->conditions, m->value);
    if (is_const(known, 1)) {
      const Stmt* made = ctx_.attr_stmt(a->node, a->key, a->value, eliminator.rewrite(a->body), a->thread_var);
      ctx_.set_origin(made, a);
      return made;
    }
    return BlockDivider(ctx_, eliminator, known).rewrite(a);
  }

  const PartitionOptions& options_;
  Analyzer analyzer_;
  std::vector<Domain> threads_;  // whose values a border may not depend on
  int parts_ = 0;
};

// Hints count while loops are split: parts are split again.
class HintRemover : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const Stmt* visit_stmt(const Stmt* s) override {
    const Stmt* made = default_stmt(s);
    const auto* f = as<ForStmt>(made);
    if (!f || !find_attr(f->annotations, attr_name::LoopPartitionHint)) return made;
    const Stmt* plain =
        ctx_.for_stmt(f->var, f->min, f->extent, f->for_kind, f->body,
                      ctx_.with_attr(f->annotations, attr_name::LoopPartitionHint, nullptr), f->thread_tag, f->step);
    ctx_.set_origin(plain, s);
    return plain;
  }
};

}  // namespace

Result<const Module*> loop_partition(PassEnv& env, const Module* module, const LoopPartitionOptions& options) {
  const PartitionOptions wanted{options.partition_const_loop, options.no_unroll_loop_with_extent_one,
                                options.unroll_loop_with_partition_hint_no_interval};
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    const Stmt* body = HintRemover(env.ctx).rewrite(Partitioner(env.ctx, wanted, f).rewrite(f->body));
    return with_body(env.ctx, f, body == f->body ? body : single_definitions(env.ctx, f, body));
  });
}

}  // namespace rldb::passes
