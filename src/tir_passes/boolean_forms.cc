// Pairs of conditions are decided by an analyzer that assumes one of them; everything else is sets of operands.
#include "tir_passes/boolean_forms.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"

namespace rldb::passes {

using namespace ir;

namespace {

const BinaryExpr* joined(const Expr* e, BinaryKind kind) { return e->kind == kind ? as<BinaryExpr>(e) : nullptr; }

// Decides about two conditions, by the analyzer.
class Decider {
 public:
  Decider(Context& ctx, const MakeAnalyzer& make) : ctx_(ctx), make_(make) {}

  const Expr* given(const Expr* fact, const Expr* e) {
    const auto analyzer = make_();
    analyzer->assume(fact);
    return analyzer->simplify(e);
  }
  // `a and b` as one of them, or false; null: it needs both.
  const Expr* both(const Expr* a, const Expr* b) {
    if (expr_equal(a, b) || is_const(given(a, b), 1)) return a;
    if (is_const(given(b, a), 1)) return b;
    return is_const(given(a, b), 0) ? ctx_.bool_imm(false) : nullptr;
  }
  // `a or b` as one of them, or true; null: it needs both.
  const Expr* either(const Expr* a, const Expr* b) {
    const Expr* joint = both(logical_not(ctx_, a), logical_not(ctx_, b));
    if (!joint) return nullptr;
    if (is_const(joint, 0)) return ctx_.bool_imm(true);
    return expr_equal(joint, logical_not(ctx_, a)) ? a : b;
  }

 private:
  Context& ctx_;
  const MakeAnalyzer& make_;
};

using Group = std::vector<const Expr*>;  // its `or`

bool holds(const Group& g, const Expr* e) {
  return std::any_of(g.begin(), g.end(), [&](const Expr* x) { return expr_equal(x, e); });
}

// False: more than kMaxGroups.
bool collect(const Expr* e, std::vector<Group>& out) {
  if (const BinaryExpr* b = joined(e, BinaryKind::And)) return collect(b->a, out) && collect(b->b, out);
  if (const BinaryExpr* b = joined(e, BinaryKind::Or)) {
    std::vector<Group> left, right;
    if (!collect(b->a, left) || !collect(b->b, right) || left.size() * right.size() > kMaxGroups) return false;
    for (const Group& l : left)
      for (const Group& r : right) {
        out.push_back(l);
        for (const Expr* x : r)
          if (!holds(l, x)) out.back().push_back(x);
      }
  } else {
    out.push_back({e});
  }
  return out.size() <= kMaxGroups;
}

class Groups {
 public:
  Groups(Context& ctx, const MakeAnalyzer& analyzer) : ctx_(ctx), decide_(ctx, analyzer) {}

  const Expr* run(std::vector<Group> groups) {
    for (Group& g : groups) shorten(g);
    for (std::size_t i = 0; i < groups.size(); ++i)
      for (std::size_t j = i + 1; j < groups.size(); ++j)
        if (const auto merged = one_of(groups[i], groups[j])) {
          groups[j] = *merged;  // it stands where the later one stood
          groups.erase(groups.begin() + std::ptrdiff_t(i));
          i = std::size_t(-1);
          break;
        }
    const Expr* out = ctx_.bool_imm(true);
    for (const Group& g : groups) out = logical_and(ctx_, out, any(g));
    return out;
  }

 private:
  void shorten(Group& g) {
    for (std::size_t i = 0; i < g.size(); ++i)
      for (std::size_t j = i + 1; j < g.size(); ++j)
        if (const Expr* one = decide_.either(g[i], g[j])) {
          g[j] = one;
          g.erase(g.begin() + std::ptrdiff_t(i));
          i = std::size_t(-1);
          break;
        }
  }
  // Two groups as one: one has all of the other, or they differ in one operand each.
  std::optional<Group> one_of(const Group& a, const Group& b) {
    Group only_a, only_b;
    for (const Expr* x : a)
      if (!holds(b, x)) only_a.push_back(x);
    for (const Expr* x : b)
      if (!holds(a, x)) only_b.push_back(x);
    if (only_a.empty()) return a;
    if (only_b.empty()) return b;
    if (only_a.size() > 1 || only_b.size() > 1) return std::nullopt;
    const Expr* joint = decide_.both(only_a[0], only_b[0]);
    if (!joint) return std::nullopt;
    Group out;
    for (const Expr* x : a) out.push_back(x == only_a[0] ? joint : x);
    return out;
  }
  const Expr* any(const Group& g) {
    const Expr* out = ctx_.bool_imm(false);
    for (const Expr* x : g) out = logical_or(ctx_, out, x);
    return out;
  }

  Context& ctx_;
  Decider decide_;
};

}  // namespace

const Expr* simplify_branches(Context& ctx, const MakeAnalyzer& analyzer, const Expr* condition) {
  const bool is_and = joined(condition, BinaryKind::And);
  const BinaryExpr* e = is_and ? joined(condition, BinaryKind::And) : joined(condition, BinaryKind::Or);
  if (!e) return condition;
  Decider decide(ctx, analyzer);
  const auto fact = [&](const Expr* other) { return is_and ? other : logical_not(ctx, other); };
  const Expr* a = simplify_branches(ctx, analyzer, e->a);
  const Expr* b = simplify_branches(ctx, analyzer, e->b);
  a = decide.given(fact(b), a);
  b = decide.given(fact(a), b);
  return is_and ? logical_and(ctx, a, b) : logical_or(ctx, a, b);
}

const Expr* and_of_ors(Context& ctx, const MakeAnalyzer& analyzer, const Expr* condition) {
  if (!joined(condition, BinaryKind::And) && !joined(condition, BinaryKind::Or)) return condition;
  std::vector<Group> groups;
  if (!collect(condition, groups)) return condition;
  return Groups(ctx, analyzer).run(std::move(groups));
}

}  // namespace rldb::passes
