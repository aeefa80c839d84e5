// Base check, join, erasure and the types of calls.
#include "rldb/ir/type_relation.h"

#include <doctest/doctest.h>

#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_ir.h"

namespace rldb::ir {
namespace {

struct Fixture {
  Context ctx;
  const DType f32 = DType::Float(32);
  const Var* n = ctx.var("n", ctx.int64());
  const Var* m = ctx.var("m", ctx.int64());
  const Expr* c(std::int64_t v) { return ctx.i64(v); }
  const Type* tensor(std::vector<const Expr*> dims, DType t = DType::Float(32)) { return ctx.tensor(dims, t); }
  const Type* shape(std::vector<const Expr*> dims) { return ctx.shape_type(dims); }
  const Type* tuple(std::vector<const Type*> fields) { return ctx.tuple_type(fields); }
  const FuncType* func(std::vector<const Type*> params, const Type* ret, bool pure = true) {
    return ctx.func_type(params, ret, pure);
  }
  BaseCheck check(const Type* base, const Type* derived) { return base_check(ctx, base, derived); }
  const Expr* mul(const Expr* a, const Expr* b) { return ctx.binary(BinaryKind::Mul, a, b); }
};

TEST_CASE_FIXTURE(Fixture, "type relation: base check") {
  const Type* any = ctx.any();
  CHECK(check(any, tensor({n})) == BaseCheck::Pass);
  CHECK(check(tensor({n}), any) == BaseCheck::FailL1);
  CHECK(check(tensor({n}), ctx.int64()) == BaseCheck::FailL0);
  CHECK(check(tensor({n, m}), tensor({n, m})) == BaseCheck::Pass);
  CHECK(check(tensor({mul(n, m)}), tensor({mul(m, n)})) == BaseCheck::Pass);
  CHECK(check(tensor({n}), tensor({m})) == BaseCheck::FailL2);
  CHECK(check(tensor({c(3)}), tensor({c(4)})) == BaseCheck::FailL0);
  CHECK(check(tensor({n}), tensor({c(4)})) == BaseCheck::FailL2);
  CHECK(check(tensor({n, c(3)}), tensor({m, c(4)})) == BaseCheck::FailL0);
  CHECK(check(ctx.tensor_ndim(1, f32), tensor({n})) == BaseCheck::Pass);
  CHECK(check(tensor({n}), ctx.tensor_ndim(1, f32)) == BaseCheck::FailL2);
  CHECK(check(tensor({n}), ctx.tensor_ndim(-1, f32)) == BaseCheck::FailL1);
  CHECK(check(tensor({n}), ctx.tensor_ndim(2, f32)) == BaseCheck::FailL0);
  CHECK(check(ctx.tensor_ndim(-1, DType::Void()), tensor({n})) == BaseCheck::Pass);
  CHECK(check(ctx.tensor_ndim(-1, f32), ctx.tensor_ndim(-1, DType::Void())) == BaseCheck::FailL1);
  CHECK(check(tensor({n}), tensor({n}, DType::Int(32))) == BaseCheck::FailL0);
  CHECK(check(shape({n}), shape({n})) == BaseCheck::Pass);
  CHECK(check(ctx.shape_type_ndim(), shape({n})) == BaseCheck::Pass);
  CHECK(check(shape({n}), ctx.shape_type_ndim(1)) == BaseCheck::FailL2);
  CHECK(check(tuple({any, tensor({n})}), tuple({tensor({m}), tensor({n})})) == BaseCheck::Pass);
  CHECK(check(tuple({any}), tuple({any, any})) == BaseCheck::FailL0);
  CHECK(check(ctx.int64(), ctx.boolean()) == BaseCheck::FailL0);
  CHECK(is_base_of(ctx, any, any));
}

TEST_CASE_FIXTURE(Fixture, "type relation: functions") {
  const FuncType* pure = func({tensor({n})}, tensor({n}));
  CHECK(check(pure, func({tensor({n})}, tensor({n}), false)) == BaseCheck::FailL0);
  CHECK(check(func({tensor({n})}, tensor({n}), false), pure) == BaseCheck::Pass);
  CHECK(check(pure, func({tensor({m})}, tensor({m}))) == BaseCheck::Pass);
  CHECK(check(func({tensor({n}), tensor({n})}, tensor({n})), func({tensor({n}), tensor({m})}, tensor({n}))) ==
        BaseCheck::FailL2);
  CHECK(check(ctx.opaque_func_type(), pure) == BaseCheck::Pass);
  CHECK(check(func({}, ctx.any(), false), ctx.opaque_func_type()) == BaseCheck::FailL2);
}

TEST_CASE_FIXTURE(Fixture, "type relation: join") {
  CHECK(join(ctx, tensor({n}), tensor({n})) == tensor({n}));
  CHECK(join(ctx, tensor({mul(n, m)}), tensor({mul(m, n)})) == tensor({mul(n, m)}));
  CHECK(join(ctx, tensor({n}), tensor({m})) == ctx.tensor_ndim(1, f32));
  CHECK(join(ctx, tensor({n}), tensor({n, m})) == ctx.tensor_ndim(-1, f32));
  CHECK(join(ctx, tensor({n}), tensor({n}, DType::Int(8))) == tensor({n}, DType::Void()));
  CHECK(join(ctx, shape({n}), shape({m})) == ctx.shape_type_ndim(1));
  CHECK(join(ctx, shape({n}), tensor({n})) == ctx.any());
  CHECK(join(ctx, ctx.int64(), ctx.boolean()) == ctx.any());
  CHECK(join(ctx, tuple({tensor({n})}), tuple({tensor({m})})) == tuple({ctx.tensor_ndim(1, f32)}));
  CHECK(join(ctx, tuple({}), tuple({ctx.any()})) == ctx.any());
  CHECK(join(ctx, func({tensor({n})}, tensor({n})), func({tensor({n})}, tensor({n}), false)) ==
        func({tensor({n})}, tensor({n}), false));
}

TEST_CASE_FIXTURE(Fixture, "type relation: erasure and the checked part") {
  const auto only_n = [&](const Var* v) { return v == n; };
  CHECK(erase(ctx, tensor({n, c(4)}), only_n) == tensor({n, c(4)}));
  CHECK(erase(ctx, tensor({n, m}), only_n) == ctx.tensor_ndim(2, f32));
  CHECK(erase(ctx, tuple({tensor({m}), shape({n})}), only_n) == tuple({ctx.tensor_ndim(1, f32), shape({n})}));
  CHECK(erase(ctx, func({tensor({m})}, tensor({m})), only_n) == func({tensor({m})}, tensor({m})));
  CHECK(static_type(ctx, tensor({n, c(4)})) == ctx.tensor_ndim(2, f32));
  CHECK(static_type(ctx, shape({n})) == ctx.shape_type_ndim(1));
}

TEST_CASE_FIXTURE(Fixture, "type relation: calls") {
  const FuncType* f = func({tensor({n, m}), shape({m})}, tuple({tensor({mul(n, m)}), tensor({n})}));
  const Var* k = ctx.var("k", ctx.int64());
  const auto var = [&](const Type* t) { return ctx.var("a", t); };
  const auto call = [&](std::vector<const Expr*> args) { return call_result(ctx, f, args); };
  CHECK(*call({var(tensor({k, c(3)})), var(shape({c(3)}))}) == tuple({tensor({mul(k, c(3))}), tensor({k})}));
  // Dims that the argument does not determine are erased.
  CHECK(*call({var(ctx.tensor_ndim(2, f32)), var(shape({c(3)}))}) ==
        tuple({ctx.tensor_ndim(1, f32), ctx.tensor_ndim(1, f32)}));
  CHECK(call({var(tensor({k}))}).error().id == diag::CallArgumentCount);
  const auto wrong = call({var(tensor({k, c(3)})), var(tensor({k}))});
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().argument == 1);
  CHECK_FALSE(call({var(tensor({k})), var(shape({c(3)}))}).ok());
  // Sums formed from the arguments are simplified.
  const FuncType* g = func({tensor({n})}, tensor({ctx.binary(BinaryKind::Sub, n, c(1))}));
  const Expr* args[] = {var(tensor({ctx.binary(BinaryKind::Add, k, c(1))}))};
  CHECK(*call_result(ctx, g, args) == tensor({k}));
  // A tensor whose shape is a variable of the signature.
  const Var* s = ctx.var("s", ctx.shape_type_ndim(2));
  const FuncType* h = func({ctx.tensor_of(s, 2, f32)}, ctx.tensor_of(s, 2, DType::Int(8)));
  const Expr* x[] = {var(tensor({k, c(2)}))};
  CHECK(*call_result(ctx, h, x) == tensor({k, c(2)}, DType::Int(8)));
}

}  // namespace
}  // namespace rldb::ir
