// Features for programs built on rldb: passes and mutators of their own, and blocks that they may not change.
#include <doctest/doctest.h>

#include "rldb/ir/equal.h"
#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/visitor.h"
#include "rldb/ops/block_builder.h"
#include "rldb/passes/helpers.h"
#include "rldb/passes/register.h"
#include "rldb/source/diagnostic_library.h"

using namespace rldb;
using namespace rldb::passes;

namespace {

struct World {
  ir::Context ctx;
  source::Diagnostics problems;
  PassEnv env{ctx, problems};
  World() { ops::install(ctx); }

  // relu(x + x) in a dataflow block.
  const ir::Module* module() {
    ops::BlockBuilder bb(ctx);
    const ir::Var* x = bb.param("x", {2, 3}, ir::DType::Float(32));
    bb.begin_function("main", {x});
    const ir::Var* out = nullptr;
    bb.dataflow([&] { out = bb.emit_output(*ctx.call(op::NnRelu, {bb.emit_op(op::Add, {x, x})})); });
    bb.end_function(out);
    auto made = bb.build();
    REQUIRE_MESSAGE(made.ok(), made.error().text);
    return *made;
  }
};

// relu(x) is maximum(x, x - x), written as nested calls.
class Expander : public ir::ExprMutator {
 public:
  using ExprMutator::ExprMutator;

 protected:
  const ir::Expr* visit_call(const ir::Call* call) override {
    const ir::Expr* made = default_expr(call);
    const ir::Call* relu = as_call_of(made, op::NnRelu);
    if (!relu) return made;
    CHECK(as_call_of(value_of(relu->args[0]), op::Add) != nullptr);
    const ir::Expr* zero = *ctx_.call(op::Subtract, {relu->args[0], relu->args[0]});
    return *ctx_.call(op::Maximum, {relu->args[0], zero});
  }
};

struct ExpandReluOptions {
  pipeline::option::Int limit = 1;
};
template <class F>
void each_option(ExpandReluOptions& options, const F& f) {
  f("limit", options.limit, "0: nothing is done");
}

ir::Result<const ir::Module*> expand_relu(PassEnv& env, const ir::Module* module, const ExpandReluOptions& options) {
  if (options.limit == 0) return module;
  return map_dataflow_blocks(env, module, [](PassEnv& e, const ir::BindingBlock* block) {
    return ir::Result<const ir::BindingBlock*>(Expander(e.ctx).rewrite_block(block));
  });
}

source::DiagId refusal(World& w, const DataflowBlockFn& f) {
  auto made = map_dataflow_blocks(w.env, w.module(), f);
  return made.ok() ? source::DiagId() : made.error().id;
}

}  // namespace

TEST_CASE("library: a pass that is registered runs by name, with its options") {
  static const PassInfo& pass =
      register_pass<expand_relu, ExpandReluOptions>("ExpandRelu", PassKind::DataflowBlock, "for the test");
  REQUIRE(pass.options.size() == 1);
  CHECK(pipeline::to_string(pass.options[0]) == "limit: int = 1");
  CHECK(find_pass("ExpandRelu") == &pass);
  CHECK(&info(pass.id) == &pass);
  CHECK_THROWS_AS(register_pass(PassInfo(pass)), support::InternalError);
  World w;
  const ir::Module* before = w.module();
  auto none = parse_pipeline("ExpandRelu(limit=0)");
  REQUIRE(none.ok());
  CHECK(*run_pipeline(w.env, before, *none) == before);
  CHECK_FALSE(parse_pipeline("ExpandRelu(limit=none)").ok());
  auto pipeline = parse_pipeline("ExpandRelu");
  REQUIRE(pipeline.ok());
  auto after = run_pipeline(w.env, before, *pipeline);
  REQUIRE_MESSAGE(after.ok(), after.error().text);
  CHECK(ir::print(*after) == R"(# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 3), dtype="float32") = R.add(x, x)
            lv_1: R.Tensor((2, 3), dtype="float32") = R.subtract(lv, lv)
            gv: R.Tensor((2, 3), dtype="float32") = R.maximum(lv, lv_1)
            R.output(gv)
        return gv)");
}

TEST_CASE("library: a pass on a dataflow block keeps what the rest of the function sees") {
  World w;
  CHECK(refusal(w, [](PassEnv& e, const ir::BindingBlock* b) {
          return ir::Result<const ir::BindingBlock*>(e.ctx.block(b->bindings));
        }) == diag::PassLostDataflow);
  CHECK(refusal(w, [](PassEnv& e, const ir::BindingBlock* b) {
          return ir::Result<const ir::BindingBlock*>(e.ctx.block(b->bindings.first(1), true));
        }) == diag::PassLostVariable);
  CHECK(refusal(w, [](PassEnv& e, const ir::BindingBlock* b) {
          std::vector<const ir::Binding*> all(b->bindings.begin(), b->bindings.end());
          all.push_back(bind_new(e.ctx, "more", all[0]->value, all[0]));
          return ir::Result<const ir::BindingBlock*>(e.ctx.block(all, true));
        }) == diag::PassNewVariable);
  CHECK(refusal(w, [](PassEnv&, const ir::BindingBlock* b) { return ir::Result<const ir::BindingBlock*>(b); }) ==
        source::DiagId());
}
