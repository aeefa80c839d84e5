// The passes of the minimum build lower anything that type inference accepts, or refuse it with a message, whatever the
// operator and however odd its arguments: a failed internal check would end the session.
#include "ops/odd_arguments.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass.h"
#include "rldb/source/diagnostic_pipeline.h"
#include "rldb/support/check.h"

using namespace rldb;
using ir::Expr;

namespace {

// def main(free variables of the call): lv = call; return lv
const ir::Module* module_of(ir::Context& ctx, const ir::Call* call) {
  std::vector<const ir::Var*> params = ir::free_vars(call);
  const ir::Var* var = ctx.var("lv", call->type);
  const ir::Binding* bindings[] = {ctx.binding(var, call)};
  const ir::BindingBlock* blocks[] = {ctx.block(bindings)};
  const ir::SeqExpr* body = ctx.seq(blocks, var);
  const ir::NamedAttr attrs[] = {ctx.named("global_symbol", ctx.attr("main"))};
  ir::ModuleBuilder builder(ctx);
  builder.set("main", ctx.function(params, body, call->type, false, attrs));
  return builder.build();
}

// Why this call shows a bug of ours; empty if it does not.
std::string trouble(ir::Context& ctx, const ir::Call* call) {
  source::Diagnostics out;
  const ir::Module* module = module_of(ctx, call);
  if (!ir::verify(ctx, module, out)) return "";  // refused before any pass: as good as refused by the typer
  auto pipeline = passes::parse_pipeline("minimum");
  REQUIRE(pipeline.ok());
  passes::RunOptions options;
  options.verify_each = true;
  passes::PassEnv env{ctx, out};
  try {
    auto done = passes::run_pipeline(env, module, pipeline.value(), options);
    if (done.ok() && ir::verify(ctx, done.value(), out)) return "";
    if (done.ok()) return "not well formed: " + out.first_error();
    // A pass may refuse; a pass whose result does not verify is wrong.
    const bool ill_formed = done.error().id == diag::PassVerifyFailed;
    return ill_formed ? done.error().text + ": " + out.first_error() : "";
  } catch (const support::InternalError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("passes: no accepted arguments are too odd") {
  std::size_t lowered = 0;
  // More of them, and different ones, for a long run.
  const char* rounds = std::getenv("RLDB_ODD_ROUNDS");
  const int last = rounds ? std::atoi(rounds) : 20;
  for (int round = rounds ? 20 : 0; round < last; ++round) {
    odd::Pool pool;
    pool.random.seed(unsigned(round) * 7919u + 17u);
    for (const ops::OpInfo& info : ops::all())
      for (int k = 0; k < 12; ++k) {
        auto spec = ops::normalize_arguments(pool.ctx, info.short_name(), pool.arguments(info));
        if (!spec.ok()) continue;
        auto call = pool.ctx.call(*spec);
        if (!call.ok()) continue;
        const auto* made = ir::as<ir::Call>(static_cast<const Expr*>(*call));
        if (!made) continue;
        const std::string what = trouble(pool.ctx, made);
        CHECK_MESSAGE(what.empty(), info.name << ": " << what << "\n"
                                              << ir::print_function("main", module_of(pool.ctx, made)->find("main")));
        ++lowered;
      }
  }
  CHECK(lowered > 2000);
}
