// Tensor expressions to TensorIR: blocks, regions, multi-stage graphs.
#include "rldb/te/create_prim_func.h"

#include <doctest/doctest.h>

#include "rldb/ir/printer.h"
#include "rldb/ir/regions.h"
#include "rldb/ir/scalar.h"

using namespace rldb;
using ir::DType;
using ir::Expr;

namespace {
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("te: two stages allocate the one between") {
  ir::Context ctx;
  te::Graph g(ctx);
  const ir::Var* n = ctx.var("n", ctx.int64());
  const Expr* shape[] = {n, ctx.i64(4)};
  te::Tensor a = g.placeholder(shape, DType::Float(32), "A");
  te::Tensor b = g.compute(
      shape,
      [&](te::Indices i) { return ctx.binary(ir::BinaryKind::Add, g.load(a, i), ctx.literal(DType::Float(32), 1)); },
      "B");
  ir::IterVar k[] = {g.reduce_axis(ctx.i64(4))};
  const Expr* row[] = {n};
  te::Tensor c = g.reduce(
      row,
      [&](te::Indices i) {
        return g.load(b, {i[0], k[0].var});
      },
      k, g.sum_reducer(DType::Float(32)), "C");
  te::Param params[] = {{a, nullptr}, {c, nullptr}};
  const ir::PrimFunc* f = te::create_prim_func(ctx, params);
  REQUIRE(f->params.size() == 2);
  CHECK(f->is_private());
  const auto* root = ir::as<ir::SBlockRealize>(f->body);
  REQUIRE(root);
  CHECK(root->block->alloc_buffers.size() == 1);
  std::string text = ir::print_function("f", f);
  CHECK(has(text, "with T.sblock(\"B\"):"));
  CHECK(has(text, "T.axis.remap(\"SS\""));
  CHECK(has(text, "T.axis.remap(\"SR\""));
  CHECK(has(text, "T.reads(B[v_ax0, v_k])"));
  CHECK(has(text, "T.writes(C[v_ax0])"));
  CHECK(has(text, "C[v_ax0] = C[v_ax0] + B[v_ax0, v_k]"));
}

TEST_CASE("te: a scalar result has a dummy axis") {
  ir::Context ctx;
  te::Graph g(ctx);
  te::Tensor a = g.placeholder({}, DType::Int(32), "A");
  te::Tensor b = g.compute(
      {}, [&](te::Indices i) { return g.load(a, i); }, "B");
  te::Param params[] = {{a, nullptr}, {b, nullptr}};
  CHECK(has(ir::print_function("f", te::create_prim_func(ctx, params)), "T.axis.spatial(1, T.int64(0))"));
}

TEST_CASE("te: regions of a loop inside a block are relaxed") {
  ir::Context ctx;
  const Expr* shape[] = {ctx.i64(8), ctx.i64(16)};
  const ir::Buffer* a = ctx.buffer("A", shape, DType::Float(32));
  const ir::Buffer* b = ctx.buffer("B", shape, DType::Float(32));
  const ir::Var* vi = ctx.var("vi", ctx.int64());
  const ir::Var* j = ctx.var("j", ctx.int64());
  const Expr* at[] = {vi, j};
  const ir::Stmt* body =
      ctx.for_stmt(j, ctx.i64(0), ctx.i64(16), ir::ForKind::Serial, ctx.store(b, ctx.load(a, at), at));
  ir::IterVar axes[] = {{vi, {ctx.i64(0), ctx.i64(8)}, ir::IterKind::Spatial}};
  const ir::Regions r = ir::infer_regions(ctx, {axes, nullptr, body, {}, {}});
  REQUIRE(r.reads.size() == 1);
  REQUIRE(r.writes.size() == 1);
  CHECK(r.reads[0].buffer == a);
  CHECK(r.reads[0].region[0].min == vi);
  CHECK(ir::is_const(r.reads[0].region[1].min, 0));
  CHECK(ir::is_const(r.reads[0].region[1].extent, 16));
}
