#include "rldb/ir/size.h"

#include <doctest/doctest.h>

#include "rldb/ir/arith.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_type.h"

namespace rldb::ir {
namespace {

using source::DiagId;

std::optional<DiagId> fault(const Type* t) {
  TypeBudget budget;
  const auto found = budget.add("x", t);
  return found ? std::optional(found->id) : std::nullopt;
}

TEST_CASE("size: expressions are counted as they are written, up to the limit") {
  Context ctx;
  const Expr* n = ctx.var("n", ctx.int64());
  CHECK(expr_size(n) == 1);
  CHECK(expr_size(ctx.binary(BinaryKind::Add, n, ctx.i64(1))) == 3);
  const Expr* e = n;
  for (int i = 0; i < 60; ++i) e = ctx.binary(BinaryKind::Mul, e, e);
  CHECK(expr_size(e, 5000) == 5001);
}

TEST_CASE("size: a dimension that no tensor has") {
  Context ctx;
  const Expr* n = ctx.var("n", ctx.int64());
  const Expr* big = ctx.i64(std::int64_t(1) << 62);
  CHECK(!overflows(ctx.binary(BinaryKind::Mul, n, big)));
  CHECK(overflows(ctx.binary(BinaryKind::Mul, n, ctx.binary(BinaryKind::Mul, big, ctx.i64(2)))));
  CHECK(
      overflows(ctx.binary(BinaryKind::Add, ctx.binary(BinaryKind::Mul, n, big), ctx.binary(BinaryKind::Mul, n, big))));
  CHECK(!overflows(ctx.binary(BinaryKind::FloorDiv, ctx.binary(BinaryKind::Mul, n, big), ctx.i64(2))));
  CHECK(!overflows(n));
  // Not folded to a wrapped number, which would be a dimension like any other.
  const Expr* static_product = mul(ctx, big, ctx.i64(4));
  CHECK(!isa<IntImm>(static_product));
  CHECK(overflows(static_product));
  CHECK(!isa<IntImm>(add(ctx, big, big)));
  CHECK(const_int(mul(ctx, ctx.i64(1), big)) == (std::int64_t(1) << 62));
}

TEST_CASE("size: types") {
  Context ctx;
  const Expr* n = ctx.var("n", ctx.int64());
  const Expr* dims[] = {n, ctx.i64(4)};
  const Type* t = ctx.tensor(dims, DType::Float(32));
  TypeBudget budget;
  CHECK(budget.size_of(t) == 3);
  const Type* both[] = {t, t};
  t = ctx.tuple_type(both);
  CHECK(budget.size_of(t) == 7);
  CHECK(!fault(t));
  for (int i = 0; i < 100; ++i) {
    const Type* twice[] = {t, t};
    t = ctx.tuple_type(twice);
  }
  CHECK(budget.size_of(t) == std::size_t(1) << 62);
  CHECK(fault(t) == diag::TypeTooLarge);

  t = ctx.int64();
  for (int i = 0; i < kMaxTypeDepth; ++i) t = ctx.tuple_type(std::span(&t, 1));
  CHECK(fault(t) == diag::TypeTooDeep);

  const Expr* e = n;
  for (std::size_t i = 0; i < kMaxDimSize; ++i) e = ctx.binary(BinaryKind::FloorDiv, e, ctx.i64(3));
  CHECK(fault(ctx.tensor(std::span(&e, 1), DType::Float(32))) == diag::DimTooLarge);
  CHECK(fault(ctx.shape_type(std::span(&e, 1))) == diag::DimTooLarge);
}

TEST_CASE("size: all variables of a function together") {
  Context ctx;
  const Type* t = ctx.int64();
  const std::vector<const Type*> many(kMaxTypeSize / 2, t);
  t = ctx.tuple_type(many);
  TypeBudget budget;
  std::size_t variables = 0;
  while (!budget.add("x", t)) ++variables;
  CHECK(variables == kMaxTypesSize / (many.size() + 1));
  CHECK(budget.add("x", t)->id == diag::TypesTooLarge);
}

TEST_CASE("size: products of many factors stay products, and are still compared") {
  Context ctx;
  const Expr* n = ctx.var("n", ctx.int64());
  const Expr* e = n;
  for (int i = 0; i < 9; ++i) e = ctx.binary(BinaryKind::Mul, e, e);  // n ** 512
  Analyzer analyzer(ctx);
  const Expr* simple = analyzer.simplify(e);
  CHECK(expr_size(simple, 2000) <= 1023);
  CHECK(analyzer.prove_equal(simple, e));
}

TEST_CASE("size: variables of many dims are collected once each, in order") {
  Context ctx;
  std::vector<const Expr*> dims;
  for (int i = 0; i < 300; ++i) dims.push_back(ctx.var("n" + std::to_string(i), ctx.int64()));
  for (int i = 0; i < 300; ++i) dims.push_back(dims[std::size_t(299 - i)]);
  std::vector<const Var*> vars;
  collect_vars(static_cast<const Type*>(ctx.shape_type(dims)), vars);
  REQUIRE(vars.size() == 300);
  for (std::size_t i = 0; i < 300; ++i) CHECK(vars[i] == dims[i]);
  collect_vars(dims[7], vars);
  CHECK(vars.size() == 300);
}

TEST_CASE("size: a type by itself is cut, a module is not") {
  Context ctx;
  const Type* t = ctx.int64();
  for (int i = 0; i < 20; ++i) {
    const Type* twice[] = {t, t};
    t = ctx.tuple_type(twice);
  }
  const std::string text = print_type(t);
  CHECK(text.size() < 110'000);
  CHECK(text.find("...") != std::string::npos);
}

}  // namespace
}  // namespace rldb::ir
