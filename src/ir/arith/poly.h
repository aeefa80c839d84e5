// Poly: a sum of products of atoms with integer coefficients, the canonical form of index arithmetic.
//
// An atom is an expression opaque to the canonical form (a variable, n // 4, max(a, b), ...), numbered
// by the Canonicaliser. Terms are sorted by their atoms, or in the order of first occurrence (`in_order`); none has
// coefficient 0. Coefficients never wrap: a sum that would is marked `overflow`, and then has no meaning.
#pragma once

#include <cstdint>
#include <vector>

namespace rldb::ir::arith {

struct Term {
  std::vector<std::uint32_t> atoms;  // repeated for powers; sorted, or in the order of the text (`in_order`)
  std::int64_t coef;
};

struct Poly {
  std::vector<Term> terms;
  std::int64_t constant = 0;
  bool overflow = false;
  bool in_order = false;
  bool is_multiple = false;  // written as a product with a literal: x * -2, not 0 - x * 2

  bool is_const() const { return terms.empty() && !overflow; }
  bool is_const(std::int64_t v) const { return is_const() && constant == v; }
  static Poly of(std::int64_t v) { return {{}, v, false, false}; }
  static Poly of_atom(std::uint32_t atom, bool in_order = false) { return {{{{atom}, 1}}, 0, false, in_order}; }
};

bool operator==(const Poly& a, const Poly& b);

// into += p * k, terms appended: call `normalise` at the end.
void append_scaled(Poly& into, const Poly& p, std::int64_t k);
void normalise(Poly& p);
Poly sum(const Poly& a, const Poly& b, std::int64_t scale_b = 1);
Poly scaled(const Poly& p, std::int64_t k);
Poly product(const Poly& a, const Poly& b);
// The atoms of `from` without those of `part`; false when `part` is not contained.
bool remove_atoms(const std::vector<std::uint32_t>& from, const std::vector<std::uint32_t>& part,
                  std::vector<std::uint32_t>& rest);

}  // namespace rldb::ir::arith
