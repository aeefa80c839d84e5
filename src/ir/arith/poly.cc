// Arithmetic of Poly, with overflow reported instead of wrapped.
#include "ir/arith/poly.h"

#include <algorithm>
#include <numeric>

namespace rldb::ir::arith {

namespace {

// A product of sums larger than this stays a product: expanding it would cost more than it could prove.
constexpr std::size_t kMaxTerms = 256;
// So does one of more factors: n ** 65536 is a short text.
constexpr std::size_t kMaxDegree = 64;

void add_checked(std::int64_t& into, std::int64_t v, bool& overflow) {
  if (__builtin_add_overflow(into, v, &into)) overflow = true;
}
std::int64_t mul_checked(std::int64_t a, std::int64_t b, bool& overflow) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) overflow = true;
  return out;
}

}  // namespace

bool operator==(const Poly& a, const Poly& b) {
  if (a.overflow || b.overflow || a.constant != b.constant || a.terms.size() != b.terms.size()) return false;
  for (std::size_t i = 0; i < a.terms.size(); ++i)
    if (a.terms[i].coef != b.terms[i].coef || a.terms[i].atoms != b.terms[i].atoms) return false;
  return true;
}

void append_scaled(Poly& into, const Poly& p, std::int64_t k) {
  into.overflow = into.overflow || p.overflow;
  into.in_order = into.in_order || p.in_order;
  add_checked(into.constant, mul_checked(p.constant, k, into.overflow), into.overflow);
  for (const Term& t : p.terms) into.terms.push_back({t.atoms, mul_checked(t.coef, k, into.overflow)});
}

namespace {

// Equal products are merged into the first of them.
void merge_in_order(Poly& p) {
  std::vector<std::size_t> order(p.terms.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p.terms[a].atoms < p.terms[b].atoms; });
  for (std::size_t i = 0; i < order.size();) {
    Term& first = p.terms[order[i]];
    std::size_t j = i + 1;
    for (; j < order.size() && p.terms[order[j]].atoms == first.atoms; ++j) {
      add_checked(first.coef, p.terms[order[j]].coef, p.overflow);
      p.terms[order[j]].coef = 0;
    }
    i = j;
  }
  std::erase_if(p.terms, [](const Term& t) { return t.coef == 0; });
}

}  // namespace

void normalise(Poly& p) {
  if (p.in_order) return merge_in_order(p);
  std::sort(p.terms.begin(), p.terms.end(), [](const Term& a, const Term& b) { return a.atoms < b.atoms; });
  std::size_t out = 0;
  for (std::size_t i = 0; i < p.terms.size();) {
    std::int64_t coef = 0;
    std::size_t j = i;
    for (; j < p.terms.size() && p.terms[j].atoms == p.terms[i].atoms; ++j)
      add_checked(coef, p.terms[j].coef, p.overflow);
    if (coef != 0) {
      if (out != i) p.terms[out].atoms = std::move(p.terms[i].atoms);
      p.terms[out++].coef = coef;
    }
    i = j;
  }
  p.terms.resize(out);
}

Poly sum(const Poly& a, const Poly& b, std::int64_t scale_b) {
  Poly out = a;
  append_scaled(out, b, scale_b);
  normalise(out);
  return out;
}

Poly scaled(const Poly& p, std::int64_t k) {
  Poly out;
  append_scaled(out, p, k);
  normalise(out);
  return out;
}

Poly product(const Poly& a, const Poly& b) {
  Poly out;
  if (a.terms.size() * b.terms.size() > kMaxTerms) {
    out.overflow = true;
    return out;
  }
  out.overflow = a.overflow || b.overflow;
  append_scaled(out, Poly{b.terms, 0, false, b.in_order}, a.constant);
  append_scaled(out, Poly{a.terms, 0, false, a.in_order}, b.constant);
  out.constant = mul_checked(a.constant, b.constant, out.overflow);
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) {
      if (x.atoms.size() + y.atoms.size() > kMaxDegree) {
        out = {};
        out.overflow = true;
        return out;
      }
      Term t{x.atoms, mul_checked(x.coef, y.coef, out.overflow)};
      t.atoms.insert(t.atoms.end(), y.atoms.begin(), y.atoms.end());
      if (!a.in_order && !b.in_order) std::sort(t.atoms.begin(), t.atoms.end());
      out.terms.push_back(std::move(t));
    }
  }
  normalise(out);
  return out;
}

bool remove_atoms(const std::vector<std::uint32_t>& from, const std::vector<std::uint32_t>& part,
                  std::vector<std::uint32_t>& rest) {
  rest.clear();
  std::size_t j = 0;
  for (std::uint32_t atom : from) {
    if (j < part.size() && part[j] == atom) {
      ++j;
    } else {
      rest.push_back(atom);
    }
  }
  return j == part.size();
}

}  // namespace rldb::ir::arith
