// Type inference of distributed tensors that tables cannot express: operators that a program registers.
#include "ops/infer/distributed.h"

#include <doctest/doctest.h>

using namespace rldb;
using ir::Expr;

TEST_CASE("distributed: a registered operator has no rule of sharding, and is refused by name") {
  ir::Context ctx;
  const Expr* shape[] = {ctx.i64(2), ctx.i64(4)};
  const ir::TensorType* local = ctx.tensor(shape, ir::DType::Float(32));
  ops::OpInfo info;
  info.name = "relax.mine.scale";
  info.infer = [](ir::Context&, const ops::OpInfo&, const ir::CallSpec& call) -> ops::Result<const ir::Type*> {
    return static_cast<const ir::Type*>(ir::as<ir::DTensorType>(call.args[0]->type)->tensor);
  };
  const Expr* args[] = {ctx.var("x", ctx.dtensor(local, ctx.attr("mesh[0]"), "S[0]"))};
  ir::CallSpec call;
  call.args = args;
  REQUIRE(ops::is_distributed(call));
  const auto type = ops::infer_distributed(ctx, info, call);
  REQUIRE_FALSE(type.ok());
  CHECK(type.error().text.find("relax.mine.scale") != std::string::npos);
}
