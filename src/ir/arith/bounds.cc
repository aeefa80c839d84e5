// Constant bounds of canonical sums: interval arithmetic in which an end that does not fit is unknown.
#include "ir/arith/arith_impl.h"
#include "ir/arith/scalar_fold.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/intrinsic/vector.h"
#include "rldb/ir/scalar.h"

namespace rldb::ir::arith {

namespace {

using End = std::optional<std::int64_t>;
__extension__ using Wide = __int128;

End fit(Wide v) {
  if (v < INT64_MIN || v > INT64_MAX) return std::nullopt;
  return std::int64_t(v);
}
End plus(End a, End b) { return a && b ? fit(Wide(*a) + *b) : std::nullopt; }
End times(End a, End b) { return a && b ? fit(Wide(*a) * *b) : std::nullopt; }

Bounds scaled(const Bounds& b, std::int64_t k) {
  if (k == 0) return {0, 0};
  const End lo = times(b.min, k), hi = times(b.max, k);
  return k > 0 ? Bounds{lo, hi} : Bounds{hi, lo};
}

Bounds negated(const Bounds& b) { return scaled(b, -1); }

bool at_least(const Bounds& b, std::int64_t v) { return b.min && *b.min >= v; }
bool at_most(const Bounds& b, std::int64_t v) { return b.max && *b.max <= v; }

bool is_zero(const Bounds& b) { return at_least(b, 0) && at_most(b, 0); }

Bounds multiplied(const Bounds& a, const Bounds& b) {
  // Zero is its own negation: otherwise it would be negated for ever below.
  if (is_zero(a) || is_zero(b)) return {0, 0};
  if (a.min && a.max && b.min && b.max) {
    const Wide ends[] = {Wide(*a.min) * *b.min, Wide(*a.min) * *b.max, Wide(*a.max) * *b.min, Wide(*a.max) * *b.max};
    return {fit(*std::min_element(std::begin(ends), std::end(ends))),
            fit(*std::max_element(std::begin(ends), std::end(ends)))};
  }
  if (at_least(a, 0) && at_least(b, 0)) return {times(a.min, b.min), times(a.max, b.max)};
  if (at_most(a, 0)) return negated(multiplied(negated(a), b));
  if (at_most(b, 0)) return negated(multiplied(a, negated(b)));
  return {};
}

Bounds squared(const Bounds& b) {
  if (at_least(b, 0) || at_most(b, 0)) return multiplied(b, b);
  if (!b.min || !b.max) return {0, std::nullopt};
  return {0, fit(std::max(Wide(*b.min) * *b.min, Wide(*b.max) * *b.max))};
}

Bounds joined(const Bounds& a, const Bounds& b) {
  return {a.min && b.min ? End(std::min(*a.min, *b.min)) : std::nullopt,
          a.max && b.max ? End(std::max(*a.max, *b.max)) : std::nullopt};
}

Bounds met(const Bounds& a, const Bounds& b) {
  Bounds out = a;
  if (b.min && (!out.min || *b.min > *out.min)) out.min = b.min;
  if (b.max && (!out.max || *b.max < *out.max)) out.max = b.max;
  return out;
}

// The range of the dtype; int64 and unknown dtypes: unbounded.
Bounds range_of(DType t) {
  if (t.is_bool()) return {0, 1};
  if (t.is_int() && t.bits < 64) return {-(std::int64_t(1) << (t.bits - 1)), (std::int64_t(1) << (t.bits - 1)) - 1};
  if (t.is_uint() && t.bits < 64) return {0, (std::int64_t(1) << t.bits) - 1};
  return {};
}

// Of a number that is not negative, unless bits are lost.
Bounds shifted_left(const Bounds& x, const Bounds& by, const Bounds& range) {
  if (!at_least(x, 0) || !at_least(by, 0) || !x.max || !at_most(by, 62)) return {};
  const End most = times(x.max, std::int64_t(1) << *by.max);
  if (!most || (range.max && *most > *range.max)) return {};
  return {times(x.min, std::int64_t(1) << *by.min), most};
}

Bounds floor_div_bounds(const Bounds& x, const Bounds& d) {
  if (d.min && d.max && *d.min == *d.max && *d.min > 0) {
    return {x.min ? End(ir::floor_div(*x.min, *d.min)) : std::nullopt,
            x.max ? End(ir::floor_div(*x.max, *d.min)) : std::nullopt};
  }
  if (!at_least(d, 1)) return {};
  // Towards zero from either side, never past it; a negative numerator stays at -1 or below.
  return {x.min ? End(std::min<std::int64_t>(*x.min, 0)) : std::nullopt,
          x.max ? End(std::max<std::int64_t>(*x.max, -1)) : std::nullopt};
}

Bounds floor_mod_bounds(const Bounds& x, const Bounds& d) {
  if (!at_least(d, 1)) return {};
  Bounds out{0, d.max ? End(*d.max - 1) : std::nullopt};
  if (at_least(x, 0)) out = met(out, {0, x.max});
  return out;
}

}  // namespace

Bounds Canonicaliser::bounds_of(const Poly& p) {
  if (p.overflow) return {};
  const Bounds out = bounds_of_terms(p);
  // c * (e // c) is e - e % c, and terms that e cancels make the ends tighter: n // 4 * 4 - n is in [-3, 0].
  Poly rest = Poly::of(p.constant);
  Bounds remainders{0, 0};
  for (const Term& t : p.terms) {
    const auto* div = t.atoms.size() == 1 ? as<BinaryExpr>(atoms_[t.atoms[0]]) : nullptr;
    const auto c = div && div->kind == BinaryKind::FloorDiv ? const_int(div->b) : std::nullopt;
    if (!c || *c <= 0 || t.coef % *c != 0 || p.terms.size() == 1) {
      rest.terms.push_back(t);
      continue;
    }
    const Bounds left = scaled(Bounds{0, *c - 1}, -(t.coef / *c));
    remainders = {plus(remainders.min, left.min), plus(remainders.max, left.max)};
    append_scaled(rest, to_poly(div->a), t.coef / *c);
  }
  normalise(rest);
  if (rest.overflow || rest.terms.size() >= p.terms.size()) return out;
  const Bounds whole = bounds_of_terms(rest);
  return met(out, {plus(whole.min, remainders.min), plus(whole.max, remainders.max)});
}

Bounds Canonicaliser::bounds_of_terms(const Poly& p) {
  Bounds out{p.constant, p.constant};
  for (const Term& t : p.terms) {
    const Bounds b = bounds_of_term(t);
    out = {plus(out.min, b.min), plus(out.max, b.max)};
  }
  return out;
}

Bounds Canonicaliser::bounds_of_term(const Term& t) {
  Bounds out{1, 1};
  for (std::size_t i = 0; i < t.atoms.size();) {
    const Bounds b = bounds_of_atom(t.atoms[i]);
    if (i + 1 < t.atoms.size() && t.atoms[i + 1] == t.atoms[i]) {
      out = multiplied(out, squared(b));
      i += 2;
    } else {
      out = multiplied(out, b);
      ++i;
    }
  }
  return scaled(out, t.coef);
}

Bounds Canonicaliser::bounds_of_atom(std::uint32_t id) {
  if (const auto found = atom_bounds_.find(id); found != atom_bounds_.end()) return found->second;
  if (depth_ > kMaxDepth) return atom_bounds_[id] = range_of(atoms_[id]->dtype());
  ++depth_;
  const Bounds b = met(compute_atom_bounds(atoms_[id]), range_of(atoms_[id]->dtype()));
  --depth_;
  atom_bounds_[id] = b;
  return b;
}

Bounds Canonicaliser::bounds_of_call(const Call* c) {
  if (is_call_of(c, intrin::IfThenElse)) return joined(bounds(c->args[1]), bounds(c->args[2]));
  if (is_call_of(c, intrin::Likely)) return bounds(c->args[0]);
  if (is_call_of(c, intrin::Abs)) {
    const Bounds x = bounds(c->args[0]);
    if (at_least(x, 0)) return x;
    if (at_most(x, 0)) return negated(x);
    const Bounds n = negated(x);
    return {0, x.max && n.max ? End(std::max(*x.max, *n.max)) : std::nullopt};
  }
  if (is_call_of(c, intrin::BitwiseAnd)) {
    for (const Expr* a : c->args)
      if (const auto mask = const_int(a); mask && *mask >= 0) return {0, *mask};
  }
  if (is_call_of(c, intrin::ShiftLeft))
    return shifted_left(bounds(c->args[0]), bounds(c->args[1]), range_of(c->dtype()));
  if (is_call_of(c, intrin::Vscale)) return {1, std::nullopt};
  return {};
}

Bounds Canonicaliser::compute_atom_bounds(const Expr* e) {
  if (const auto* v = as<Var>(e)) {
    const auto found = var_bounds_.find(v);
    return found == var_bounds_.end() ? Bounds{} : found->second;
  }
  const auto* b = as<BinaryExpr>(e);
  if (!b) {
    if (const auto* s = as<SelectExpr>(e)) return joined(bounds(s->true_value), bounds(s->false_value));
    if (const auto* l = as<LetExpr>(e)) return bounds(l->body);
    if (const auto* c = as<Call>(e)) return bounds_of_call(c);
    if (const auto* c = as<CastExpr>(e)) {
      if (!c->value->dtype().is_integral() || !c->value->dtype().is_scalar()) return {};
      const Bounds inner = met(bounds(c->value), range_of(c->value->dtype()));
      const Bounds limit = range_of(e->dtype());
      // A value that does not fit wraps, and then nothing is known.
      if (limit.min && !(inner.min && *inner.min >= *limit.min)) return {};
      if (limit.max && !(inner.max && *inner.max <= *limit.max)) return {};
      if (e->dtype().is_uint() && !at_least(inner, 0)) return {};
      return c->value->dtype().is_uint() && c->value->dtype().bits == 64 ? Bounds{} : inner;
    }
    return {};
  }
  const Bounds x = bounds(b->a), y = bounds(b->b);
  switch (b->op()) {
    case BinaryKind::Min: {
      Bounds out = joined(x, y);
      out.min = x.min && y.min ? out.min : std::nullopt;
      out.max = x.max && y.max ? End(std::min(*x.max, *y.max)) : x.max ? x.max : y.max;
      return out;
    }
    case BinaryKind::Max: {
      Bounds out = joined(x, y);
      out.min = x.min && y.min ? End(std::max(*x.min, *y.min)) : x.min ? x.min : y.min;
      out.max = x.max && y.max ? out.max : std::nullopt;
      return out;
    }
    case BinaryKind::FloorDiv:
      return floor_div_bounds(x, y);
    case BinaryKind::FloorMod:
      return floor_mod_bounds(x, y);
    case BinaryKind::Div:
      // Towards zero: no further from it than the numerator, with the same sign.
      if (!at_least(y, 1)) return {};
      return {x.min ? End(std::min<std::int64_t>(*x.min, 0)) : std::nullopt,
              x.max ? End(std::max<std::int64_t>(*x.max, 0)) : std::nullopt};
    case BinaryKind::Mod: {
      if (!at_least(y, 1)) return {};
      const End most = y.max ? End(*y.max - 1) : std::nullopt;
      return {at_least(x, 0) ? End(0) : times(most, -1), at_most(x, 0) ? End(0) : most};
    }
    case BinaryKind::Mul:
      return multiplied(x, y);
    case BinaryKind::Add:
    case BinaryKind::Sub:
#define RLDB_COMPARISON(Kind, ...) case BinaryKind::Kind:
#define RLDB_LOGIC(Kind, ...) case BinaryKind::Kind:
#include "rldb/ir/node.def"
      break;  // sums were handled before; comparisons are bool: the range of the dtype
  }
  return {};
}

}  // namespace rldb::ir::arith
