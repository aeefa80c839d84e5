// ops::BlockBuilder: modules written from C++.
#include "rldb/ops/block_builder.h"

#include <doctest/doctest.h>

#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_type.h"

using namespace rldb;

namespace {

struct Builder {
  ir::Context ctx;
  Builder() { ops::install(ctx); }
};

std::vector<te::Tensor> doubled(ops::Legalizer::Te& te) {
  const te::Tensor t = te.in[0];
  const auto element = [&](te::Indices i) { return ir::add(te.ctx, te.graph.load(t, i), te.graph.load(t, i)); };
  return {te.graph.compute(t->shape, element, "doubled")};
}

std::string text_of(ops::BlockBuilder& bb) {
  auto made = bb.build();
  REQUIRE_MESSAGE(made.ok(), made.error().text);
  const std::string text = ir::print(*made);
  return text.substr(text.find("    @R.function"));
}

}  // namespace

TEST_CASE("block builder: operators, kernels, casts and branches") {
  Builder w;
  ir::Context& ctx = w.ctx;
  ops::BlockBuilder bb(ctx);
  const ir::Var* x = bb.param("x", {4}, ir::DType::Float(32));
  const ir::Var* c = ctx.var("c", ctx.tensor({}, ir::DType::Bool()));
  bb.begin_function("main", {x, c});
  const ir::Var* out = nullptr;
  bb.dataflow([&] {
    const ir::Var* a = bb.emit_te("doubled", {x}, doubled);
    const ir::Var* b = bb.emit_te("doubled", {a}, doubled);  // the same kernel
    // Operands that are calls get their own names.
    out = bb.emit_output(*ctx.call(op::Add, {*ctx.call(op::NnRelu, {b}), a}));
  });
  const ir::Var* n = ctx.var("n", ctx.int64());
  const ir::Var* any = bb.match_cast(out, ir::tensor_type(ctx, {n}, ir::DType::Float(32)), "any");
  const ir::Var* chosen = bb.emit_if(
      c, [&] { return bb.emit_op(op::NnRelu, {any}); }, [&] { return any; }, "chosen");
  bb.end_function(ir::tuple(ctx, {chosen, out}));
  CHECK(text_of(bb) == R"(    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tuple(R.Tensor(dtype="float32", ndim=1), R.Tensor((4,), dtype="float32")):
        cls = Module
        n = T.int64()
        with R.dataflow():
            lv = R.call_tir(cls.doubled, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            lv1 = R.call_tir(cls.doubled, (lv,), out_ty=R.Tensor((4,), dtype="float32"))
            lv2: R.Tensor((4,), dtype="float32") = R.nn.relu(lv1)
            gv: R.Tensor((4,), dtype="float32") = R.add(lv2, lv)
            R.output(gv)
        any: R.Tensor((n,), dtype="float32") = R.match_cast(gv, R.Tensor((n,), dtype="float32"))
        if c:
            gv1: R.Tensor((n,), dtype="float32") = R.nn.relu(any)
            chosen: R.Tensor((n,), dtype="float32") = gv1
        else:
            chosen: R.Tensor((n,), dtype="float32") = any
        return (chosen, gv))");
}

TEST_CASE("block builder: functions inside of functions") {
  Builder w;
  ir::Context& ctx = w.ctx;
  ops::BlockBuilder bb(ctx);
  const ir::Var* x = bb.param("x", {4}, ir::DType::Float(32));
  bb.begin_function("main", {x});
  const ir::Var* a = bb.emit_op(op::NnRelu, {x});
  // Another function of the module, written in between.
  const ir::Var* y = bb.param("y", {4}, ir::DType::Float(32));
  bb.begin_function("twice", std::vector{y}, {.is_private = true});
  const ir::GlobalVar* twice = bb.end_function(*ctx.call(op::Add, {y, y}));
  // A closure over `a`.
  const ir::Var* z = bb.param("z", {4}, ir::DType::Float(32));
  const ir::Var* inner = bb.emit_function({z}, [&] { return bb.emit_op(op::Add, {z, a}); });
  const ir::Expr* const of_a[] = {a};
  const ir::Var* b = bb.emit(ctx.call({twice, of_a, {}, {}}));
  const ir::Expr* const of_b[] = {b};
  bb.end_function(bb.emit(ctx.call({inner, of_b, {}, {}})));
  CHECK(text_of(bb) == R"(    @R.function(private=True)
    def twice(y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        gv: R.Tensor((4,), dtype="float32") = R.add(y, y)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Module
        gv: R.Tensor((4,), dtype="float32") = R.nn.relu(x)
        # from tvm.script import relax as R
        
        @R.function
        def inner(z: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            gv1: R.Tensor((4,), dtype="float32") = R.add(z, gv)
            return gv1

        gv2: R.Tensor((4,), dtype="float32") = cls.twice(gv)
        gv3: R.Tensor((4,), dtype="float32") = inner(gv2)
        return gv3)");
}

TEST_CASE("block builder: a function calls another, and a module grows") {
  Builder w;
  ops::BlockBuilder first(w.ctx);
  const ir::Var* x = first.param("x", {4}, ir::DType::Float(32));
  first.begin_function("helper", std::vector{x}, {.is_private = true});
  const ir::GlobalVar* helper = first.end_function(first.emit_op(op::NnRelu, {x}));
  auto base = first.build();
  REQUIRE(base.ok());
  ops::BlockBuilder second(w.ctx, *base);
  const ir::Var* y = second.param("y", {4}, ir::DType::Float(32));
  second.begin_function("main", {y});
  const ir::Expr* const args[] = {y};
  second.end_function(second.emit(w.ctx.call({helper, args, {}, {}})));
  auto both = second.build();
  REQUIRE_MESSAGE(both.ok(), both.error().text);
  CHECK((*both)->entries.size() == 2);
  CHECK((*both)->find("helper") == (*base)->find("helper"));
}

TEST_CASE("block builder: symbolic dimensions, of parameters and of a match_cast") {
  Builder w;
  ir::Context& ctx = w.ctx;
  ops::BlockBuilder bb(ctx);
  const ir::DType f32 = ir::DType::Float(32);
  const ir::Var* n = bb.symbol("n");
  const ir::Var* m = bb.symbol("m");
  const ir::Var* x = bb.param("x", {n, 4}, f32);
  const ir::Var* y = ctx.var("y", ctx.tensor_ndim(2, f32));
  const ir::Var* out = nullptr;
  bb.begin_function("main", {x, y});
  bb.dataflow([&] {
    const ir::Var* cast = bb.match_cast(y, ir::tensor_type(ctx, {n, m}, f32), "cast");
    const ir::Var* turned = bb.emit_op(op::PermuteDims, {cast}, {ctx.named("axes", ir::ints(ctx, {1, 0}))});
    const ir::Var* product = bb.emit_op(op::Matmul, {turned, x});
    out = bb.emit_output(ir::tuple(ctx, {product, cast}));
  });
  bb.end_function(out);
  const auto m1 = bb.build();
  REQUIRE(m1.ok());
  CHECK(out->type == ir::tuple_type(ctx, {ir::tensor_type(ctx, {m, 4}, f32), ir::tensor_type(ctx, {n, m}, f32)}));
}

TEST_CASE("block builder: the first error is kept, and misuse fails a check") {
  Builder w;
  ops::BlockBuilder bb(w.ctx);
  CHECK_THROWS_AS(bb.emit(w.ctx.i64(1)), support::InternalError);
  const ir::Var* x = bb.param("x", {2, 3}, ir::DType::Float(32));
  bb.begin_function("main", {x});
  CHECK_THROWS_AS((void)bb.build(), support::InternalError);
  const ir::Var* wrong = bb.emit_op(op::Matmul, {x, x});
  bb.emit_te("doubled", {wrong}, doubled);
  bb.end_function(bb.emit_op(op::NnRelu, {wrong}));
  auto made = bb.build();
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().id == diag::OpTypeError);
}
