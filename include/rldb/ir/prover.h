// Prover: polynomials with integer coefficients over numbered symbols, and proofs that one is never negative.
//
// A Prover has facts: polynomials that are >= 0 for all values of the symbols. Each fact belongs to its
// highest symbol, and a proof removes symbols from the highest to the lowest, by subtracting multiples of facts, until
// a constant is left. So symbols must be created in the order of their scopes: shape variables, then loops from the
// outermost to the innermost. Sound, not complete; every proof has a budget. User: schedule/bounds.h.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace rldb::ir::prove {

using Symbol = std::int32_t;

struct Monomial {
  static constexpr int kMaxDegree = 6;
  std::array<Symbol, kMaxDegree> factors{};  // sorted
  std::int8_t degree = 0;
  auto operator<=>(const Monomial&) const = default;
  int count(Symbol v) const;
};

class Poly {
 public:
  Poly() = default;
  Poly(std::int64_t constant);
  static Poly of(Symbol v);
  static Poly invalid();
  // A result that does not fit (overflow, too many terms) is invalid; nothing can be proved of it.
  bool valid() const { return valid_; }
  std::optional<std::int64_t> constant() const;
  Symbol highest() const;  // -1: none
  const std::vector<std::pair<Monomial, std::int64_t>>& terms() const { return terms_; }
  // The coefficient of v, if v occurs in no power above the first.
  std::optional<Poly> coefficient(Symbol v) const;
  // A polynomial of integers that is never negative exactly when this one is, with the smallest possible coefficients.
  Poly tightened() const;
  // p / by, when it divides every coefficient.
  std::optional<Poly> divided(std::int64_t by) const;
  // With `by` substituted for v, which occurs in no power above the first.
  Poly with(Symbol v, const Poly& by) const;

  friend Poly operator+(const Poly& a, const Poly& b);
  friend Poly operator-(const Poly& a, const Poly& b);
  friend Poly operator*(const Poly& a, const Poly& b);
  auto operator<=>(const Poly&) const = default;

 private:
  void add(const Monomial& m, std::int64_t c);
  std::vector<std::pair<Monomial, std::int64_t>> terms_;  // sorted, no zeros
  bool valid_ = true;
};

class Prover {
 public:
  Symbol make(bool non_negative = false);
  // `p` >= 0. `sign` is given when the highest symbol's coefficient is a nonzero polynomial of that sign.
  void fact(const Poly& p, int sign = 0);
  // The same, for the lifetime of its highest symbol: `forget` leaves it. That symbol has no other facts yet.
  void always(const Poly& p, int sign = 0);
  // The constants between which a value is known to lie.
  struct Range {
    std::optional<std::int64_t> low, high;
  };
  Range range(const Poly& p) const;
  void limit(Symbol v, const Range& range) { known_[std::size_t(v)].range = range; }
  // v is one of the two.
  void either(Symbol v, const Poly& a, const Poly& b);
  std::size_t mark() const { return log_.size(); }
  void forget(std::size_t mark);  // those since then

  bool never_negative(const Poly& p);
  // The same with more effort, for what is known to be worth it.
  bool never_negative_by_any(const Poly& p);
  // floor(a / b) and the remainder, where `b` is known not to be zero whenever they are computed. Invalid when b may
  // be negative.
  Poly floor_div(const Poly& a, const Poly& b);

 private:
  struct Fact {
    Poly poly;
    int sign;
  };
  struct Known {
    std::vector<Fact> facts;
    bool non_negative = false;
    Range range;
    std::optional<std::pair<Poly, Poly>> either;
  };
  void limit_quotient(Symbol q, const Poly& a, std::int64_t by);
  void limit_here(Symbol q, const Poly& a, std::int64_t by);
  void limit_rows(Symbol q, const Poly& a, const Poly& b);
  enum class Order : std::uint8_t { Latest, Shortest };
  bool within_budget(const Poly& p, Order order);
  std::vector<std::size_t> ordered(const Poly& p, Symbol v) const;
  bool prove(const Poly& p, int depth);
  bool prove_with(const Poly& p, const Poly& c, Symbol v, const Fact& fact, int depth);
  bool plainly(const Poly& p) const;

  std::vector<Known> known_;
  std::vector<Symbol> log_;
  std::map<std::pair<Poly, Poly>, Symbol> quotients_;
  Order order_ = Order::Latest;
  int steps_ = 0;           // left in this proof
  int budget_ = 2'000'000;  // left in all
};

}  // namespace rldb::ir::prove
