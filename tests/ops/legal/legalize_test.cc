// Legalisation: the structure of generated functions, sharing, naming, refusals.
#include "rldb/ops/legalize.h"

#include <doctest/doctest.h>

#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/ops/arguments.h"

using namespace rldb;
using ir::DType;
using ir::Expr;

namespace {

struct World {
  ir::Context ctx;
  ir::ModuleBuilder module{ctx};
  ir::BlockBuilder blocks{ctx};
  ops::Legalizer legalizer{ctx, module};
  World() {
    ops::install(ctx);
    blocks.begin_scope();
    blocks.begin_dataflow();
  }
  const Expr* tensor(std::vector<const Expr*> shape, DType t = DType::Float(32)) {
    return ctx.var("x", ctx.tensor(shape, t));
  }
  support::Result<const Expr*, source::Message> run(std::string_view op, std::initializer_list<const Expr*> args,
                                                    std::initializer_list<ir::NamedAttr> attrs = {}) {
    auto call = ctx.call(op, args, attrs);
    REQUIRE(call.ok());
    return legalizer.legalize(*call, blocks);
  }
  std::string text(std::string_view f) { return ir::print_function(f, module.find(f)); }
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("legalize: add broadcasts and is shared") {
  World w;
  const Expr* x = w.tensor({w.ctx.i64(1), w.ctx.i64(3)});
  const Expr* y = w.tensor({w.ctx.i64(4), w.ctx.i64(3)});
  auto a = w.run("relax.add", {x, y});
  REQUIRE(a.ok());
  CHECK(ops::is_call_of(*a, "relax.call_tir"));
  std::string text = w.text("add");
  CHECK(has(text, "for ax0, ax1 in T.grid(T.int64(4), T.int64(3)):"));
  CHECK(has(text, "[T.int64(0), v_ax1] + "));
  CHECK(has(text, "tirx.noalias"));
  auto again = w.run("relax.add", {x, y});
  REQUIRE(again.ok());
  CHECK(w.module.find("add1") == nullptr);
  auto other = w.run("relax.add", {y, y});
  REQUIRE(other.ok());
  CHECK(w.module.find("add1") != nullptr);
}

TEST_CASE("legalize: reductions have init and symbolic shapes their own variables") {
  World w;
  const ir::Var* n = w.ctx.var("n", w.ctx.int64());
  auto r = w.run("relax.sum", {w.tensor({n, w.ctx.i64(4)})},
                 {w.ctx.named("axis", w.ctx.attr_ints(std::vector<std::int64_t>{1}))});
  REQUIRE(r.ok());
  std::string text = w.text("sum");
  CHECK(has(text, "with T.init():"));
  CHECK(has(text, "\"SR\""));
  const auto* f = ir::as<ir::PrimFunc>(w.module.find("sum"));
  REQUIRE(f);
  CHECK(f->params.size() == 2);
  CHECK(f->params[0].buffer->shape[0] != n);
}

TEST_CASE("legalize: a dim that no parameter binds becomes a scalar parameter") {
  World w;
  const ir::Var* n = w.ctx.var("n", w.ctx.int64());
  const Expr* three_n = w.ctx.binary(ir::BinaryKind::Mul, n, w.ctx.i64(3));
  auto r = w.run("relax.exp", {w.tensor({three_n})});
  REQUIRE(r.ok());
  const auto* call = ir::as<ir::Call>(*r);
  CHECK(ir::as<ir::Tuple>(call->args[1])->items.size() == 2);
}

TEST_CASE("legalize: refusals say why") {
  World w;
  auto unknown = w.run("relax.exp", {w.ctx.var("x", w.ctx.tensor_ndim(2, DType::Float(32)))});
  REQUIRE_FALSE(unknown.ok());
  CHECK(has(unknown.error().text, "not known"));
  auto none = w.run("relax.nonzero", {w.tensor({w.ctx.i64(2)})});
  REQUIRE_FALSE(none.ok());
  CHECK(has(none.error().text, "no tensor-expression body"));
}

TEST_CASE("legalize: every function with a simple input is well formed") {
  World w;
  const Expr* floats = w.tensor({w.ctx.i64(2), w.ctx.i64(4)});
  const Expr* integers = w.tensor({w.ctx.i64(2), w.ctx.i64(4)}, DType::Int(32));
  for (const ops::OpInfo& info : ops::all()) {
    const bool of_bits = info.short_name().ends_with("_shift") || info.short_name().starts_with("bitwise_");
    const Expr* x = of_bits ? integers : floats;
    if (info.family != ops::Family::Unary && info.family != ops::Family::Binary &&
        info.family != ops::Family::Reduction)
      continue;
    if (!info.legalize) continue;
    std::vector<ops::CallArg> args;
    for (const ops::ArgInfo& a : info.args)
      if (a.kind == ops::ArgKind::Tensor) args.push_back({"", x, nullptr});
    if (info.args.size() != args.size()) continue;
    // Operands of several dtypes.
    if (info.short_name() == "where" || info.short_name() == "bucketize" || info.short_name() == "astype" ||
        info.short_name() == "multinomial_from_uniform")
      continue;
    auto spec = ops::normalize_arguments(w.ctx, info.name, args);
    REQUIRE(spec.ok());
    auto call = w.ctx.call(*spec);
    REQUIRE(call.ok());
    auto r = w.legalizer.legalize(*call, w.blocks);
    if (!r.ok()) FAIL(std::string(info.name) << ": " << r.error().text);
  }
  source::Diagnostics out;
  ir::verify(w.ctx, w.module.build(), out);
  for (const auto& d : out.all()) MESSAGE(d.message);
  CHECK_FALSE(out.has_errors());
}

TEST_CASE("legalize: a sum over an empty axis is the identity") {
  World w;
  auto r = w.run("relax.prod", {w.tensor({w.ctx.i64(2), w.ctx.i64(0)})},
                 {w.ctx.named("axis", w.ctx.attr_ints(std::vector<std::int64_t>{1}))});
  REQUIRE(r.ok());
  const std::string text = w.text("full");
  CHECK(has(text, "= T.float32(1.0)"));
  CHECK_FALSE(has(text, "T.init()"));
}

TEST_CASE("legalize: reshape divides the place term by term") {
  World w;
  const std::vector<const Expr*> from{w.ctx.i64(4), w.ctx.i64(32), w.ctx.i64(16), w.ctx.i64(8)};
  const std::vector<const Expr*> to{w.ctx.i64(128), w.ctx.i64(16), w.ctx.i64(8)};
  auto r = w.run("relax.reshape", {w.tensor(from), w.ctx.shape(to)});
  REQUIRE(r.ok());
  const std::string text = w.text("reshape");
  CHECK(has(text, "((v_ax2 // T.int64(8) + v_ax1) // T.int64(16) + v_ax0) % T.int64(128) // T.int64(32)"));
  CHECK(has(text, "((v_ax2 // T.int64(8) + v_ax1) // T.int64(16) + v_ax0) % T.int64(32)"));
}

TEST_CASE("legalize: a range of literals is the tensor that NumPy gives") {
  World w;
  const auto floats = [&](double start, double end, double step) {
    const DType f = DType::Float(32);
    const ir::NamedAttr dtype[] = {w.ctx.named("dtype", w.ctx.attr(f))};
    auto call = w.ctx.call("relax.arange",
                           {w.ctx.float_imm(f, start), w.ctx.float_imm(f, end), w.ctx.float_imm(f, step)}, {dtype[0]});
    REQUIRE(call.ok());
    auto made = w.legalizer.legalize(*call, w.blocks);
    REQUIRE(made.ok());
    const auto* c = ir::as<ir::Constant>(*made);
    REQUIRE(c);
    const runtime::Tensor& t = c->value->as_tensor();
    const auto* data = reinterpret_cast<const float*>(t.data());
    return std::vector<float>(data, data + t.shape()[0]);
  };
  const std::vector<float> tenths = floats(0, 0.5, 0.1);
  REQUIRE(tenths.size() == 5);
  CHECK(tenths[3] == 3.0F * 0.1F);
  CHECK(floats(0.5, 3, 0.5) == std::vector<float>{0.5F, 1, 1.5F, 2, 2.5F});
  CHECK(floats(1, 1, 0.5).empty());
}
