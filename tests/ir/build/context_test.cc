// Context: interning, types of new nodes, attributes, provenance; modules; scalar helpers; block builder.
#include "rldb/ir/context.h"

#include <doctest/doctest.h>

#include "rldb/ir/block_builder.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/vector.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_ir.h"

namespace rldb::ir {
namespace {

struct Fixture {
  Context ctx;
  const Var* n = ctx.var("n", ctx.int64());
  const Var* m = ctx.var("m", ctx.int64());
  const DType f32 = DType::Float(32);
  const Type* tensor(std::vector<const Expr*> dims) { return ctx.tensor(dims, f32); }
  Span<NamedAttr> no_attrs;
};

TEST_CASE_FIXTURE(Fixture, "context: types are interned") {
  CHECK(tensor({n, ctx.i64(4)}) == tensor({n, ctx.i64(4)}));
  CHECK(tensor({n, ctx.i64(4)}) != tensor({m, ctx.i64(4)}));
  CHECK(tensor({ctx.i64(4)}) == tensor({ctx.i32(4)}));
  CHECK(tensor({ctx.binary(BinaryKind::Mul, n, m)}) == tensor({ctx.binary(BinaryKind::Mul, n, m)}));
  CHECK(tensor({}) != ctx.tensor_ndim(0, f32));
  CHECK(ctx.tensor_ndim(-1, f32) == ctx.tensor_ndim(kUnknownNdim, f32));
  CHECK(ctx.prim(DType::Int(64)) == ctx.int64());
  CHECK(ctx.shape_type_ndim(2) != ctx.shape_type_ndim(3));
  const Type* fields[] = {tensor({n}), ctx.any()};
  CHECK(ctx.tuple_type(fields) == ctx.tuple_type(fields));
  CHECK(ctx.func_type(fields, ctx.any()) != ctx.func_type(fields, ctx.any(), false));
  CHECK(ctx.vdevice({.target_kind = "cuda"}) == ctx.vdevice({.target_kind = "cuda"}));
  CHECK(tensor({n})->has_vars);
  CHECK_FALSE(tensor({ctx.i64(4)})->has_vars);
  CHECK(ctx.tuple_type(fields)->has_vars);
  const Var* s = ctx.var("s", ctx.shape_type_ndim(2));
  CHECK(ctx.tensor_of(s, 2, f32) == ctx.tensor_of(s, 2, f32));
  CHECK(ctx.tensor_of(s, 2, f32)->has_vars);
}

TEST_CASE_FIXTURE(Fixture, "context: names and operators are interned") {
  CHECK(ctx.str("abc").data() == ctx.str(std::string("a") + "bc").data());
  CHECK(ctx.op("relax.add") == ctx.op("relax.add"));
  CHECK(ctx.global_var("f", ctx.any()) == ctx.global_var("f", ctx.any()));
  CHECK(ctx.global_var("f", ctx.any()) != ctx.global_var("f", ctx.int64()));
  CHECK(ctx.var("x", ctx.any()) != ctx.var("x", ctx.any()));
}

TEST_CASE_FIXTURE(Fixture, "context: expressions have types") {
  const Expr* items[] = {n, ctx.string("s")};
  const Tuple* t = ctx.tuple(items);
  REQUIRE(as<TupleType>(t->type));
  CHECK(ctx.tuple_get(t, 0).value()->type == ctx.int64());
  CHECK_FALSE(ctx.tuple_get(t, 2).ok());
  CHECK_FALSE(ctx.tuple_get(t, -1).ok());
  CHECK_FALSE(ctx.tuple_get(n, 0).ok());
  CHECK(ctx.tuple_get(ctx.var("a", ctx.any()), 7).value()->type == ctx.any());
  CHECK(ctx.binary(BinaryKind::LT, n, m)->type == ctx.boolean());
  CHECK(ctx.binary(BinaryKind::Add, n, m)->type == ctx.int64());
  CHECK_THROWS(ctx.binary(BinaryKind::Add, n, ctx.i32(1)));
  const Expr* wide = ctx.broadcast(n, ctx.i32(4));
  CHECK(wide->dtype() == DType::Int(64, 4));
  CHECK(ctx.binary(BinaryKind::EQ, wide, wide)->dtype() == DType::Bool(4));
  CHECK(ctx.ramp(n, ctx.i64(1), ctx.i32(8))->dtype().lanes == 8);
  const Expr* scalable = ctx.binary(BinaryKind::Mul, ctx.intrin(DType::Int(32), ir::intrin::Vscale, {}), ctx.i32(4));
  CHECK(ctx.ramp(n, ctx.i64(1), scalable)->dtype().lanes == -4);
  CHECK(ctx.int_imm(DType::Int(8), 200)->value == -56);
  CHECK(ctx.int_imm(DType::UInt(8), 300)->value == 44);
  CHECK(as<IntImm>(ctx.literal(DType::Int(32), 1e300))->value == 0);
  auto tensor = runtime::Tensor::empty({2, 3}, f32);
  REQUIRE(tensor.ok());
  CHECK(ctx.constant(*tensor)->type == this->tensor({ctx.i64(2), ctx.i64(3)}));
  const Buffer* b = ctx.buffer("A", std::vector<const Expr*>{n}, f32);
  const Expr* index[] = {n};
  CHECK(ctx.load(b, index)->dtype() == f32);
}

TEST_CASE_FIXTURE(Fixture, "context: calls") {
  const auto no_registry = ctx.call("relax.add", {n, m});
  REQUIRE_FALSE(no_registry.ok());
  CHECK(no_registry.error().id == diag::NoOperatorRegistry);
  const Type* params[] = {tensor({n, ctx.i64(4)})};
  const GlobalVar* f = ctx.global_var("f", ctx.func_type(params, tensor({ctx.binary(BinaryKind::Add, n, ctx.i64(1))})));
  const Expr* x[] = {ctx.var("x", tensor({ctx.i64(7), ctx.i64(4)}))};
  const auto made = ctx.call(CallSpec{f, x});
  REQUIRE(made.ok());
  CHECK((*made)->type == tensor({ctx.i64(8)}));
  const Expr* wrong[] = {n};
  const auto bad = ctx.call(CallSpec{f, wrong});
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.error().argument == 0);
  CHECK(ctx.call(CallSpec{f, {}}).error().id == diag::CallArgumentCount);
  CHECK(ctx.call(CallSpec{n, {}}).error().id == diag::NotCallable);
  const Type* out[] = {tensor({m})};
  CHECK(ctx.call(CallSpec{ctx.extern_func("ext"), x, {}, out}).value()->type == tensor({m}));
  CHECK(ctx.call(CallSpec{ctx.extern_func("ext"), x}).value()->type == ctx.any());
}

TEST_CASE_FIXTURE(Fixture, "context: attributes") {
  const Attr* one = ctx.attr_ints(std::vector<std::int64_t>{1, 2});
  CHECK(attr_equal(one, ctx.attr_ints(std::vector<std::int64_t>{1, 2})));
  CHECK_FALSE(attr_equal(one, ctx.attr_ints(std::vector<std::int64_t>{1, 3})));
  const NamedAttr ab[] = {ctx.named("a", ctx.attr(1)), ctx.named("b", ctx.attr("x"))};
  const NamedAttr ba[] = {ctx.named("b", ctx.attr("x")), ctx.named("a", ctx.attr(1))};
  CHECK(attr_equal(ctx.attr_dict(ab), ctx.attr_dict(ba)));
  CHECK_FALSE(attr_equal(ctx.attr(1), ctx.attr(true)));
  Span<NamedAttr> attrs = ctx.with_attr({}, "k", ctx.attr(1));
  attrs = ctx.with_attr(attrs, "l", ctx.attr(2));
  attrs = ctx.with_attr(attrs, "k", ctx.attr(3));
  REQUIRE(attrs.size() == 2);
  CHECK(find_attr(attrs, "k")->integer == 3);
  CHECK(ctx.with_attr(attrs, "k", nullptr).size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "context: spans are found along provenance") {
  const Var* a = ctx.var("a", ctx.any());
  const Var* b = ctx.var("b", ctx.any());
  const Var* c = ctx.var("c", ctx.any());
  ctx.set_origin(c, b);
  ctx.set_origin(b, a);
  ctx.set_origin(a, c);  // a cycle must not hang
  CHECK_FALSE(bool(ctx.span_of(c)));
  const source::Span span{source::FileId{1}, 3, 5};
  ctx.spans().set(a, span);
  CHECK(ctx.span_of(c) == span);
  ctx.set_origin(c, a);
  ctx.set_origin(c, a);
  CHECK(ctx.origins().get(c).size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "module: sorted, shared, unique names") {
  ModuleBuilder builder(ctx);
  const Expr* f = ctx.extern_func("f");
  builder.set("main", f);
  builder.set("add", f);
  CHECK(builder.unique_name("mul") == "mul");
  CHECK(builder.unique_name("add") == "add1");
  builder.set("add1", f);
  CHECK(builder.unique_name("add") == "add2");
  const Module* one = builder.build();
  REQUIRE(one->entries.size() == 3);
  CHECK(one->entries[0].name == "add");
  CHECK(one->find("main") == f);
  CHECK(one->find("nothing") == nullptr);
  ModuleBuilder next(ctx, *one);
  next.remove("add");
  next.set("main", ctx.extern_func("g"));
  const Module* two = next.build();
  CHECK(two->find("add") == nullptr);
  CHECK(one->find("add") == f);
  CHECK(two->find("add1") == one->find("add1"));
  CHECK(next.unique_name("add") == "add");
}

TEST_CASE_FIXTURE(Fixture, "scalar: operands meet in one dtype") {
  const Expr* i32 = ctx.var("i", ctx.prim(DType::Int(32)));
  const Expr* h = ctx.var("h", ctx.prim(DType::Float(16)));
  CHECK(add(ctx, i32, n)->dtype() == DType::Int(64));
  CHECK(add(ctx, i32, ctx.i32(0)) == i32);
  CHECK(mul(ctx, n, h)->dtype() == DType::Float(16));
  CHECK(add(ctx, ctx.i32(1), n)->kind == BinaryKind::Add);
  CHECK(isa<IntImm>(cast<BinaryExpr>(add(ctx, ctx.i32(1), n))->a));
  CHECK(is_const(mul(ctx, n, ctx.i64(0)), 0));
  CHECK(!const_int(add(ctx, ctx.i64(INT64_MAX), ctx.i64(1))));  // no dimension wraps round
  CHECK(is_const(floor_div(ctx, ctx.i64(-7), ctx.i64(2)), -4));
  CHECK(is_const(floor_div(ctx, ctx.i64(INT64_MIN), ctx.i64(-1)), INT64_MIN));
  CHECK(floor_div(ctx, n, ctx.i64(0))->kind == BinaryKind::FloorDiv);
  CHECK(floor_div(ctx, ctx.i64(1), ctx.i64(0))->kind == BinaryKind::FloorDiv);
  CHECK(is_const(compare(ctx, BinaryKind::LT, ctx.i64(1), ctx.i64(2)), 1));
  CHECK(is_const(min_value(ctx, DType::Int(8)), -128));
  CHECK(is_const(max_value(ctx, DType::UInt(8)), 255));
  CHECK(is_const(max_value(ctx, DType::Int(64)), INT64_MAX));
  CHECK(as<FloatImm>(max_value(ctx, DType::Float(16)))->value == 65504);
  const Expr* bf = ctx.var("b", ctx.prim(DType::BFloat16()));
  CHECK_FALSE(make_binary(ctx, BinaryKind::Add, h, bf).ok());
  CHECK_FALSE(make_binary(ctx, BinaryKind::Add, n, ctx.string("x")).ok());
  CHECK_FALSE(make_binary(ctx, BinaryKind::And, n, m).ok());
  const Expr* wide = ctx.broadcast(n, ctx.i32(4));
  CHECK(add(ctx, wide, ctx.i64(1))->dtype() == DType::Int(64, 4));
  const Expr* dims[] = {ctx.i64(2), n, ctx.i64(3)};
  CHECK(product(ctx, dims)->kind == BinaryKind::Mul);
  CHECK(is_const(product(ctx, {}), 1));
}

TEST_CASE_FIXTURE(Fixture, "block builder: blocks, names, leaves") {
  BlockBuilder b(ctx);
  b.reserve_name("x");
  b.begin_scope();
  const Var* gv = b.emit(ctx.tuple({}), "x");
  CHECK(gv->name == "x1");
  b.begin_dataflow();
  const Var* lv = b.emit(ctx.tuple({}));
  const Var* lv1 = b.emit(ctx.tuple({}));
  const Var* out = b.emit_output(lv1);
  b.end_dataflow();
  CHECK(lv->is_dataflow());
  CHECK(lv->name == "lv");
  CHECK(lv1->name == "lv1");
  CHECK_FALSE(out->is_dataflow());
  CHECK(b.normalize_leaf(out) == out);
  const Expr* inner = ctx.tuple_get(ctx.var("t", ctx.any()), 0).value();
  CHECK(isa<Var>(b.normalize_leaf(inner)));
  const SeqExpr* seq = b.end_scope(out);
  REQUIRE(seq->blocks.size() == 3);
  CHECK_FALSE(seq->blocks[0]->is_dataflow());
  CHECK(seq->blocks[1]->is_dataflow());
  CHECK(seq->blocks[1]->bindings.size() == 3);
  CHECK(seq->type == out->type);
}

}  // namespace
}  // namespace rldb::ir
