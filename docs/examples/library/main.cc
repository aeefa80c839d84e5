// Builds a module, runs passes by name, its own among them, and then the result.
#include <cstdio>
#include <string>

#include "my_compiler.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ops/block_builder.h"
#include "rldb/session/session.h"

using namespace rldb;

namespace {

// main(x, y): scale_shift twice, a kernel written as a tensor expression, and a y whose shape is checked at run time.
ir::Result<const ir::Module*> make_module(ir::Context& ctx) {
  ops::BlockBuilder bb(ctx);
  const ir::DType f32 = ir::DType::Float(32);
  const ir::Var* n = bb.symbol("n");
  const ir::Var* x = bb.param("x", {n, 3}, f32);
  const ir::Var* y = ctx.var("y", ctx.tensor_ndim(2, f32));
  const ir::Var* out = nullptr;
  bb.begin_function("main", {x, y});
  bb.dataflow([&] {
    const ir::Var* a = bb.emit_op(kScaleShift, {x}, {ctx.named("scale", ctx.attr(2.0))});
    const ir::Var* b = bb.emit_op(kScaleShift, {a}, {ctx.named("shift", ctx.attr(1.0))});
    const ir::Var* c = bb.emit_te("squared", {b}, [](ops::Legalizer::Te& te) {
      const te::Tensor t = te.in[0];
      const auto element = [&](te::Indices i) { return ir::mul(te.ctx, te.graph.load(t, i), te.graph.load(t, i)); };
      return std::vector<te::Tensor>{te.graph.compute(t->shape, element, "squared")};
    });
    const ir::Var* d = bb.match_cast(y, ir::tensor_type(ctx, {n, 1}, f32), "d");
    out = bb.emit_output(bb.emit_op(op::Add, {c, d}));
  });
  bb.end_function(out);
  return bb.build();
}

int report(const source::Diagnostics& problems, const session::Session& session) {
  std::fputs(source::render(problems, session.sources()).c_str(), stderr);
  return 1;
}

}  // namespace

int main() {
  register_scale_shift();
  register_fold_scale_shift();
  session::Session session;
  source::Diagnostics problems;
  const auto module = make_module(session.context());
  if (!module.ok()) {
    std::fprintf(stderr, "%s\n", module.error().text.c_str());
    return 1;
  }
  session.set_module(*module);
  if (!session.run_passes("FoldScaleShift, DeadCodeElimination", problems)) return report(problems, session);
  std::printf("%s\n", ir::print(session.module()).c_str());

  const std::string inputs[] = {"2x3xf32=1,2,3,4,5,6", "2x1xf32=10,20"};
  const auto arguments = session.arguments("main", inputs, problems);
  if (!arguments) return report(problems, session);
  std::vector<runtime::Value> values;
  for (const session::Argument& a : *arguments) values.push_back(a.value);
  const session::RunResult result = session.run("main", values, problems);
  if (!result.ok) return report(problems, session);
  std::printf("%s\n", runtime::format_value(result.value).c_str());
  return 0;
}
