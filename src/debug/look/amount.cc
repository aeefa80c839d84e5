// Sums and products of symbols, and the expressions that are read as them.
#include "debug/look/amount.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rldb/eval/eval.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"

namespace rldb::debug {

namespace {

// Whole numbers in full, up to what a double holds exactly.
std::string amount_number(double v) {
  constexpr double kExact = 9007199254740992.0;
  return v == std::floor(v) && std::abs(v) <= kExact ? fmt::format("{:.0f}", v) : fmt::format("{:g}", v);
}

}  // namespace

Amount::Amount(double number) {
  if (number != 0) terms_[{}] = number;
}

Amount Amount::symbol(std::string name) {
  Amount a;
  a.terms_[{std::move(name)}] = 1;
  return a;
}

void Amount::bound() {
  if (terms_.size() <= kMostTerms) return;
  *this = symbol("(" + text() + ")");
}

Amount& Amount::operator+=(const Amount& other) {
  for (const auto& [factors, coefficient] : other.terms_) {
    const auto [it, fresh] = terms_.try_emplace(factors, 0.0);
    it->second += coefficient;
    if (it->second == 0) terms_.erase(it);
  }
  bound();
  return *this;
}

Amount Amount::operator*(const Amount& other) const {
  Amount out;
  for (const auto& [a, x] : terms_)
    for (const auto& [b, y] : other.terms_) {
      std::vector<std::string> factors = a;
      factors.insert(factors.end(), b.begin(), b.end());
      std::sort(factors.begin(), factors.end());
      const auto [it, fresh] = out.terms_.try_emplace(std::move(factors), 0.0);
      it->second += x * y;
      if (it->second == 0) out.terms_.erase(it);
    }
  out.bound();
  return out;
}

std::optional<double> Amount::number() const {
  if (terms_.empty()) return 0.0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

// The products with the most factors first.
std::string Amount::text() const {
  if (terms_.empty()) return "0";
  std::vector<const std::pair<const std::vector<std::string>, double>*> order;
  for (const auto& term : terms_) order.push_back(&term);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->first.size() > b->first.size(); });
  std::string out;
  for (const auto* term : order) {
    const double size = std::abs(term->second);
    std::string product = size == 1 && !term->first.empty() ? std::string() : amount_number(size);
    for (const std::string& factor : term->first) product += (product.empty() ? "" : "*") + factor;
    if (out.empty())
      out = (term->second < 0 ? "-" : "") + product;
    else
      out += (term->second < 0 ? " - " : " + ") + product;
  }
  return out;
}

namespace {

// Sums and products of amounts; everything else is a number or a symbol.
class AmountReader {
 public:
  explicit AmountReader(const AmountOf& vars) : vars_(vars) {}

  std::optional<Amount> read(const ir::Expr* e, int depth = 0) const {
    constexpr int kMaxDepth = 200;
    if (!e || depth > kMaxDepth) return std::nullopt;
    if (const auto* i = ir::as<ir::IntImm>(e)) return Amount(double(i->value));
    if (const auto* v = ir::as<ir::Var>(e)) return of_var(v);
    if (const auto* c = ir::as<ir::CastExpr>(e)) return read(c->value, depth + 1);
    if (const auto* b = ir::as<ir::BinaryExpr>(e))
      if (auto combined = combine(b, depth)) return combined;
    return other(e);
  }

 private:
  Amount of_var(const ir::Var* v) const {
    const auto it = vars_.find(v);
    return it == vars_.end() ? Amount::symbol(std::string(v->name)) : it->second;
  }

  std::optional<Amount> combine(const ir::BinaryExpr* b, int depth) const {
    const bool sum = b->op() == ir::BinaryKind::Add, difference = b->op() == ir::BinaryKind::Sub;
    if (!sum && !difference && b->op() != ir::BinaryKind::Mul) return std::nullopt;
    auto left = read(b->a, depth + 1), right = read(b->b, depth + 1);
    if (!left || !right) return std::nullopt;
    if (!sum && !difference) return *left * *right;
    *left += difference ? *right * Amount(-1) : *right;
    return left;
  }

  std::optional<Amount> other(const ir::Expr* e) const {
    bool loads = false;
    ir::walk(e, [&](const ir::Node* n) {
      loads = loads || ir::isa<ir::BufferLoad>(n);
      return true;
    });
    if (loads) return std::nullopt;
    eval::ScalarEnv env;
    env.var = [this](const ir::Var* v) -> std::optional<runtime::Value> {
      const auto it = vars_.find(v);
      const auto number = it == vars_.end() ? std::nullopt : it->second.number();
      if (!number || *number != std::floor(*number) || std::abs(*number) > 9e15) return std::nullopt;
      return runtime::Value::of_int(std::int64_t(*number));
    };
    env.buffer = [](const ir::Buffer*) { return std::optional<runtime::Value>(); };
    const auto v = eval::eval_scalar(e, env);
    if (v.ok() && v->is(runtime::ValueKind::Int)) return Amount(double(v->as_int()));
    return Amount::symbol("(" + ir::print_expr(e) + ")");
  }

  const AmountOf& vars_;
};

}  // namespace

std::optional<Amount> amount_of(const ir::Expr* e, const AmountOf& vars) { return AmountReader(vars).read(e); }

}  // namespace rldb::debug
