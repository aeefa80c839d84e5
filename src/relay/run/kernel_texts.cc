#include "relay/run/kernel_texts.h"

#include <algorithm>

#include "rldb/ir/op_traits.h"
#include "rldb/passes/pass_id.h"
#include "rldb/relay/to_relax.h"
#include "rldb/support/cancel.h"

namespace rldb::relay_run {

std::string_view only_kernel(const ir::Module* legal, std::string_view function) {
  const auto* f = legal ? ir::as<ir::Function>(legal->find(function)) : nullptr;
  if (!f || !f->body || !ir::as<ir::TensorType>(f->body->body->type)) return {};
  const ir::Expr* result = nullptr;  // what the body has come to
  const ir::Call* call = nullptr;
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings) {
      if (b->is_match_cast()) return {};
      if (!call && op::is_call_with(b->value, op::Trait::CallTir))
        call = ir::as<ir::Call>(b->value);
      else if (!result || b->value != result)
        return {};
      result = b->var;
    }
  if (!call || f->body->body != result || call->args.size() != 2) return {};
  const auto* args = ir::as<ir::Tuple>(call->args[1]);
  const auto* callee = ir::as<ir::GlobalVar>(call->args[0]);
  if (!args || !callee || !std::equal(args->items.begin(), args->items.end(), f->params.begin(), f->params.end()))
    return {};
  return callee->name;
}

namespace {

bool is_known(const relay::Type* t) {
  if (const auto* tuple = relay::as<relay::TupleType>(t))
    return std::all_of(tuple->fields.begin(), tuple->fields.end(), is_known);
  const auto* tensor = relay::as<relay::TensorType>(t);
  return tensor && std::all_of(tensor->shape.begin(), tensor->shape.end(),
                               [](const relay::Dim& d) { return d.kind == relay::DimKind::Known; });
}

// Null: it is no single kernel, or is not translated.
const ir::PrimFunc* kernel_text(ir::Context& ctx, relay::Context& relay, const relay::Function* f) {
  const auto types_known = [](const relay::Var* p) { return is_known(p->annotation); };
  if (!std::all_of(f->params.begin(), f->params.end(), types_known)) return nullptr;
  constexpr std::string_view kName = "primitive";
  source::Diagnostics ignored;  // what cannot be looked into runs all the same
  const ir::Module* module = relay::primitive_to_relax(ctx, relay, *f, kName, ignored);
  const auto pipeline = passes::parse_pipeline(passes::info(passes::PassId::LegalizeOps).name);
  if (!module || !pipeline.ok()) return nullptr;
  passes::PassEnv env{ctx, ignored};
  const auto legal = passes::run_pipeline(env, module, *pipeline);
  if (!legal.ok()) return nullptr;
  const std::string_view kernel = only_kernel(*legal, kName);
  return kernel.empty() ? nullptr : ir::as<ir::PrimFunc>((*legal)->find(kernel));
}

}  // namespace

const ir::Module* kernel_texts(ir::Context& ctx, const Program& program) {
  ir::ModuleBuilder builder(ctx);
  for (const relay::Kernel& k : program.kernels()) {
    support::poll();
    if (k.kind != relay::KernelKind::Compute) continue;
    if (const ir::PrimFunc* f = kernel_text(ctx, program.context(), k.function)) builder.set(k.name, f);
  }
  return builder.build();
}

}  // namespace rldb::relay_run
