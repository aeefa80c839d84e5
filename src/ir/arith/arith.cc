// Analyzer: simplification in canonical form, and proofs from what is known about variables.
#include "rldb/ir/arith.h"

#include <functional>
#include <numeric>

#include "ir/arith/arith_impl.h"
#include "ir/arith/text_rules.h"
#include "rldb/ir/comparison.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/scalar.h"
#include "rldb/support/cancel.h"

namespace rldb::ir {
namespace arith {

// Children first; index arithmetic goes through the canonical form.
class Simplifier final : public Rewriter {
 public:
  Simplifier(Context& ctx, Canonicaliser& owner) : Rewriter(ctx), owner_(owner) {}
  // The node itself with simplified children.
  const Expr* children(const Expr* e) {
    const Expr* made = default_expr(e);
    return folded(made);
  }

 private:
  const Expr* visit_expr(const Expr* e) override {
    if (isa<IntImm>(e) || owner_.depth_ > Canonicaliser::kMaxDepth) return e;
    if (const auto* v = as<Var>(e); v && v->dtype().is_bool()) return flag(v);
    if (is_index(e)) {
      const Expr* made = owner_.to_expr(owner_.to_poly(e), e->dtype());
      return expr_equal(made, e) ? e : made;
    }
    const auto* b = as<BinaryExpr>(e);
    if (const auto op = comparison_of(b); op && is_index(b->a)) {
      if (const auto decided = owner_.prover().decide(*op, b->a, b->b)) return ctx_.bool_imm(*decided);
      if (const Expr* exact = exact_bound(*op, b->a, b->b)) return exact;
      if (const Expr* written = owner_.comparison(*op, b->a, b->b)) return expr_equal(written, e) ? e : written;
    }
    ++owner_.depth_;
    const Expr* made = folded(default_expr(e));
    --owner_.depth_;
    return made;
  }

  // As in TVM: a <= b is a == b where a >= b is known, and a < b where a != b is known. Null: neither is.
  const Expr* exact_bound(Comparison op, const Expr* a, const Expr* b) {
    if (owner_.form_ != Form::Text) return nullptr;
    if (op == Comparison::GE) std::swap(a, b);
    if (op != Comparison::LE && op != Comparison::GE) return nullptr;
    const auto known = [&](Comparison c) { return owner_.prover().decide(c, a, b).value_or(false); };
    if (known(Comparison::GE))
      return isa<IntImm>(a) ? owner_.comparison(Comparison::EQ, b, a) : owner_.comparison(Comparison::EQ, a, b);
    return known(Comparison::NE) ? owner_.comparison(Comparison::LT, a, b) : nullptr;
  }

  // A variable for a condition is the condition.
  const Expr* flag(const Var* v) {
    const auto known = owner_.values_.find(v);
    if (known == owner_.values_.end() || !owner_.expanding_.insert(v).second) return v;
    const Expr* made = rewrite(known->second);
    owner_.expanding_.erase(v);
    return made;
  }

  const Expr* folded(const Expr* e) {
    if (const auto* b = as<BinaryExpr>(e)) return folded_binary(b);
    if (const auto* n = as<NotExpr>(e)) {
      if (isa<IntImm>(n->a) || isa<NotExpr>(n->a)) return logical_not(ctx_, n->a);
      const auto* c = as<BinaryExpr>(n->a);
      if (n->a->kind == BinaryKind::And || n->a->kind == BinaryKind::Or) {
        const BinaryKind other = n->a->kind == BinaryKind::And ? BinaryKind::Or : BinaryKind::And;
        return folded(ctx_.binary(other, folded(ctx_.not_(c->a)), folded(ctx_.not_(c->b))));
      }
      const auto op = comparison_of(c);
      if (!op) return e;
      // With NaN, `not a < b` is not `b <= a`.
      const bool ordered = *op != Comparison::EQ && *op != Comparison::NE;
      if (ordered && !c->a->dtype().is_integral()) return e;
      const Expr* written = is_index(c->a) ? owner_.comparison(opposite(*op), c->a, c->b) : nullptr;
      return written ? written : ctx_.binary(binary_kind(opposite(*op)), c->a, c->b);
    }
    if (const auto* s = as<SelectExpr>(e)) return chosen(e, s->cond, s->true_value, s->false_value);
    if (const auto* c = as<Call>(e)) {
      if (is_call_of(c, intrin::IfThenElse)) return chosen(e, c->args[0], c->args[1], c->args[2]);
      if (is_call_of(c, intrin::Likely) && isa<IntImm>(c->args[0])) return c->args[0];
      return e;
    }
    if (const auto* c = as<CastExpr>(e))
      return cast_to(ctx_, e->dtype(), c->value) == c->value || isa<IntImm>(c->value) || isa<FloatImm>(c->value)
                 ? cast_to(ctx_, e->dtype(), c->value)
                 : e;
    return e;
  }

  const Expr* chosen(const Expr* e, const Expr* cond, const Expr* t, const Expr* f) {
    if (is_const(cond, 1)) return t;
    if (is_const(cond, 0)) return f;
    return expr_equal(t, f) ? t : e;
  }

  const Expr* folded_binary(const BinaryExpr* b) {
    if (b->kind == BinaryKind::And || b->kind == BinaryKind::Or) {
      if (expr_equal(b->a, b->b) && is_pure(b->a)) return b->a;
      if (is_pure(b->a) && contradict(b->a, b->b) && b->dtype().is_scalar())
        return ctx_.bool_imm(b->kind == BinaryKind::Or);
    }
    auto made = make_binary(ctx_, b->op(), b->a, b->b);
    // A fresh copy of the same operator adds nothing.
    return made.ok() && (*made)->kind != b->kind ? *made : b;
  }

  static bool contradict(const Expr* a, const Expr* b) {
    if (const auto* n = as<NotExpr>(a)) return expr_equal(n->a, b);
    if (const auto* n = as<NotExpr>(b)) return expr_equal(n->a, a);
    const auto *x = as<BinaryExpr>(a), *y = as<BinaryExpr>(b);
    const auto op = comparison_of(x), of_y = comparison_of(y);
    if (!op || !of_y || !x->a->dtype().is_integral()) return false;
    if (opposite(*op) == *of_y && expr_equal(x->a, y->a) && expr_equal(x->b, y->b)) return true;
    return mirrored(opposite(*op)) == *of_y && expr_equal(x->a, y->b) && expr_equal(x->b, y->a);
  }

  Canonicaliser& owner_;
};

const Expr* Canonicaliser::canonical(const Expr* e) { return Simplifier(ctx_, *this).children(e); }

const Expr* Canonicaliser::simplify(const Expr* e) {
  if (e == nullptr || isa<IntImm>(e)) return e;
  const Expr* made = Simplifier(ctx_, *this).rewrite(e);
  if (form_ == Form::Proof) return made;
  const Expr* ruled = apply_text_rules(ctx_, made);
  return ruled == made ? made : Simplifier(ctx_, *this).rewrite(ruled);
}

// ---- known facts ----

// Canonical forms depend on bounds: they are recomputed.
void Canonicaliser::forget() {
  polys_.clear();
  atom_bounds_.clear();
}

void Canonicaliser::bind(const Var* v, Bounds b) {
  Bounds& known = var_bounds_[v];
  if (b.min && (!known.min || *b.min > *known.min)) known.min = b.min;
  if (b.max && (!known.max || *b.max < *known.max)) known.max = b.max;
  forget();
}

void Canonicaliser::bind_range(const Var* v, const Range& r) {
  const Bounds lo = bounds(r.min);
  const Bounds extent = bounds(r.extent);
  Bounds b{lo.min, std::nullopt};
  std::int64_t hi = 0;
  if (lo.max && extent.max && !__builtin_add_overflow(*lo.max, *extent.max, &hi) && hi != INT64_MIN) b.max = hi - 1;
  bind(v, b);
  if (!const_int(r.min)) add_fact(v, r.min, 0);
  if (!const_int(r.min) || !const_int(r.extent)) {
    const Expr* end = const_int(r.min) == std::optional<std::int64_t>(0) ? r.extent : add(ctx_, r.min, r.extent);
    add_fact(end, v, 1);
  }
}

void Canonicaliser::end_range(const Var* v) {
  const auto mentions = [&](const Poly& p) {
    std::vector<const Var*> used;
    for (const Term& t : p.terms)
      for (const std::uint32_t id : t.atoms) collect_vars(atoms_[id], used);
    return std::find(used.begin(), used.end(), v) != used.end();
  };
  if (std::erase_if(facts_, mentions) > 0) forget();
}

void Canonicaliser::bind_value(const Var* v, const Expr* value) {
  std::vector<const Var*> inside;
  collect_vars(value, inside);
  if (std::find(inside.begin(), inside.end(), v) != inside.end()) return;
  values_[v] = value;
  forget();
}

// greater - less >= gap
void Canonicaliser::add_fact(const Expr* greater, const Expr* less, std::int64_t gap) {
  Poly p = sum(sum(to_poly(greater), to_poly(less), -1), Poly::of(-gap));
  if (p.overflow) return;
  // A lone variable against a literal is a bound.
  if (p.terms.size() == 1 && p.terms[0].atoms.size() == 1 && p.constant != INT64_MIN) {
    const auto* v = as<Var>(atoms_[p.terms[0].atoms[0]]);
    if (v && p.terms[0].coef == 1) return bind(v, {-p.constant, std::nullopt});
    if (v && p.terms[0].coef == -1) return bind(v, {std::nullopt, p.constant});
  }
  if (facts_.size() < kMaxFacts) facts_.push_back(std::move(p));
  forget();
}

void Canonicaliser::assume(const Expr* condition) {
  std::vector<const Expr*> parts{condition};
  while (!parts.empty()) {
    const Expr* e = parts.back();
    parts.pop_back();
    if (const auto* c = as<Call>(e); c && is_call_of(c, intrin::Likely)) {
      parts.push_back(c->args[0]);
      continue;
    }
    if (const auto* n = as<NotExpr>(e)) {
      const auto* c = as<BinaryExpr>(n->a);
      if (const auto op = comparison_of(c); op && c->a->dtype().is_integral())
        parts.push_back(ctx_.binary(binary_kind(opposite(*op)), c->a, c->b));
    }
    const auto* b = as<BinaryExpr>(e);
    if (b && e->kind == BinaryKind::And) {
      parts.push_back(b->a);
      parts.push_back(b->b);
      continue;
    }
    if (conditions_.size() < kMaxFacts) conditions_.push_back(e);
    const auto op = comparison_of(b);
    if (!op || !is_index(b->a)) continue;
    switch (*op) {
      case Comparison::LT:
        add_fact(b->b, b->a, 1);
        break;
      case Comparison::LE:
        add_fact(b->b, b->a, 0);
        break;
      case Comparison::GT:
        add_fact(b->a, b->b, 1);
        break;
      case Comparison::GE:
        add_fact(b->a, b->b, 0);
        break;
      case Comparison::EQ:
        add_fact(b->a, b->b, 0);
        add_fact(b->b, b->a, 0);
        break;
      case Comparison::NE:
        break;  // kept as a condition
    }
  }
}

// ---- proofs ----

// By bounds, or by bounds of the remainder after a few facts (i < n and n <= m give i < m).
bool Canonicaliser::non_negative(const Poly& p) {
  const int chain = facts_.size() <= 8 ? 3 : facts_.size() <= 24 ? 2 : 1;
  return non_negative_with(p, 0, chain);
}

bool Canonicaliser::non_negative_with(const Poly& p, std::size_t first_fact, int chain) {
  support::poll();
  const Bounds b = bounds_of(p);
  if (b.min && *b.min >= 0) return true;
  if (chain == 0) return false;
  for (std::size_t i = first_fact; i < facts_.size(); ++i)
    if (non_negative_with(sum(p, facts_[i], -1), i, chain - 1)) return true;
  return false;
}

// Whether d == 0; unknown when neither can be shown.
std::optional<bool> Canonicaliser::decide_zero(const Poly& d) {
  if (d.overflow) return std::nullopt;
  if (d.is_const()) return d.constant == 0;
  std::int64_t g = 0;
  for (const Term& t : d.terms) g = t.coef == INT64_MIN ? 1 : std::gcd(g, t.coef);
  if (g > 1 && d.constant % g != 0) return false;
  if (non_negative(sum(d, Poly::of(-1)))) return false;
  if (non_negative(sum(scaled(d, -1), Poly::of(-1)))) return false;
  if (non_negative(d) && non_negative(scaled(d, -1))) return true;
  return std::nullopt;
}

// Whether a condition says that d is not zero.
bool Canonicaliser::known_to_differ(const Poly& d) {
  for (const Expr* known : conditions_) {
    if (known->kind != BinaryKind::NE) continue;
    const auto* c = cast<BinaryExpr>(known);
    if (!is_index(c->a)) continue;
    const Poly other = sum(to_poly(c->a), to_poly(c->b), -1);
    for (const std::int64_t sign : {-1, 1}) {
      const Poly rest = sum(d, other, sign);
      if (!rest.overflow && rest.is_const() && rest.constant == 0) return true;
    }
  }
  return false;
}

std::optional<bool> Canonicaliser::decide(Comparison op, const Expr* a, const Expr* b) {
  const Poly d = merge_div_mod(sum(to_poly(a), to_poly(b), -1), a->dtype());
  if (d.overflow) return std::nullopt;
  // a - b >= k, and a - b <= -k
  const auto above = [&](std::int64_t k) { return non_negative(sum(d, Poly::of(-k))); };
  const auto below = [&](std::int64_t k) { return non_negative(sum(scaled(d, -1), Poly::of(-k))); };
  switch (op) {
    case Comparison::EQ:
    case Comparison::NE: {
      auto zero = decide_zero(d);
      if (!zero) zero = decide_zero(expand_mods(d, a->dtype()));
      if (!zero && known_to_differ(d)) zero = false;
      if (!zero) return std::nullopt;
      return *zero == (op == Comparison::EQ);
    }
    case Comparison::LT:
      if (below(1)) return true;
      if (above(0)) return false;
      return std::nullopt;
    case Comparison::LE:
      if (below(0)) return true;
      if (above(1)) return false;
      return std::nullopt;
    case Comparison::GT:
      if (above(1)) return true;
      if (below(0)) return false;
      return std::nullopt;
    case Comparison::GE:
      if (above(0)) return true;
      if (below(1)) return false;
      return std::nullopt;
  }
  RLDB_UNREACHABLE("every comparison has its case");
}

bool Canonicaliser::prove(const Expr* condition) {
  const Expr* made = simplify(condition);
  if (is_const(made, 1)) return true;
  for (const Expr* known : conditions_)
    if (expr_equal(known, condition) || expr_equal(known, made)) return true;
  if (const auto* b = as<BinaryExpr>(made)) {
    if (b->kind == BinaryKind::And) return prove(b->a) && prove(b->b);
    if (b->kind == BinaryKind::Or) return prove(b->a) || prove(b->b);
  }
  return false;
}

bool Canonicaliser::prove_equal(const Expr* a, const Expr* b) {
  if (a == b || (expr_equal(a, b) && is_pure(a))) return true;
  if (is_index(a) && is_index(b)) {
    const auto decided = decide(Comparison::EQ, a, b);
    return decided && *decided;
  }
  return is_pure(a) && expr_equal(simplify(a), simplify(b));
}

bool Canonicaliser::prove_different(const Expr* a, const Expr* b) {
  if (!is_index(a) || !is_index(b)) {
    const auto x = const_int(a), y = const_int(b);
    return x && y && a->dtype() == b->dtype() && *x != *y;
  }
  const auto decided = decide(Comparison::NE, a, b);
  return decided && *decided;
}

Bounds Canonicaliser::bounds(const Expr* e) {
  if (const auto v = const_int(e)) return {*v, *v};
  if (is_index(e)) return bounds_of(to_poly(e));
  if (!e->dtype().is_integral() || !e->dtype().is_scalar()) return {};
  const Poly p = atom(e);
  return bounds_of(p);
}

}  // namespace arith

// Facts go to both forms; the text form is created when something is to be written.
struct Analyzer::Impl {
  explicit Impl(Context& ctx) : proofs(ctx, arith::Form::Proof), ctx_(ctx) {}

  template <class Fact>
  void know(Fact fact) {
    fact(proofs);
    if (text_) return fact(*text_);
    facts_.emplace_back(std::move(fact));
  }
  arith::Canonicaliser& text() {
    if (!text_) {
      text_.emplace(ctx_, arith::Form::Text, &proofs);
      for (const auto& fact : facts_) fact(*text_);
      facts_.clear();
    }
    return *text_;
  }

  arith::Canonicaliser proofs;

 private:
  Context& ctx_;
  std::vector<std::function<void(arith::Canonicaliser&)>> facts_;
  std::optional<arith::Canonicaliser> text_;
};

Analyzer::Analyzer(Context& ctx) : impl_(std::make_unique<Impl>(ctx)) {}
Analyzer::~Analyzer() = default;
void Analyzer::bind(const Var* v, Bounds bounds) {
  impl_->know([v, bounds](arith::Canonicaliser& c) { c.bind(v, bounds); });
}
void Analyzer::bind_range(const Var* v, const Range& range) {
  impl_->know([v, range](arith::Canonicaliser& c) { c.bind_range(v, range); });
}
void Analyzer::end_range(const Var* v) {
  impl_->know([v](arith::Canonicaliser& c) { c.end_range(v); });
}
void Analyzer::bind_value(const Var* v, const Expr* value) {
  impl_->know([v, value](arith::Canonicaliser& c) { c.bind_value(v, value); });
}
void Analyzer::assume(const Expr* condition) {
  impl_->know([condition](arith::Canonicaliser& c) { c.assume(condition); });
}
const Expr* Analyzer::simplify(const Expr* e) { return impl_->text().simplify(e); }
bool Analyzer::prove_equal(const Expr* a, const Expr* b) { return impl_->proofs.prove_equal(a, b); }
bool Analyzer::prove(const Expr* condition) { return impl_->proofs.prove(condition); }
bool Analyzer::prove_different(const Expr* a, const Expr* b) { return impl_->proofs.prove_different(a, b); }
Bounds Analyzer::bounds(const Expr* e) { return impl_->proofs.bounds(e); }

bool prove_shapes_equal(Context& ctx, std::span<const Expr* const> a, std::span<const Expr* const> b) {
  if (a.size() != b.size()) return false;
  std::optional<Analyzer> analyzer;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (expr_equal(a[i], b[i])) continue;
    const auto *x = as<IntImm>(a[i]), *y = as<IntImm>(b[i]);
    if (x && y) {
      if (x->value != y->value) return false;
      continue;
    }
    if (!analyzer) {
      analyzer.emplace(ctx);
      std::vector<const Var*> vars;
      for (const Expr* e : a) collect_vars(e, vars);
      for (const Expr* e : b) collect_vars(e, vars);
      for (const Var* v : vars) analyzer->mark_non_negative(v);
    }
    if (!analyzer->prove_equal(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace rldb::ir
