// The simplifier: identities, proofs, and correctness of its results at random points.
#include "rldb/ir/arith.h"

#include <doctest/doctest.h>

#include <random>

#include "ir/arith/scalar_fold.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::ir {
namespace {

struct Fixture {
  Context ctx;
  const Expr* n = ctx.var("n", ctx.int64());
  const Expr* m = ctx.var("m", ctx.int64());
  const Expr* k = ctx.var("k", ctx.int64());
  Analyzer analyzer{ctx};

  const Expr* c(std::int64_t v) { return ctx.i64(v); }
  // As given, with no folding.
  const Expr* op(BinaryKind kind, const Expr* a, const Expr* b) { return ctx.binary(kind, a, b); }
  const Expr* add(const Expr* a, const Expr* b) { return op(BinaryKind::Add, a, b); }
  const Expr* sub(const Expr* a, const Expr* b) { return op(BinaryKind::Sub, a, b); }
  const Expr* mul(const Expr* a, const Expr* b) { return op(BinaryKind::Mul, a, b); }
  const Expr* div(const Expr* a, const Expr* b) { return op(BinaryKind::FloorDiv, a, b); }
  const Expr* mod(const Expr* a, const Expr* b) { return op(BinaryKind::FloorMod, a, b); }
  const Var* var(const Expr* e) { return cast<Var>(e); }
  bool same(const Expr* a, const Expr* b) { return expr_equal(analyzer.simplify(a), b); }
  bool equal(const Expr* a, const Expr* b) { return analyzer.prove_equal(a, b); }
};

TEST_CASE_FIXTURE(Fixture, "arith: sums and products") {
  CHECK(equal(mul(n, m), mul(m, n)));
  CHECK(equal(sub(mul(add(n, c(1)), c(4)), c(4)), mul(c(4), n)));
  CHECK(equal(add(n, n), mul(c(2), n)));
  CHECK(equal(mul(add(n, m), add(n, m)), add(add(mul(n, n), mul(mul(c(2), n), m)), mul(m, m))));
  CHECK(equal(mul(add(n, c(1)), sub(n, c(1))), sub(mul(n, n), c(1))));
  CHECK(same(sub(n, n), c(0)));
  CHECK(same(add(c(3), c(4)), c(7)));
  CHECK(same(sub(add(n, c(4)), c(4)), n));
  CHECK(same(add(c(1), n), add(n, c(1))));
  CHECK(same(mul(n, c(0)), c(0)));
  CHECK(same(sub(n, c(4)), sub(n, c(4))));
  CHECK_FALSE(equal(n, m));
  CHECK_FALSE(equal(add(n, c(1)), n));
  CHECK_FALSE(equal(mul(n, m), mul(n, n)));
}

TEST_CASE_FIXTURE(Fixture, "arith: simplify returns the same node when there is nothing to do") {
  const Expr* e = add(mul(n, c(4)), c(1));
  CHECK(analyzer.simplify(e) == e);
  const Expr* once = analyzer.simplify(add(mul(add(n, c(2)), m), mod(add(k, c(9)), c(4))));
  CHECK(expr_equal(analyzer.simplify(once), once));
}

TEST_CASE_FIXTURE(Fixture, "arith: floor division and remainder") {
  CHECK(equal(add(mul(div(n, c(4)), c(4)), mod(n, c(4))), n));
  CHECK(same(add(mul(div(n, c(4)), c(4)), mod(n, c(4))), n));
  CHECK(equal(add(mul(div(n, m), m), mod(n, m)), n));
  CHECK(equal(mod(n, c(4)), sub(n, mul(div(n, c(4)), c(4)))));
  CHECK(same(div(mul(n, c(4)), c(4)), n));
  CHECK(same(mod(mul(n, c(4)), c(4)), c(0)));
  CHECK(same(mod(mul(n, c(8)), c(4)), c(0)));
  CHECK(same(div(add(mul(n, c(4)), c(7)), c(4)), add(n, c(1))));
  CHECK(same(mod(add(mul(n, c(4)), c(7)), c(4)), c(3)));
  CHECK(same(div(mul(n, m), m), n));
  CHECK(same(mod(mul(n, m), m), c(0)));
  CHECK(same(div(div(n, c(4)), c(8)), div(n, c(32))));
  CHECK(same(div(mul(n, c(4)), c(8)), div(n, c(2))));
  CHECK(same(mod(mod(n, c(12)), c(4)), mod(n, c(4))));
  CHECK(same(mod(mul(n, c(4)), c(8)), mul(mod(n, c(2)), c(4))));
  CHECK(same(div(mul(add(n, c(1)), c(3)), add(n, c(1))), c(3)));
  CHECK(same(div(c(-7), c(2)), c(-4)));
  CHECK(same(mod(c(-7), c(2)), c(1)));
  CHECK(same(op(BinaryKind::Div, c(-7), c(2)), c(-3)));
  CHECK(same(op(BinaryKind::Mod, c(-7), c(2)), c(-1)));
  CHECK(same(div(n, c(1)), n));
  CHECK_FALSE(equal(div(n, c(4)), div(n, c(2))));
  // Division by zero is left for the program to encounter.
  CHECK(analyzer.simplify(div(n, c(0)))->kind == BinaryKind::FloorDiv);
  CHECK(analyzer.simplify(mod(c(3), c(0)))->kind == BinaryKind::FloorMod);
}

TEST_CASE_FIXTURE(Fixture, "arith: a number against its quotient") {
  // n // 4 * 4 - n is -(n % 4), whatever n is
  const Expr* whole = mul(div(n, c(4)), c(4));
  const Bounds b = analyzer.bounds(sub(whole, n));
  CHECK(b.min == -3);
  CHECK(b.max == 0);
  CHECK(analyzer.prove(op(BinaryKind::GT, add(whole, c(4)), n)));
  CHECK_FALSE(analyzer.prove(op(BinaryKind::GT, add(whole, c(3)), n)));
}

TEST_CASE_FIXTURE(Fixture, "arith: ranges") {
  const Var* i = ctx.var("i", ctx.int64());
  analyzer.bind_range(i, Range{c(0), c(16)});
  CHECK(same(div(i, c(16)), c(0)));
  CHECK(same(mod(i, c(16)), i));
  CHECK(same(div(add(mul(n, c(16)), i), c(16)), n));
  CHECK(same(mod(add(mul(n, c(16)), i), c(16)), i));
  CHECK(analyzer.prove(op(BinaryKind::LT, i, c(16))));
  CHECK(analyzer.prove(op(BinaryKind::GE, i, c(0))));
  CHECK_FALSE(analyzer.prove(op(BinaryKind::LT, i, c(15))));
  CHECK(analyzer.bounds(add(mul(i, c(2)), c(1))).max == std::optional<std::int64_t>(31));
  CHECK(analyzer.bounds(mod(n, c(7))).max == std::optional<std::int64_t>(6));
  CHECK(analyzer.bounds(n).max == std::nullopt);
  CHECK(analyzer.prove_different(i, c(16)));
  CHECK_FALSE(analyzer.prove_different(i, c(15)));
  CHECK(analyzer.prove_different(mul(n, c(2)), add(mul(m, c(4)), c(1))));
  CHECK(analyzer.prove_different(n, add(n, c(1))));
}

TEST_CASE_FIXTURE(Fixture, "arith: symbolic ranges and assumptions") {
  const Var* i = ctx.var("i", ctx.int64());
  analyzer.mark_non_negative(var(n));
  analyzer.bind_range(i, Range{c(0), n});
  CHECK(analyzer.prove(op(BinaryKind::LT, i, n)));
  CHECK(same(div(add(mul(m, n), i), n), m));
  CHECK(same(mod(add(mul(m, n), i), n), mod(i, n)));  // as TVM writes it
  CHECK_FALSE(analyzer.prove(op(BinaryKind::LT, k, m)));
  analyzer.assume(op(BinaryKind::LT, k, m));
  CHECK(analyzer.prove(op(BinaryKind::LT, k, m)));
  CHECK(analyzer.prove(op(BinaryKind::LE, add(k, c(1)), m)));
  CHECK(analyzer.prove(ctx.not_(op(BinaryKind::GE, k, m))));
  analyzer.assume(op(BinaryKind::LE, m, i));
  CHECK(analyzer.prove(op(BinaryKind::LT, k, n)));
}

TEST_CASE_FIXTURE(Fixture, "arith: bound values") {
  analyzer.bind_value(var(n), mul(m, c(4)));
  CHECK(same(mod(n, c(4)), c(0)));
  CHECK(equal(div(n, c(4)), m));
  // A value in terms of itself, even indirectly, must not loop.
  analyzer.bind_value(var(k), add(k, c(1)));
  analyzer.bind_value(var(m), n);
  CHECK(analyzer.simplify(add(n, m)) != nullptr);
}

TEST_CASE_FIXTURE(Fixture, "arith: min, max, select") {
  CHECK(same(op(BinaryKind::Min, n, add(n, c(1))), n));
  CHECK(same(op(BinaryKind::Max, n, add(n, c(1))), add(n, c(1))));
  CHECK(equal(op(BinaryKind::Max, n, m), op(BinaryKind::Max, m, n)));
  analyzer.mark_non_negative(var(n));
  CHECK(same(op(BinaryKind::Max, n, c(-3)), n));
  CHECK(same(op(BinaryKind::Min, n, c(0)), c(0)));
  CHECK(same(ctx.select(op(BinaryKind::GE, n, c(0)), m, k), m));
  CHECK(same(ctx.intrin(DType::Int(64), ir::intrin::IfThenElse, {op(BinaryKind::LT, n, c(0)), m, k}), k));
  CHECK(same(ctx.select(op(BinaryKind::GE, m, c(0)), k, k), k));
}

TEST_CASE_FIXTURE(Fixture, "arith: bounds of zero times the unknown") {
  // i * n with i in [0, 0]: zero is at most zero whichever way it is written.
  const Var* i = ctx.var("i", ctx.int64());
  const Var* n = ctx.var("n", ctx.int64());
  Analyzer a(ctx);
  a.bind(i, {0, 0});
  const Bounds b = a.bounds(ctx.binary(BinaryKind::Mul, i, n));
  CHECK(b.min == 0);
  CHECK(b.max == 0);
  const Bounds c = a.bounds(ctx.binary(BinaryKind::Mul, n, i));
  CHECK(c.max == 0);
}

// As TVM's simplifier writes it.
TEST_CASE_FIXTURE(Fixture, "arith: the order of text") {
  CHECK(same(add(sub(n, m), c(1)), sub(add(n, c(1)), m)));
  CHECK(same(sub(sub(n, m), c(1)), sub(sub(n, m), c(1))));
  CHECK(same(add(n, mul(m, c(2))), add(mul(m, c(2)), n)));
  CHECK(same(add(m, n), add(m, n)));
  CHECK(same(sub(add(m, n), m), n));
  // Products of sums are left alone, except by a literal.
  const Expr* by_sum = mul(m, add(n, c(1)));
  CHECK(same(by_sum, by_sum));
  CHECK(same(mul(add(n, c(1)), c(2)), add(mul(n, c(2)), c(2))));
  CHECK(equal(mul(add(n, c(1)), m), add(mul(n, m), m)));
  CHECK(same(add(div(sub(add(n, c(2)), c(3)), c(2)), c(1)), add(div(sub(n, c(1)), c(2)), c(1))));
  CHECK(same(div(add(n, c(4)), c(2)), add(div(n, c(2)), c(2))));
  // A sum is divided as a whole by a possibly negative divisor.
  const Expr* place = add(mul(n, m), k);
  CHECK(same(div(place, m), div(place, m)));
  analyzer.mark_non_negative(var(m));
  CHECK(same(div(place, m), add(n, div(k, m))));
}

TEST_CASE_FIXTURE(Fixture, "arith: minima in text") {
  const auto min = [&](const Expr* a, const Expr* b) { return op(BinaryKind::Min, a, b); };
  const auto max = [&](const Expr* a, const Expr* b) { return op(BinaryKind::Max, a, b); };
  // Operands stay where they are; a sum that begins with what is subtracted begins with 0, a product does not.
  CHECK(same(min(m, n), min(m, n)));
  CHECK(same(max(c(0), n), max(c(0), n)));
  CHECK(same(sub(c(0), n), sub(c(0), n)));
  CHECK(same(mul(n, c(-1)), mul(n, c(-1))));
  // Common addends.
  CHECK(same(sub(min(add(n, c(2)), m), n), min(c(2), sub(m, n))));
  CHECK(same(sub(n, min(add(n, m), k)), max(sub(c(0), m), sub(n, k))));
  CHECK(same(add(min(m, sub(k, n)), n), min(add(m, n), k)));
  CHECK(same(sub(min(add(n, c(1)), m), c(1)), min(n, sub(m, c(1)))));
  CHECK(same(min(add(m, n), add(k, n)), add(min(m, k), n)));
  CHECK(same(sub(max(m, n), n), max(sub(m, n), c(0))));
  // Common factors, and those that divide a literal.
  CHECK(same(add(mul(n, m), mul(k, m)), mul(add(n, k), m)));
  CHECK(same(max(mul(n, c(4)), c(8)), mul(max(n, c(2)), c(4))));
  // Minima come first.
  CHECK(same(add(n, min(m, k)), add(min(m, k), n)));
}

TEST_CASE_FIXTURE(Fixture, "arith: comparisons as text") {
  const auto lt = [&](const Expr* a, const Expr* b) { return op(BinaryKind::LT, a, b); };
  const auto le = [&](const Expr* a, const Expr* b) { return op(BinaryKind::LE, a, b); };
  CHECK(same(op(BinaryKind::GT, n, m), lt(m, n)));
  CHECK(same(op(BinaryKind::GE, n, c(3)), le(c(3), n)));
  CHECK(same(le(n, sub(m, c(2))), le(add(n, c(2)), m)));
  CHECK(same(lt(sub(n, c(2)), m), lt(n, add(m, c(2)))));
  CHECK(same(le(n, sub(m, c(1))), lt(n, m)));
  CHECK(same(lt(n, add(m, c(1))), le(n, m)));
  CHECK(same(le(add(n, c(3)), add(m, c(2))), lt(n, m)));
  CHECK(same(lt(add(n, c(1)), m), lt(add(n, c(1)), m)));
  CHECK(same(le(c(0), sub(n, c(5))), le(c(5), n)));
  CHECK(same(le(c(0), sub(n, m)), le(c(0), sub(n, m))));
  CHECK(same(op(BinaryKind::EQ, add(n, c(2)), c(5)), op(BinaryKind::EQ, n, c(3))));
  // A sum of literals that does not fit int32 is not formed.
  const Expr *x = ctx.var("x", ctx.prim(DType::Int(32))), *y = ctx.var("y", ctx.prim(DType::Int(32)));
  const Expr* most = ctx.i32(INT32_MAX);
  CHECK(same(lt(sub(x, most), add(y, most)), lt(sub(x, most), add(y, most))));
  CHECK(same(lt(sub(x, ctx.i32(3)), add(y, ctx.i32(4))), lt(x, add(y, ctx.i32(7)))));
  // By a factor: rounded so that the same n satisfy it.
  for (const std::int64_t bound : {-7, -6, 0, 5, 6})
    for (const bool strict : {true, false}) {
      const auto first = [&](const Expr* e) { return strict ? lt(e, c(bound)) : le(e, c(bound)); };
      const auto second = [&](const Expr* e) { return strict ? lt(c(bound), e) : le(c(bound), e); };
      for (std::int64_t v = -4; v <= 4; ++v) {
        Analyzer known(ctx);
        const auto holds = [&](const Expr* e) {
          return known.prove(substitute(ctx, analyzer.simplify(e), {{var(n), c(v)}}));
        };
        CHECK(holds(first(mul(n, c(3)))) == (strict ? 3 * v < bound : 3 * v <= bound));
        CHECK(holds(second(mul(n, c(3)))) == (strict ? bound < 3 * v : bound <= 3 * v));
      }
    }
}

TEST_CASE_FIXTURE(Fixture, "arith: booleans") {
  const Expr* p = op(BinaryKind::LT, n, m);
  const Expr* yes = ctx.bool_imm(true);
  const Expr* no = ctx.bool_imm(false);
  CHECK(same(op(BinaryKind::And, p, yes), p));
  CHECK(same(op(BinaryKind::And, p, no), no));
  CHECK(same(op(BinaryKind::Or, p, yes), yes));
  CHECK(same(op(BinaryKind::And, p, p), p));
  CHECK(same(op(BinaryKind::And, p, op(BinaryKind::GE, n, m)), no));
  CHECK(same(op(BinaryKind::Or, p, ctx.not_(p)), yes));
  CHECK(same(ctx.not_(p), op(BinaryKind::LE, m, n)));
  CHECK(same(op(BinaryKind::EQ, add(n, c(1)), add(c(1), n)), yes));
  CHECK(same(op(BinaryKind::NE, n, n), no));
}

TEST_CASE_FIXTURE(Fixture, "arith: overflow is not undefined") {
  const Expr* big = c(INT64_MAX);
  const Expr* small = c(INT64_MIN);
  for (const Expr* a : {big, small, n}) {
    for (const Expr* b : {big, small, c(-1), n}) {
      for (int kind = int(BinaryKind::Add); kind <= int(BinaryKind::GE); ++kind)
        CHECK(analyzer.simplify(op(BinaryKind(kind), a, b)) != nullptr);
    }
  }
  CHECK(analyzer.simplify(mul(mul(n, big), big)) != nullptr);
  CHECK_FALSE(analyzer.prove(op(BinaryKind::GT, add(n, big), c(0))));
}

TEST_CASE_FIXTURE(Fixture, "arith: two calls with effects are not one") {
  const Expr* a = ctx.intrin(DType::Int(64), ir::intrin::CallExtern, {ctx.string("next")});
  CHECK_FALSE(equal(a, ctx.intrin(DType::Int(64), ir::intrin::CallExtern, {ctx.string("next")})));
  CHECK(analyzer.simplify(sub(a, ctx.intrin(DType::Int(64), ir::intrin::CallExtern, {ctx.string("next")})))->kind ==
        BinaryKind::Sub);
}

TEST_CASE_FIXTURE(Fixture, "arith: long chains and deep nesting") {
  const Expr* e = n;
  for (int i = 0; i < 20000; ++i) e = add(e, c(1));
  CHECK(same(e, add(n, c(20000))));
  e = n;
  for (int i = 0; i < 1000; ++i) e = op(BinaryKind::Max, div(add(e, m), c(2)), k);
  CHECK(analyzer.simplify(e) != nullptr);
  const Expr* f = ctx.var("f", ctx.prim(DType::Float(32)));
  const Expr* sum = f;
  for (int i = 0; i < 20000; ++i) sum = op(BinaryKind::Add, sum, f);
  CHECK(analyzer.simplify(sum) == sum);
}

TEST_CASE_FIXTURE(Fixture, "arith: shapes") {
  const Expr* a[] = {mul(n, m), c(4)};
  const Expr* b[] = {mul(m, n), ctx.i32(4)};
  CHECK(prove_shapes_equal(ctx, a, b));
  const Expr* d[] = {mul(m, n), c(5)};
  CHECK_FALSE(prove_shapes_equal(ctx, a, d));
  // Shape variables are not negative.
  const Expr* e[] = {op(BinaryKind::Max, n, c(0))};
  const Expr* f[] = {n};
  CHECK(prove_shapes_equal(ctx, e, f));
}

// ---- soundness ----

using Values = std::vector<std::int64_t>;

// nullopt: divides by zero.
std::optional<std::int64_t> evaluate(const Expr* e, const std::vector<const Var*>& vars, const Values& values) {
  if (const auto v = const_int(e)) return v;
  if (const auto* v = as<Var>(e)) {
    for (std::size_t i = 0; i < vars.size(); ++i)
      if (vars[i] == v) return values[i];
    return std::nullopt;
  }
  if (const auto* b = as<BinaryExpr>(e)) {
    const auto x = evaluate(b->a, vars, values), y = evaluate(b->b, vars, values);
    if (!x || !y) return std::nullopt;
    return fold_int(b->op(), b->a->dtype(), *x, *y);
  }
  if (const auto* n = as<NotExpr>(e)) {
    const auto x = evaluate(n->a, vars, values);
    return x ? std::optional<std::int64_t>(*x == 0) : std::nullopt;
  }
  if (const auto* s = as<SelectExpr>(e)) {
    const auto cond = evaluate(s->cond, vars, values), t = evaluate(s->true_value, vars, values),
               f = evaluate(s->false_value, vars, values);
    if (!cond || !t || !f) return std::nullopt;
    return *cond ? t : f;
  }
  FAIL("the evaluator does not know this node");
  return std::nullopt;
}

class Generator {
 public:
  Generator(Context& ctx, std::uint32_t seed, std::vector<const Var*> vars) : ctx_(ctx), random_(seed), vars_(vars) {}
  int below(int n) { return int(random_() % std::uint32_t(n)); }

  const Expr* integer(int depth) {
    if (depth == 0 || below(6) == 0)
      return below(3) == 0 ? static_cast<const Expr*>(ctx_.i64(below(17) - 8))
                           : vars_[std::size_t(below(int(vars_.size())))];
    static constexpr BinaryKind kKinds[] = {BinaryKind::Add,      BinaryKind::Add,      BinaryKind::Sub,
                                            BinaryKind::Sub,      BinaryKind::Mul,      BinaryKind::FloorDiv,
                                            BinaryKind::FloorMod, BinaryKind::FloorDiv, BinaryKind::Min,
                                            BinaryKind::Max,      BinaryKind::Div,      BinaryKind::Mod};
    const int pick = below(13);
    if (pick == 12) return ctx_.select(boolean(depth - 1), integer(depth - 1), integer(depth - 1));
    const BinaryKind kind = kKinds[pick];
    const bool divides = kind == BinaryKind::FloorDiv || kind == BinaryKind::FloorMod || kind == BinaryKind::Div ||
                         kind == BinaryKind::Mod;
    const Expr* right =
        divides && below(4) != 0 ? static_cast<const Expr*>(ctx_.i64(below(8) + 1)) : integer(depth - 1);
    if (kind == BinaryKind::Mul && below(3) != 0) right = ctx_.i64(below(9) - 4);
    return ctx_.binary(kind, integer(depth - 1), right);
  }
  const Expr* boolean(int depth) {
    if (depth > 0 && below(3) == 0) {
      if (below(3) == 0) return ctx_.not_(boolean(depth - 1));
      return ctx_.binary(below(2) ? BinaryKind::And : BinaryKind::Or, boolean(depth - 1), boolean(depth - 1));
    }
    const int d = std::max(depth - 1, 0);
    return ctx_.binary(BinaryKind(int(BinaryKind::EQ) + below(6)), integer(d), integer(d));
  }

 private:
  Context& ctx_;
  std::mt19937 random_;
  std::vector<const Var*> vars_;
};

TEST_CASE("arith: what simplify says is true at random points") {
  int compared = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    Context ctx;
    const std::vector<const Var*> vars = {ctx.var("x", ctx.int64()), ctx.var("y", ctx.int64()),
                                          ctx.var("z", ctx.int64())};
    Generator gen(ctx, seed, vars);
    Analyzer analyzer(ctx);
    // x in [0, 16), y >= 0, z anything.
    analyzer.bind_range(vars[0], Range{ctx.i64(0), ctx.i64(16)});
    analyzer.mark_non_negative(vars[1]);
    const bool is_bool = seed % 3 == 0;
    const Expr* e = is_bool ? gen.boolean(4) : gen.integer(4);
    const Expr* s = analyzer.simplify(e);
    const Bounds bounds = analyzer.bounds(e);
    REQUIRE(s->dtype() == e->dtype());
    for (int point = 0; point < 40; ++point) {
      const Values values = {gen.below(16), gen.below(30), gen.below(41) - 20};
      const auto before = evaluate(e, vars, values);
      if (!before) continue;  // divides by zero: anything goes
      const auto after = evaluate(s, vars, values);
      INFO("seed " << seed << " x=" << values[0] << " y=" << values[1] << " z=" << values[2]);
      REQUIRE(after.has_value());
      REQUIRE(*before == *after);
      if (bounds.min) REQUIRE(*bounds.min <= *before);
      if (bounds.max) REQUIRE(*bounds.max >= *before);
      ++compared;
    }
  }
  CHECK(compared > 20000);
}

TEST_CASE("arith: what is proved is true at random points") {
  int proved = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    Context ctx;
    const std::vector<const Var*> vars = {ctx.var("x", ctx.int64()), ctx.var("y", ctx.int64())};
    Generator gen(ctx, seed + 100000, vars);
    Analyzer analyzer(ctx);
    const Expr* known = gen.boolean(1);
    analyzer.assume(known);
    const Expr* a = gen.integer(2);
    const Expr* b = gen.integer(2);
    const bool equal = analyzer.prove_equal(a, b);
    const bool different = analyzer.prove_different(a, b);
    const bool less = analyzer.prove(ctx.binary(BinaryKind::LT, a, b));
    proved += equal + different + less;
    for (int point = 0; point < 60; ++point) {
      const Values values = {gen.below(25) - 12, gen.below(25) - 12};
      const auto holds = evaluate(known, vars, values);
      const auto x = evaluate(a, vars, values), y = evaluate(b, vars, values);
      if (!holds || !*holds || !x || !y) continue;
      INFO("seed " << seed << " x=" << values[0] << " y=" << values[1]);
      if (equal) REQUIRE(*x == *y);
      if (different) REQUIRE(*x != *y);
      if (less) REQUIRE(*x < *y);
    }
  }
  CHECK(proved > 100);
}

}  // namespace
}  // namespace rldb::ir
