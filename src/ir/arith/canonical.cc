// Expressions to canonical sums and back.
#include <numeric>

#include "ir/arith/arith_impl.h"
#include "ir/arith/scalar_fold.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/size.h"
#include "rldb/support/cancel.h"

namespace rldb::ir::arith {

bool is_index(const Expr* e) {
  const DType t = e->dtype();
  return t.is_int() && t.is_scalar() && (t.bits == 32 || t.bits == 64);
}

namespace {

// Operators and operands of an expanded product.
constexpr std::size_t kMaxWritten = 4'000;

struct DepthGuard {
  explicit DepthGuard(int& d) : depth(d) { ++depth; }
  ~DepthGuard() { --depth; }
  int& depth;
};

}  // namespace

namespace {

template <class Known>
bool is_pure_beyond(const Expr* e, Known&& known) {
  bool pure = true;
  walk(e, [&](const Node* n) {
    if (!isa<Expr>(n) || !pure) return pure;
    if (known(n)) return false;
    if (const auto* c = as<Call>(n)) {
      const IntrinsicInfo* row = called_intrinsic(c);
      pure = row && row->purity == IntrinsicPurity::Pure;
    }
    return pure;
  });
  return pure;
}

}  // namespace

bool is_pure(const Expr* e) {
  return is_pure_beyond(e, [](const Node*) { return false; });
}

Poly Canonicaliser::atom(const Expr* e) {
  // A shared node that is already an atom is known to be pure: it is not walked again.
  const bool shared = isa<Var>(e) || is_pure_beyond(e, [this](const Node* n) {
                        return atom_ids_.count(static_cast<const Expr*>(n)) > 0;
                      });
  const std::uint64_t hash = expr_hash(e);
  if (shared)
    if (const Expr* known = atom_table_.find(hash, [&](const Expr* o) { return expr_equal(o, e); }))
      return remember(e, atom_poly(atom_ids_[known]));
  const auto id = std::uint32_t(atoms_.size());
  atoms_.push_back(e);
  atom_sizes_.push_back(expr_size(e, kMaxWritten));
  if (shared) {
    atom_table_.insert(hash, e);
    atom_ids_[e] = id;
  }
  return remember(e, atom_poly(id));
}

// A node made from canonical parts is canonical: when queried again (for bounds, say), it must not be taken apart.
Poly Canonicaliser::remember(const Expr* e, Poly p) {
  if (!isa<Var>(e) && !isa<IntImm>(e)) polys_.emplace(e, p);
  return p;
}

Poly Canonicaliser::atom_or_const(const Expr* e) {
  if (const auto v = const_int(e)) return Poly::of(*v);
  return atom(e);
}

Poly Canonicaliser::to_poly(const Expr* e) {
  if (const auto v = const_int(e)) return Poly::of(*v);
  if (const auto found = polys_.find(e); found != polys_.end()) return found->second;
  if (depth_ > kMaxDepth) {
    Poly p = atom(e);
    // Nor are its bounds computed later, from a shallower place: that would walk the whole nest again and again.
    atom_bounds_.try_emplace(p.terms[0].atoms[0], Bounds{});
    return p;
  }
  support::poll();
  DepthGuard guard(depth_);
  Poly p = sum_poly(e);
  if (p.overflow) p = atom(e);
  if (!isa<Var>(e)) polys_.emplace(e, p);
  return p;
}

// Sums and multiples by a literal, flat: their depth is that of the text's longest line, not of its nesting.
Poly Canonicaliser::sum_poly(const Expr* e) {
  struct Part {
    const Expr* e;
    std::int64_t k;
  };
  std::vector<Part> parts{{e, 1}};
  Poly out;
  while (!parts.empty() && !out.overflow) {
    const auto [x, k] = parts.back();
    parts.pop_back();
    const auto* b = as<BinaryExpr>(x);
    if (const auto v = const_int(x)) {
      append_scaled(out, Poly::of(*v), k);
    } else if (x->kind == BinaryKind::Add) {
      parts.push_back({b->b, k});
      parts.push_back({b->a, k});
    } else if (x->kind == BinaryKind::Sub) {
      std::int64_t minus = 0;
      out.overflow = __builtin_sub_overflow(std::int64_t(0), k, &minus);
      parts.push_back({b->b, minus});
      parts.push_back({b->a, k});
    } else if (x->kind == BinaryKind::Mul && (const_int(b->a) || const_int(b->b))) {
      const bool left = const_int(b->a).has_value();
      std::int64_t scale = 0;
      out.overflow = __builtin_mul_overflow(k, left ? *const_int(b->a) : *const_int(b->b), &scale);
      parts.push_back({left ? b->b : b->a, scale});
    } else {
      append_scaled(out, x == e ? leaf_poly(x) : to_poly(x), k);
    }
  }
  normalise(out);
  if (out.overflow) return out;
  out = merge_div_mod(std::move(out), e->dtype());
  out.is_multiple = e->kind == BinaryKind::Mul;
  return out;
}

Poly Canonicaliser::leaf_poly(const Expr* e) {
  if (const auto* v = as<Var>(e)) {
    const auto known = values_.find(v);
    if (known == values_.end() || !expanding_.insert(v).second) return atom(v);
    Poly p = to_poly(known->second);
    expanding_.erase(v);
    return p;
  }
  const auto* b = as<BinaryExpr>(e);
  const auto other = [&] {
    const Expr* made = canonical(e);
    if (made != e && is_index(made) && (isa<BinaryExpr>(made) || isa<Var>(made))) return to_poly(made);
    return atom_or_const(made);
  };
  if (!b) return other();
  switch (b->op()) {
    case BinaryKind::Mul: {
      // In this order: atoms are met and written in it.
      const Poly left = factor(b->a), right = factor(b->b);
      // TVM's canonical form leaves x * (y * 4) as it is, and its rules then make (x * y) * 4 of it.
      if (form_ == Form::Text && !left.is_const() && right.terms.size() == 1 && right.terms[0].coef != 1)
        return atom(ctx_.binary(BinaryKind::Mul, to_expr(left, e->dtype()), to_expr(right, e->dtype())));
      Poly p = expanded(left, right);
      if (!p.overflow) return p;
      return atom(ctx_.binary(BinaryKind::Mul, simplify(b->a), simplify(b->b)));
    }
    case BinaryKind::FloorDiv:
    case BinaryKind::FloorMod:
    case BinaryKind::Div:
    case BinaryKind::Mod:
      return divide(b);
    case BinaryKind::Min:
    case BinaryKind::Max:
      return min_max(b);
    case BinaryKind::Add:
    case BinaryKind::Sub:
#define RLDB_COMPARISON(Kind, ...) case BinaryKind::Kind:
#define RLDB_LOGIC(Kind, ...) case BinaryKind::Kind:
#include "rldb/ir/node.def"
      break;
  }
  return other();
}

// A sum multiplied by a non-literal stays a sum in text.
Poly Canonicaliser::factor(const Expr* e) {
  Poly p = to_poly(e);
  if (form_ == Form::Proof || p.overflow || p.terms.empty()) return p;
  return p.terms.size() == 1 && p.constant == 0 ? p : atom(to_expr(p, e->dtype()));
}

std::size_t Canonicaliser::written_size(const Poly& p) {
  std::size_t n = 1;
  for (const Term& t : p.terms) {
    ++n;
    for (const std::uint32_t id : t.atoms) n += atom_sizes_[id];
  }
  return n;
}

// Each term of a product repeats the atoms of both factors. A product that would get too long is kept: sums of
// products of such sums would grow exponentially with the depth of the text.
Poly Canonicaliser::expanded(const Poly& a, const Poly& b) {
  const std::size_t size = written_size(a) * (b.terms.size() + 1) + written_size(b) * (a.terms.size() + 1);
  if (size <= kMaxWritten || a.is_const() || b.is_const()) return product(a, b);
  Poly too_long;
  too_long.overflow = true;
  return too_long;
}

Poly Canonicaliser::divide(const BinaryExpr* e) {
  const Poly a = to_poly(e->a), b = to_poly(e->b);
  const DType t = e->dtype();
  if (b.is_const(0)) return atom(e);
  if (a.is_const() && b.is_const()) return Poly::of(*fold_int(e->op(), t, a.constant, b.constant));
  Poly out;
  if (e->kind == BinaryKind::FloorDiv) {
    out = floor_div(a, b, t);
  } else if (e->kind == BinaryKind::FloorMod) {
    out = floor_mod(a, b, t);
  } else {
    out = truncated(e, a, b);
  }
  return out.overflow ? atom(e) : out;
}

// `/` and `%` of C. They are the floor forms where nothing is negative.
Poly Canonicaliser::truncated(const BinaryExpr* e, const Poly& a, const Poly& b) {
  const DType t = e->dtype();
  const bool is_div = e->kind == BinaryKind::Div;
  if (non_negative(a) && non_negative(sum(b, Poly::of(-1)))) {
    Poly floor = is_div ? floor_div(a, b, t) : floor_mod(a, b, t);
    // In text what stays a quotient or a remainder stays a truncated one, as in TVM.
    if (form_ == Form::Proof || floor.is_const() || floor == a) return floor;
  }
  // An exact division rounds nowhere.
  if (b.is_const()) {
    const bool exact =
        b.constant != -1 && a.constant % b.constant == 0 &&
        std::all_of(a.terms.begin(), a.terms.end(), [&](const Term& x) { return x.coef % b.constant == 0; });
    if (exact && is_div) return floor_div(a, b, t);
    if (exact) return Poly::of(0);
  }
  return atom(ctx_.binary(e->op(), to_expr(a, t), to_expr(b, t)));
}

namespace {

// a == q * b + r, with everything that a single-term divisor divides in q.
bool split(const Poly& a, const Poly& b, Poly& q, Poly& r) {
  const bool single = b.terms.empty() || (b.terms.size() == 1 && b.constant == 0);
  if (!single) {
    // A multiple of the whole divisor, found by its first term.
    for (const Term& t : a.terms) {
      if (t.atoms != b.terms[0].atoms || b.terms[0].coef == -1 || t.coef % b.terms[0].coef != 0) continue;
      const std::int64_t k = t.coef / b.terms[0].coef;
      Poly rest = sum(a, b, k == INT64_MIN ? 0 : -k);
      if (!rest.is_const(0)) break;
      q = Poly::of(k);
      r = {};
      return true;
    }
    q = {};
    r = a;
    return true;
  }
  const std::int64_t d = b.terms.empty() ? b.constant : b.terms[0].coef;
  const std::vector<std::uint32_t> atoms = b.terms.empty() ? std::vector<std::uint32_t>{} : b.terms[0].atoms;
  if (d == -1) return false;  // handled by the caller's sign change, or left alone
  q.in_order = r.in_order = a.in_order;
  std::vector<std::uint32_t> rest;
  for (const Term& t : a.terms) {
    if (t.coef % d == 0 && remove_atoms(t.atoms, atoms, rest)) {
      if (rest.empty()) {
        q.overflow = q.overflow || __builtin_add_overflow(q.constant, t.coef / d, &q.constant);
      } else {
        q.terms.push_back({rest, t.coef / d});
      }
    } else {
      r.terms.push_back(t);
    }
  }
  if (b.terms.empty()) {
    const std::int64_t whole = ir::floor_div(a.constant, d);
    q.overflow = q.overflow || __builtin_add_overflow(q.constant, whole, &q.constant);
    r.constant = ir::floor_mod(a.constant, d);
  } else {
    r.constant = a.constant;
  }
  normalise(q);
  normalise(r);
  return true;
}

std::int64_t coefficient_gcd(const Poly& p, std::int64_t start) {
  std::int64_t g = start;
  for (const Term& t : p.terms) {
    if (t.coef == INT64_MIN) return 1;
    g = std::gcd(g, t.coef);
  }
  return g;
}

// (sum + constant) / g, rounding the constant down; g divides every coefficient.
Poly divided(const Poly& p, std::int64_t g) {
  Poly out;
  out.in_order = p.in_order;
  for (const Term& t : p.terms) out.terms.push_back({t.atoms, t.coef / g});
  out.constant = ir::floor_div(p.constant, g);
  return out;
}

}  // namespace

// TVM takes multiples of a symbolic divisor out of a sum only where it knows the divisor's sign.
bool Canonicaliser::stays_divided(const Poly& rest, const Poly& b) {
  return form_ == Form::Text && !rest.is_const(0) && !b.is_const() && !b.overflow && !non_negative(b);
}

Poly Canonicaliser::floor_div(const Poly& a, const Poly& b, DType t) {
  // 0 - x wraps where x is the least number.
  if (form_ == Form::Text && b.is_const() && b.constant < 0 && !a.is_const() && !a.overflow)
    return atom(ctx_.binary(BinaryKind::FloorDiv, to_expr(a, t), ctx_.int_imm(t, b.constant)));
  if (b.is_const() && b.constant < 0 && b.constant != INT64_MIN)
    return floor_div(scaled(a, -1), Poly::of(-b.constant), t);
  Poly q, r;
  // In text, a literal is divided out only where that leaves nothing of it: (h - 1) // 2 + 1.
  if (form_ == Form::Text && b.is_const() && b.constant > 1 && a.constant % b.constant != 0) {
    Poly terms = a;
    terms.constant = 0;
    if (!split(terms, b, q, r)) return rest_div(a, b, t);
    r.constant = a.constant;
    return sum(q, rest_div(std::move(r), b, t));
  }
  if (!split(a, b, q, r) || stays_divided(r, b)) return rest_div(a, b, t);
  return sum(q, rest_div(std::move(r), b, t));
}

Poly Canonicaliser::floor_mod(const Poly& a, const Poly& b, DType t) {
  // n - n % -4 is how TVM writes n padded to a multiple of 4.
  if (form_ == Form::Text && b.is_const() && b.constant < 0 && !a.is_const() && !a.overflow)
    return atom(ctx_.binary(BinaryKind::FloorMod, to_expr(a, t), ctx_.int_imm(t, b.constant)));
  if (b.is_const() && b.constant < 0 && b.constant != INT64_MIN)
    return scaled(floor_mod(scaled(a, -1), Poly::of(-b.constant), t), -1);
  Poly q, r;
  if (!split(a, b, q, r) || stays_divided(r, b)) return rest_mod(a, b, t);
  return rest_mod(std::move(r), b, t);
}

// x * k + y, where k divides c and y, one part, is within 0..k - 1: TVM takes the two apart.
std::optional<Canonicaliser::Digits> Canonicaliser::digits(const Poly& r, std::int64_t c) {
  if (r.terms.size() + (r.constant != 0) != 2) return std::nullopt;
  for (std::size_t i = 0; i < r.terms.size(); ++i) {
    const std::int64_t k = r.terms[i].coef;
    if (k <= 1 || k >= c || c % k != 0) continue;
    Digits out{r, r, k};
    out.low.terms.erase(out.low.terms.begin() + std::ptrdiff_t(i));
    out.high.terms = {{r.terms[i].atoms, 1}};
    out.high.constant = 0;
    const Bounds low = bounds_of(out.low);
    if (low.min && *low.min >= 0 && low.max && *low.max < k) return out;
  }
  return std::nullopt;
}

// r // b, when nothing more can be divided out of r.
Poly Canonicaliser::rest_div(Poly r, const Poly& b, DType t) {
  if (r.overflow || b.overflow) {
    r.overflow = true;
    return r;
  }
  if (r.is_const(0)) return r;
  if (!b.is_const()) {
    if (non_negative(r) && non_negative(sum(sum(b, Poly::of(-1)), r, -1))) return Poly::of(0);
    return atom(ctx_.binary(BinaryKind::FloorDiv, to_expr(r, t), to_expr(b, t)));
  }
  std::int64_t c = b.constant;
  if (c > 1) {
    const Bounds range = bounds_of(r);
    if (range.min && range.max && ir::floor_div(*range.min, c) == ir::floor_div(*range.max, c))
      return Poly::of(ir::floor_div(*range.min, c));
    if (const std::int64_t g = coefficient_gcd(r, c); g > 1) {
      r = divided(r, g);
      c /= g;
      if (c == 1) return r;
      return floor_div(r, Poly::of(c), t);
    }
    if (const auto apart = digits(r, c)) return floor_div(apart->high, Poly::of(c / apart->step), t);
    // (x // d + k) // c == (x + k * d) // (d * c)
    if (r.terms.size() == 1 && r.terms[0].coef == 1 && r.terms[0].atoms.size() == 1) {
      const auto* inner = as<BinaryExpr>(atoms_[r.terms[0].atoms[0]]);
      const auto d = inner && inner->kind == BinaryKind::FloorDiv ? const_int(inner->b) : std::nullopt;
      std::int64_t whole = 0;
      if (d && *d > 0 && !__builtin_mul_overflow(*d, c, &whole)) {
        const Poly x = sum(to_poly(inner->a), scaled(Poly::of(*d), r.constant));
        if (!x.overflow) return floor_div(x, Poly::of(whole), t);
      }
    }
  }
  return atom(ctx_.binary(BinaryKind::FloorDiv, to_expr(r, t), ctx_.int_imm(t, c)));
}

// Terms x % d become x where the divisor divides d: they are congruent.
Poly Canonicaliser::without_mods(const Poly& p, std::int64_t divisor) {
  Poly out = Poly::of(p.constant);
  out.in_order = p.in_order;
  for (const Term& t : p.terms) {
    const auto* m = t.atoms.size() == 1 ? as<BinaryExpr>(atoms_[t.atoms[0]]) : nullptr;
    const auto d = m && m->kind == BinaryKind::FloorMod ? const_int(m->b) : std::nullopt;
    if (d && *d > 0 && *d % divisor == 0) {
      append_scaled(out, to_poly(m->a), t.coef);
    } else {
      out.terms.push_back(t);
    }
  }
  normalise(out);
  return out;
}

Poly Canonicaliser::rest_mod(Poly r, const Poly& b, DType t) {
  if (r.overflow || b.overflow) {
    r.overflow = true;
    return r;
  }
  if (r.is_const(0)) return r;
  if (!b.is_const()) {
    // In text i % n stays, as in TVM, whatever i is.
    if (form_ == Form::Proof && non_negative(r) && non_negative(sum(sum(b, Poly::of(-1)), r, -1))) return r;
    return atom(ctx_.binary(BinaryKind::FloorMod, to_expr(r, t), to_expr(b, t)));
  }
  const std::int64_t c = b.constant;
  if (c > 1) {
    const Bounds range = bounds_of(r);
    if (range.min && range.max && ir::floor_div(*range.min, c) == ir::floor_div(*range.max, c)) {
      std::int64_t start = 0;
      if (!__builtin_mul_overflow(ir::floor_div(*range.min, c), c, &start) && start != INT64_MIN)
        return sum(r, Poly::of(-start));
    }
    Poly plain = without_mods(r, c);
    if (!plain.overflow && !(plain == r)) return floor_mod(plain, b, t);
    if (const std::int64_t g = coefficient_gcd(r, c); g > 1 && g < c) {
      const Poly inner = floor_mod(divided(r, g), Poly::of(c / g), t);
      return sum(scaled(inner, g), Poly::of(ir::floor_mod(r.constant, g)));
    } else if (g == c) {
      return Poly::of(ir::floor_mod(r.constant, c));
    }
    if (const auto apart = digits(r, c))
      return sum(scaled(floor_mod(apart->high, Poly::of(c / apart->step), t), apart->step), apart->low);
  }
  return atom(ctx_.binary(BinaryKind::FloorMod, to_expr(r, t), to_expr(b, t)));
}

namespace {
bool comes_before(const Poly& a, const Poly& b) {
  for (std::size_t i = 0; i < a.terms.size() && i < b.terms.size(); ++i) {
    const Term &x = a.terms[i], &y = b.terms[i];
    if (x.atoms != y.atoms) return x.atoms < y.atoms;
    if (x.coef != y.coef) return x.coef < y.coef;
  }
  if (a.terms.size() != b.terms.size()) return a.terms.size() < b.terms.size();
  return a.constant < b.constant;
}
}  // namespace

Poly Canonicaliser::min_max(const BinaryExpr* e) {
  const Poly a = to_poly(e->a), b = to_poly(e->b);
  const bool is_min = e->kind == BinaryKind::Min;
  const Poly difference = sum(a, b, -1);
  if (non_negative(difference)) return is_min ? b : a;
  if (non_negative(scaled(difference, -1))) return is_min ? a : b;
  const DType t = e->dtype();
  const Expr *x = to_expr(a, t), *y = to_expr(b, t);
  // For proofs, one order for both ways to write it. In text the operands stay where they are.
  if (form_ == Form::Proof && comes_before(b, a)) std::swap(x, y);
  return atom(ctx_.binary(e->op(), x, y));
}

// k * d * (x // d) + k * (x % d) == k * x
Poly Canonicaliser::merge_div_mod(Poly p, DType t) {
  for (std::size_t i = 0; i < p.terms.size(); ++i) {
    for (std::size_t j = 0; j < p.terms[i].atoms.size(); ++j) {
      const auto* m = as<BinaryExpr>(atoms_[p.terms[i].atoms[j]]);
      if (!m || m->kind != BinaryKind::FloorMod) continue;
      const Expr* quotient = ctx_.binary(BinaryKind::FloorDiv, m->a, m->b);
      const Expr* known = atom_table_.find(expr_hash(quotient), [&](const Expr* o) { return expr_equal(o, quotient); });
      if (!known) continue;
      Term rest = p.terms[i];
      rest.atoms.erase(rest.atoms.begin() + std::ptrdiff_t(j));
      const Poly factor{rest.atoms.empty() ? std::vector<Term>{} : std::vector<Term>{rest},
                        rest.atoms.empty() ? rest.coef : 0, false, p.in_order};
      const Poly partner = product(factor, product(to_poly(m->b), atom_poly(atom_ids_[known])));
      // All of the partner's terms must be there.
      Poly without = sum(p, partner, -1);
      if (partner.overflow || without.overflow || without.terms.size() + partner.terms.size() != p.terms.size())
        continue;
      const Poly mod_term{{p.terms[i]}, 0, false, p.in_order};
      Poly merged = sum(sum(without, mod_term, -1), product(factor, to_poly(m->a)));
      if (merged.overflow) continue;
      return merge_div_mod(std::move(merged), t);
    }
  }
  return p;
}

// x % d written as x - x // d * d everywhere: the form used for equality.
Poly Canonicaliser::expand_mods(const Poly& p, DType t, int depth) {
  if (depth > 8 || p.overflow) return p;
  for (const Term& term : p.terms) {
    for (std::size_t j = 0; j < term.atoms.size(); ++j) {
      const auto* m = as<BinaryExpr>(atoms_[term.atoms[j]]);
      if (!m || m->kind != BinaryKind::FloorMod) continue;
      Term rest = term;
      rest.atoms.erase(rest.atoms.begin() + std::ptrdiff_t(j));
      const Poly factor{rest.atoms.empty() ? std::vector<Term>{} : std::vector<Term>{rest},
                        rest.atoms.empty() ? rest.coef : 0, false, p.in_order};
      const Poly quotient = atom(ctx_.binary(BinaryKind::FloorDiv, m->a, m->b));
      const Poly value = sum(to_poly(m->a), product(to_poly(m->b), quotient), -1);
      const Poly out = sum(sum(p, Poly{{term}, 0, false, p.in_order}, -1), product(factor, value));
      return out.overflow ? p : expand_mods(out, t, depth + 1);
    }
  }
  return p;
}

const Expr* Canonicaliser::monomial(const Term& t, std::int64_t coef, DType dtype) {
  const Expr* out = nullptr;
  for (std::uint32_t id : t.atoms) out = out ? ctx_.binary(BinaryKind::Mul, out, atoms_[id]) : atoms_[id];
  return coef == 1 ? out : ctx_.binary(BinaryKind::Mul, out, ctx_.int_imm(dtype, coef));
}

const Expr* Canonicaliser::to_expr(const Poly& p, DType t) {
  const Expr* out = form_ == Form::Text ? built(in_text_order(p), t) : built(p, t);
  remember(out, p);
  return out;
}

// Larger coefficients first, then atoms divided by more, then remainders by more.
Poly Canonicaliser::in_text_order(Poly p) {
  struct Key {
    std::int64_t coef, divisor, modulus;
    auto operator<=>(const Key&) const = default;
  };
  const auto key = [this](const Term& x) {
    Key k{x.coef, 1, INT64_MAX};
    const auto* b = x.atoms.size() == 1 ? as<BinaryExpr>(atoms_[x.atoms[0]]) : nullptr;
    const auto c = b ? const_int(b->b) : std::nullopt;
    if (c && b->kind == BinaryKind::FloorDiv) k.divisor = *c;
    if (c && b->kind == BinaryKind::FloorMod) k.modulus = *c;
    return k;
  };
  std::stable_sort(p.terms.begin(), p.terms.end(), [&](const Term& a, const Term& b) { return key(a) > key(b); });
  return p;
}

// Positive terms and literals first, then subtracted ones.
const Expr* Canonicaliser::built(const Poly& p, DType t) {
  const Expr* out = nullptr;
  for (const Term& x : p.terms)
    if (x.coef > 0) {
      const Expr* m = monomial(x, x.coef, t);
      out = out ? ctx_.binary(BinaryKind::Add, out, m) : m;
    }
  std::int64_t constant = p.constant;
  if (constant > 0) {
    const Expr* literal = ctx_.int_imm(t, std::exchange(constant, 0));
    out = out ? ctx_.binary(BinaryKind::Add, out, literal) : literal;
  }
  for (const Term& x : p.terms) {
    if (x.coef > 0) continue;
    if (!out && form_ == Form::Text && !p.is_multiple) out = ctx_.int_imm(t, 0);
    if (out && x.coef != INT64_MIN) {
      out = ctx_.binary(BinaryKind::Sub, out, monomial(x, -x.coef, t));
    } else {
      const Expr* m = monomial(x, x.coef, t);
      out = out ? ctx_.binary(BinaryKind::Add, out, m) : m;
    }
  }
  if (!out) return ctx_.int_imm(t, constant);
  if (constant < 0 && constant != INT64_MIN) return ctx_.binary(BinaryKind::Sub, out, ctx_.int_imm(t, -constant));
  if (constant < 0) return ctx_.binary(BinaryKind::Add, out, ctx_.int_imm(t, constant));
  return out;
}

namespace {

// k * x < c and c < k * x, k > 1: by x alone.
void divide_through(Poly& sum, Poly& literal, bool sum_first, bool strict) {
  if (sum.terms.size() != 1 || sum.terms[0].coef <= 1 || sum.constant != 0 || literal.constant == INT64_MIN) return;
  const std::int64_t k = std::exchange(sum.terms[0].coef, 1), c = literal.constant;
  const bool rounds_up = sum_first == strict;
  literal.constant = rounds_up ? ir::floor_div(c - 1, k) + 1 : ir::floor_div(c, k);
}

// x + y < x + z: y < z, and x - y < x - z: z < y. Of sums of two only, as in TVM.
void cancel_common(Poly& left, Poly& right) {
  const auto parts = [](const Poly& p) { return p.terms.size() + (p.constant != 0); };
  if (parts(left) > 2 || parts(right) > 2 || left.is_const() || right.is_const()) return;
  for (std::size_t i = 0; i < left.terms.size(); ++i)
    for (std::size_t j = 0; j < right.terms.size(); ++j) {
      if (left.terms[i].coef != right.terms[j].coef || left.terms[i].atoms != right.terms[j].atoms) continue;
      left.terms.erase(left.terms.begin() + std::ptrdiff_t(i));
      right.terms.erase(right.terms.begin() + std::ptrdiff_t(j));
      const auto negative = [](const Poly& p) { return p.terms.size() == 1 && p.terms[0].coef < 0; };
      if (!negative(left) && !negative(right)) return;
      std::swap(left, right);
      left = scaled(left, -1);
      right = scaled(right, -1);
      return;
    }
}

}  // namespace

// x // d < c and c < x // d: by x. `past`: the literal is that of the last quotient within, and x may be all that gives
// it.
void Canonicaliser::multiply_out(Poly& sum, Poly& literal, bool past) {
  const bool lone = sum.terms.size() == 1 && sum.terms[0].coef == 1 && sum.terms[0].atoms.size() == 1;
  if (!lone || sum.constant != 0) return;
  const auto* div = as<BinaryExpr>(atoms_[sum.terms[0].atoms[0]]);
  const auto d = div && div->kind == BinaryKind::FloorDiv ? const_int(div->b) : std::nullopt;
  std::int64_t c = literal.constant;
  if (!d || *d <= 0 || (past && __builtin_add_overflow(c, 1, &c)) || __builtin_mul_overflow(c, *d, &c)) return;
  if (past && __builtin_sub_overflow(c, 1, &c)) return;
  Poly x = to_poly(div->a);
  if (x.overflow || x.constant != 0) return;
  sum = std::move(x);
  literal.constant = c;
}

// As TVM writes it: `<` and `<=`, literals on one side and not negative if both sides have more than a literal, where
// a literal 1 changes `<` to `<=` or `<=` to `<`. Null: unchanged.
const Expr* Canonicaliser::comparison(Comparison op, const Expr* a, const Expr* b) {
  if (form_ == Form::Proof) return nullptr;
  Poly left = to_poly(a), right = to_poly(b);
  if (left.overflow || right.overflow) return nullptr;
  if (op == Comparison::GT || op == Comparison::GE) {
    std::swap(left, right);
    op = mirrored(op);
  }
  const bool ordered = op == Comparison::LT || op == Comparison::LE;
  if (op == Comparison::LT) cancel_common(left, right);
  std::int64_t c = 0;  // of the left, less that of the right
  if (__builtin_sub_overflow(left.constant, right.constant, &c) || c == INT64_MIN) return nullptr;
  const bool on_left = !right.is_const() && (left.is_const() || c > 0);
  left.constant = on_left ? c : 0;
  right.constant = on_left ? 0 : -c;
  if (!left.is_const() && !right.is_const()) {
    Poly& longer = op == Comparison::LT ? right : left;
    if (ordered && longer.constant == 1) {
      longer.constant = 0;
      op = op == Comparison::LT ? Comparison::LE : Comparison::LT;
    }
  }
  if (ordered && left.is_const()) divide_through(right, left, false, op == Comparison::LT);
  if (ordered && right.is_const()) divide_through(left, right, true, op == Comparison::LT);
  if (ordered && left.is_const()) multiply_out(right, left, op == Comparison::LT);
  if (ordered && right.is_const()) multiply_out(left, right, op == Comparison::LE);
  const DType t = a->dtype();
  // A literal of int32 that wraps would be another comparison.
  const auto fits = [t](std::int64_t v) { return wrap_to(t, v) == v; };
  if (!fits(left.constant) || !fits(right.constant)) return nullptr;
  return ctx_.binary(binary_kind(op), to_expr(left, t), to_expr(right, t));
}

}  // namespace rldb::ir::arith
