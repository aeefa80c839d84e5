// Polynomials over symbols, and the proof that one is never negative.
#include "rldb/ir/prover.h"

#include <algorithm>
#include <numeric>

namespace rldb::ir::prove {

namespace {

constexpr std::size_t kMaxTerms = 40;
constexpr int kMaxSteps = 1'500;
constexpr int kMaxProofDepth = 40;

std::optional<Monomial> product(const Monomial& a, const Monomial& b) {
  if (a.degree + b.degree > Monomial::kMaxDegree) return std::nullopt;
  Monomial out;
  const auto end = std::merge(a.factors.begin(), a.factors.begin() + a.degree, b.factors.begin(),
                              b.factors.begin() + b.degree, out.factors.begin());
  out.degree = std::int8_t(end - out.factors.begin());
  return out;
}

// m without one v.
Monomial without(const Monomial& m, Symbol v) {
  Monomial out;
  bool skipped = false;
  for (int i = 0; i < m.degree; ++i) {
    const Symbol f = m.factors[std::size_t(i)];
    if (f == v && !skipped)
      skipped = true;
    else
      out.factors[std::size_t(out.degree++)] = f;
  }
  return out;
}

// m / d, when it divides.
std::optional<Monomial> quotient(Monomial m, const Monomial& d) {
  for (int i = 0; i < d.degree; ++i) {
    const Symbol f = d.factors[std::size_t(i)];
    if (m.count(f) == 0) return std::nullopt;
    m = without(m, f);
  }
  return m;
}

}  // namespace

int Monomial::count(Symbol v) const { return int(std::count(factors.begin(), factors.begin() + degree, v)); }

Poly::Poly(std::int64_t constant) {
  if (constant != 0) terms_.push_back({{}, constant});
}

Poly Poly::of(Symbol v) {
  Poly p;
  Monomial m;
  m.factors[0] = v;
  m.degree = 1;
  p.terms_.push_back({m, 1});
  return p;
}

Poly Poly::invalid() {
  Poly p;
  p.valid_ = false;
  return p;
}

std::optional<std::int64_t> Poly::constant() const {
  if (!valid_) return std::nullopt;
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_[0].first.degree == 0) return terms_[0].second;
  return std::nullopt;
}

Symbol Poly::highest() const {
  Symbol top = -1;
  for (const auto& [m, c] : terms_)
    if (m.degree > 0) top = std::max(top, m.factors[std::size_t(m.degree - 1)]);
  return top;
}

void Poly::add(const Monomial& m, std::int64_t c) {
  if (!valid_) return;
  const auto it = std::lower_bound(terms_.begin(), terms_.end(), m,
                                   [](const auto& row, const Monomial& k) { return row.first < k; });
  if (it == terms_.end() || it->first != m) {
    if (c != 0) terms_.insert(it, {m, c});
    if (terms_.size() > kMaxTerms) *this = invalid();
    return;
  }
  if (__builtin_add_overflow(it->second, c, &it->second)) {
    *this = invalid();
    return;
  }
  if (it->second == 0) terms_.erase(it);
}

Poly operator+(const Poly& a, const Poly& b) {
  if (!a.valid_ || !b.valid_) return Poly::invalid();
  Poly out = a;
  for (const auto& [m, c] : b.terms_) out.add(m, c);
  return out;
}

Poly operator*(const Poly& a, const Poly& b) {
  if (!a.valid_ || !b.valid_) return Poly::invalid();
  Poly out;
  for (const auto& [m, x] : a.terms_)
    for (const auto& [n, y] : b.terms_) {
      const auto both = product(m, n);
      std::int64_t c = 0;
      if (!both || __builtin_mul_overflow(x, y, &c)) return Poly::invalid();
      out.add(*both, c);
    }
  return out;
}

Poly operator-(const Poly& a, const Poly& b) { return a + Poly(-1) * b; }

std::optional<Poly> Poly::coefficient(Symbol v) const {
  Poly out;
  for (const auto& [m, c] : terms_) {
    const int n = m.count(v);
    if (n > 1) return std::nullopt;
    if (n == 1) out.add(without(m, v), c);
  }
  return out;
}

std::optional<Poly> Poly::divided(std::int64_t by) const {
  Poly out;
  for (const auto& [m, c] : terms_) {
    if (c == INT64_MIN || c % by != 0) return std::nullopt;
    out.terms_.push_back({m, c / by});
  }
  return out;
}

Poly Poly::with(Symbol v, const Poly& by) const {
  const auto c = coefficient(v);
  if (!c || !valid_) return invalid();
  Poly rest;
  for (const auto& [m, x] : terms_)
    if (m.count(v) == 0) rest.add(m, x);
  return rest + *c * by;
}

// n, where p is n * q and n a positive number.
std::optional<std::int64_t> multiple_of(const Poly& p, const Poly& q) {
  if (p.terms().empty() || p.terms().size() != q.terms().size()) return std::nullopt;
  const std::int64_t x = p.terms()[0].second, y = q.terms()[0].second;
  if (x == INT64_MIN || y == INT64_MIN || x % y != 0 || x / y <= 0) return std::nullopt;
  return p == Poly(x / y) * q ? std::optional(x / y) : std::nullopt;
}

// u and t with a == b * u + t, where the highest symbol of b has a number as its coefficient.
std::optional<std::pair<Poly, Poly>> divide(const Poly& a, const Poly& b) {
  const Symbol v = b.highest();
  const auto x = a.coefficient(v), y = b.coefficient(v);
  const auto by = y ? y->constant() : std::nullopt;
  const auto u = x && by && *by > 0 ? x->divided(*by) : std::nullopt;
  if (!u) return std::nullopt;
  return std::pair(*u, a - b * *u);
}

// ---- proofs ----

Symbol Prover::make(bool non_negative) {
  known_.push_back({});
  const auto v = Symbol(known_.size() - 1);
  known_.back().non_negative = non_negative;
  if (non_negative) known_.back().facts.push_back({Poly::of(v), 0});
  return v;
}

void Prover::fact(const Poly& given, int sign) {
  if (!given.valid()) return;
  const Poly p = given.tightened();
  const Symbol v = p.highest();
  if (v < 0) return;
  known_[std::size_t(v)].facts.push_back({p, sign});
  log_.push_back(v);
}

void Prover::always(const Poly& given, int sign) {
  const Poly p = given.valid() ? given.tightened() : given;
  const Symbol v = p.valid() ? p.highest() : -1;
  if (v >= 0) known_[std::size_t(v)].facts.push_back({p, sign});
}

void Prover::either(Symbol v, const Poly& a, const Poly& b) {
  if (a.valid() && b.valid()) known_[std::size_t(v)].either = {a, b};
}

void Prover::forget(std::size_t mark) {
  while (log_.size() > mark) {
    known_[std::size_t(log_.back())].facts.pop_back();
    log_.pop_back();
  }
}

bool Prover::never_negative(const Poly& p) { return within_budget(p, Order::Latest); }

bool Prover::never_negative_by_any(const Poly& p) {
  return within_budget(p, Order::Latest) || within_budget(p, Order::Shortest);
}

bool Prover::within_budget(const Poly& p, Order order) {
  order_ = order;
  steps_ = std::min(kMaxSteps, budget_);
  const int before = steps_;
  const bool proved = prove(p, 0);
  budget_ -= before - std::max(steps_, 0);
  return proved;
}

// The facts of a symbol in the order in which they are tried. Latest: they are the tightest ones. Shortest: those that
// share most with p, so that the sums in a quotient are gone together with it, and not one symbol after the other.
std::vector<std::size_t> Prover::ordered(const Poly& p, Symbol v) const {
  const std::vector<Fact>& facts = known_[std::size_t(v)].facts;
  std::vector<std::size_t> order(facts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = facts.size() - 1 - i;
  if (order_ == Order::Latest || order.size() < 2) return order;
  const auto alone = [&](std::size_t i) {
    const auto& terms = facts[i].poly.terms();
    std::size_t shared = 0;
    for (const auto& [m, c] : p.terms())
      shared += m.degree > 0 && std::any_of(terms.begin(), terms.end(), [&](const auto& t) { return t.first == m; });
    return terms.size() + p.terms().size() - 2 * shared;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return alone(a) < alone(b); });
  return order;
}

// Whether every part of the sum is >= 0.
bool Prover::plainly(const Poly& p) const {
  for (const auto& [m, c] : p.terms()) {
    if (c < 0) return false;
    for (int i = 0; i < m.degree; ++i)
      if (!known_[std::size_t(m.factors[std::size_t(i)])].non_negative) return false;
  }
  return true;
}

// For an integer, g * r + c >= 0 is equivalent to r + floor(c / g) >= 0.
Poly Poly::tightened() const {
  std::int64_t g = 0, rest = 0;
  for (const auto& [m, c] : terms_) {
    if (c == INT64_MIN) return *this;
    if (m.degree > 0)
      g = std::gcd(g, c);
    else
      rest = c;
  }
  if (g <= 1) return *this;
  Poly out;
  for (const auto& [m, c] : terms_)
    if (m.degree > 0) out.add(m, c / g);
  return out + Poly(rest >= 0 ? rest / g : -((-rest + g - 1) / g));
}

bool Prover::prove(const Poly& given, int depth) {
  if (!given.valid() || --steps_ < 0 || depth > kMaxProofDepth) return false;
  const Poly p = given.tightened();
  if (const auto c = p.constant()) return *c >= 0;
  if (plainly(p)) return true;
  const Symbol v = p.highest();
  const auto c = p.coefficient(v);
  if (!c) return false;
  for (const std::size_t i : ordered(p, v)) {
    const Fact fact = known_[std::size_t(v)].facts[i];
    if (prove_with(p, *c, v, fact, depth)) return true;
  }
  if (const auto either = known_[std::size_t(v)].either)
    return prove(p.with(v, either->first), depth + 1) && prove(p.with(v, either->second), depth + 1);
  return false;
}

// Subtracts the multiple of the fact (c: the coefficient of v in p) that removes v.
bool Prover::prove_with(const Poly& p, const Poly& c, Symbol v, const Fact& fact, int depth) {
  const auto q = fact.poly.coefficient(v);
  if (!q) return false;
  if (c == *q) return prove(p - fact.poly, depth + 1);
  const auto pc = c.constant(), qc = q->constant();
  if (pc && qc) {
    if ((*pc > 0) != (*qc > 0) || *pc == INT64_MIN || *qc == INT64_MIN) return false;
    const std::int64_t x = std::abs(*pc), y = std::abs(*qc), common = std::gcd(x, y);
    // p is an integer: p >= 0 exactly when s * p + (s - 1) >= 0.
    const std::int64_t s = y / common;
    return prove(Poly(s) * p + Poly(s - 1) - Poly(x / common) * fact.poly, depth + 1);
  }
  if (const auto times = multiple_of(c, *q)) return prove(p - Poly(*times) * fact.poly, depth + 1);
  if (qc && (*qc == 1 || *qc == -1)) {
    const Poly times = *q * c;
    return prove(times, depth + 1) && prove(p - times * fact.poly, depth + 1);
  }
  if (const auto ratio = qc && *qc != 0 ? c.divided(*qc) : std::nullopt)
    return prove(*ratio, depth + 1) && prove(p - *ratio * fact.poly, depth + 1);
  if (fact.sign == 0) return false;
  const Poly size = Poly(fact.sign) * *q;  // >= 1
  const Poly times = Poly(fact.sign) * c;
  return prove(times, depth + 1) && prove(size * p + size - Poly(1) - times * fact.poly, depth + 1);
}

Prover::Range Prover::range(const Poly& p) const {
  if (!p.valid()) return {};
  Range sum{0, 0};
  const auto add = [](std::optional<std::int64_t>& to, std::optional<std::int64_t> end, std::int64_t times) {
    std::int64_t part = 0;
    if (!to || !end || __builtin_mul_overflow(*end, times, &part) || __builtin_add_overflow(*to, part, &*to))
      to.reset();
  };
  for (const auto& [m, c] : p.terms()) {
    if (m.degree > 1) return {};
    const Range of = m.degree == 0 ? Range{1, 1} : known_[std::size_t(m.factors[0])].range;
    add(sum.low, c > 0 ? of.low : of.high, c);
    add(sum.high, c > 0 ? of.high : of.low, c);
  }
  return sum;
}

// The ends of a quotient, as facts too: they are tighter than what its operands give one after the other.
void Prover::limit_quotient(Symbol q, const Poly& a, std::int64_t by) {
  const auto floor = [&](std::int64_t v) { return v >= 0 ? v / by : -((-(v + 1)) / by) - 1; };
  Range ends = range(a);
  if (ends.low) ends.low = floor(*ends.low), always(Poly::of(q) - Poly(*ends.low));
  if (ends.high) ends.high = floor(*ends.high), always(Poly(*ends.high) - Poly::of(q));
  limit(q, ends);
}

// The same, as far as the facts that hold here lower the end (the last tile is not a whole one).
void Prover::limit_here(Symbol q, const Poly& a, std::int64_t by) {
  const Range ends = known_[std::size_t(q)].range;
  if (!ends.high || !ends.low) return;
  std::int64_t high = *ends.high, step = 1;
  int tries = 10;
  const auto lowered = [&] {
    const bool lower = tries-- > 0 && step <= high - *ends.low && never_negative(Poly(by * (high - step + 1) - 1) - a);
    if (lower) high -= step;
    return lower;
  };
  while (lowered()) step *= 2;
  while ((step /= 2) > 0) lowered();
  if (high < *ends.high) fact(Poly(high) - Poly::of(q));
}

// The ends of a quotient by an unknown dimension: the number of a row is below the number of rows if the position is
// below rows * columns. Where the quotient is multiplied (a stride) this does not follow from what is known of the
// position, because it holds for whole numbers only.
void Prover::limit_rows(Symbol q, const Poly& a, const Poly& b) {
  const Poly quotient = Poly::of(q);
  const auto learn = [&](const Poly& p) {
    const std::vector<Fact>& facts = known_[std::size_t(q)].facts;
    const bool known = std::any_of(facts.begin(), facts.end(), [&](const Fact& f) { return f.poly == p; });
    if (!known) fact(p);
  };
  if (never_negative(a)) learn(quotient);
  Poly most = a;  // a is not above it
  for (int step = 0; step < kMaxProofDepth && most.valid(); ++step) {
    if (const auto parts = divide(most, b))
      for (const Poly& u : {parts->first - Poly(1), parts->first})
        if (never_negative(b * u + b - Poly(1) - most)) return learn(u - quotient);
    const Symbol v = most.highest();
    const auto c = v < 0 ? std::nullopt : most.coefficient(v);
    if (!c) return;
    const auto lowers = [&](const Fact& f) {
      const auto d = f.poly.coefficient(v);
      return d ? multiple_of(*c, Poly(-1) * *d) : std::nullopt;
    };
    const std::vector<Fact>& facts = known_[std::size_t(v)].facts;
    const auto end = std::find_if(facts.rbegin(), facts.rend(), lowers);
    if (end == facts.rend()) return;
    most = most + Poly(*lowers(*end)) * end->poly;
  }
}

Poly Prover::floor_div(const Poly& a, const Poly& b) {
  if (!a.valid() || !b.valid()) return Poly::invalid();
  const auto divisor = b.constant();
  if (divisor ? *divisor <= 0 : !never_negative(b)) return Poly::invalid();
  if (divisor && *divisor == 1) return a;
  // a == b * whole + rest
  Poly whole, rest;
  for (const auto& [m, c] : a.terms()) {
    Poly term = Poly(c);
    for (int i = 0; i < m.degree; ++i) term = term * Poly::of(m.factors[std::size_t(i)]);
    const bool single = b.terms().size() == 1;
    const auto left = single ? quotient(m, b.terms()[0].first) : std::nullopt;
    if (!left || c % b.terms()[0].second != 0) {
      rest = rest + term;
      continue;
    }
    Poly part = Poly(c / b.terms()[0].second);
    for (int i = 0; i < left->degree; ++i) part = part * Poly::of(left->factors[std::size_t(i)]);
    whole = whole + part;
  }
  if (never_negative(rest) && never_negative(b - Poly(1) - rest)) return whole;
  const auto [it, made] = quotients_.try_emplace({rest, b}, Symbol(0));
  if (made) {
    it->second = make();
    const Poly q = Poly::of(it->second);
    always(rest - b * q, -1);
    always(b * q + b - Poly(1) - rest, 1);
    if (divisor) limit_quotient(it->second, rest, *divisor);
  }
  if (divisor)
    limit_here(it->second, rest, *divisor);
  else
    limit_rows(it->second, rest, b);
  return whole + Poly::of(it->second);
}

}  // namespace rldb::ir::prove
