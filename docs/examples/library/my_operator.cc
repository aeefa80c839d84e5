// R.mine.scale_shift(x, scale=1.0, shift=0.0): an operator with a type rule and a body.
#include "my_compiler.h"
#include "rldb/ir/scalar.h"
#include "rldb/ops/legalize.h"
#include "rldb/ops/register.h"

using namespace rldb;

namespace {

ops::Result<const ir::Type*> infer_type(ir::Context&, const ops::OpInfo&, const ir::CallSpec& call) {
  return call.args[0]->type;
}

// One element of the result. LegalizeOps makes a kernel of it, which runs compiled and on the evaluator.
ops::Result<const ir::Expr*> make_body(ops::Legalizer& legalizer, const ir::Call* call) {
  const double scale = ir::find_attr(call->attrs, "scale")->floating;
  const double shift = ir::find_attr(call->attrs, "shift")->floating;
  return legalizer.call_te("scale_shift", call->args, call->type, [&](ops::Legalizer::Te& te) {
    const te::Tensor x = te.in[0];
    const auto element = [&](te::Indices i) {
      const ir::Expr* scaled = ir::mul(te.ctx, te.graph.load(x, i), te.ctx.literal(x->dtype, scale));
      return ir::add(te.ctx, scaled, te.ctx.literal(x->dtype, shift));
    };
    return std::vector<te::Tensor>{te.graph.compute(x->shape, element, "scale_shift")};
  });
}

}  // namespace

void register_scale_shift() {
  ops::register_operator({.name = kScaleShift,
                          .signature = "x, scale: float = 1.0, shift: float = 0.0",
                          .infer = infer_type,
                          .legalize = make_body,
                          .doc = "x * scale + shift"});
}
