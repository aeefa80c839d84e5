// Primitives as Relax: one kernel for all their operators where possible, for running and for stepping.
#include "session/relay/kernel_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "rldb/ir/block_builder.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_id.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/relay/to_relax.h"
#include "rldb/support/cancel.h"

namespace rldb::session {

namespace {

bool is_tensor(const ir::Type* t) { return ir::as<ir::TensorType>(t) != nullptr; }
bool is_tensors(const ir::Type* t) {
  const auto* tuple = ir::as<ir::TupleType>(t);
  return tuple ? std::all_of(tuple->fields.begin(), tuple->fields.end(), is_tensor) : is_tensor(t);
}

// The bindings of a function that consists of one call and names for its result or for parts of that.
struct Body {
  const ir::Call* call = nullptr;
  const ir::Expr* result = nullptr;                         // the result of the call
  std::unordered_map<const ir::Expr*, std::int64_t> parts;  // variables that are fields of the result

  // False: it does something else.
  bool read(const ir::Binding* b) {
    if (b->is_match_cast()) return false;
    const auto* item = ir::as<ir::TupleGetItem>(b->value);
    if (!call && op::is_call_with(b->value, op::Trait::CallTir)) {
      call = ir::as<ir::Call>(b->value);
      result = b->var;
    } else if (result && item && item->tuple == result) {
      parts[b->var] = item->index;
    } else if (result && b->value == result) {
      result = b->var;
    } else {
      return is_result(b->value) && (result = b->var, parts.clear(), true);
    }
    return true;
  }
  // Is it the call's result, or the tuple of all its fields in order?
  bool is_result(const ir::Expr* e) const {
    if (!call || e == result) return call != nullptr;
    const auto* tuple = ir::as<ir::Tuple>(e);
    const auto* type = ir::as<ir::TupleType>(result->type);
    if (!tuple || !type || tuple->items.size() != type->fields.size()) return false;
    for (std::size_t i = 0; i < tuple->items.size(); ++i) {
      const auto found = parts.find(tuple->items[i]);
      if (found == parts.end() || found->second != std::int64_t(i)) return false;
    }
    return true;
  }
};

}  // namespace

std::string_view only_kernel(const ir::Module* legal, std::string_view function) {
  const auto* f = legal ? ir::as<ir::Function>(legal->find(function)) : nullptr;
  if (!f || !f->body || !is_tensors(f->body->body->type)) return {};
  Body body;
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings)
      if (!body.read(b)) return {};
  if (!body.call || !body.is_result(f->body->body) || body.call->args.size() != 2) return {};
  const auto* args = ir::as<ir::Tuple>(body.call->args[1]);
  const auto* callee = ir::as<ir::GlobalVar>(body.call->args[0]);
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

const ir::Module* after_pass(ir::Context& ctx, const ir::Module* module, passes::PassId pass,
                             source::Diagnostics& out) {
  passes::PassEnv env{ctx, out};
  auto made = passes::run_pipeline(env, module, passes::pipeline_of(pass));
  if (made.ok()) return *made;
  out.add({}, std::move(made).error());
  return nullptr;
}

// Moves the function's body to a separate function, of which FuseTIR makes a kernel, and calls that.
const ir::Module* with_group(ir::Context& ctx, const ir::Module* legal, std::string_view name) {
  const auto* f = ir::as<ir::Function>(legal->find(name));
  ir::ModuleBuilder builder(ctx, *legal);
  const std::string_view group = ctx.str(builder.unique_name("group"));
  const auto attrs = ctx.with_attr({}, relay::attr_name::Primitive, ctx.attr(true));
  builder.set(group, ctx.function(f->params, f->body, f->ret_type, true, attrs));
  std::vector<const ir::Var*> params;
  std::vector<const ir::Expr*> args;
  std::vector<const ir::Type*> types;
  for (const ir::Var* p : f->params) {
    params.push_back(ctx.var(p->name, p->type));
    args.push_back(params.back());
    types.push_back(p->type);
  }
  ir::BlockBuilder blocks(ctx);
  blocks.begin_scope();
  const ir::GlobalVar* callee = ctx.global_var(group, ctx.func_type(types, f->ret_type, true));
  const ir::Var* result = blocks.emit(ctx.call_typed(callee, args, f->ret_type), "gv");
  builder.set(name, ctx.function(params, blocks.end_scope(result), f->ret_type, true, f->attrs));
  return builder.build();
}

// A parameter for each field of a tuple, as the instruction has an argument for each.
const ir::Module* with_flat_parameters(ir::Context& ctx, const ir::Module* module, std::string_view name) {
  const auto* f = ir::as<ir::Function>(module->find(name));
  if (!f || std::all_of(f->params.begin(), f->params.end(), [](const ir::Var* p) { return is_tensor(p->type); }))
    return module;
  std::vector<const ir::Var*> params;
  ir::VarMap fields;
  for (const ir::Var* p : f->params) {
    const auto* tuple = ir::as<ir::TupleType>(p->type);
    if (!tuple || !is_tensors(tuple)) {
      params.push_back(p);
      continue;
    }
    std::vector<const ir::Expr*> items;
    for (const ir::Type* t : tuple->fields) {
      params.push_back(ctx.var(fmt::format("{}_{}", p->name, items.size()), t));
      items.push_back(params.back());
    }
    fields[p] = ctx.tuple(items);
  }
  const auto* body = ir::as<ir::SeqExpr>(ir::substitute(ctx, f->body, fields));
  ir::ModuleBuilder builder(ctx, *module);
  builder.set(name, ctx.function(params, body, f->ret_type, f->is_pure, f->attrs));
  return builder.build();
}

// Null: it is not a single kernel, or is not translated.
const ir::PrimFunc* kernel_text(ir::Context& ctx, relay::Context& relay, const relay::Function* f) {
  const auto types_known = [](const relay::Var* p) { return is_known(p->annotation); };
  if (!std::all_of(f->params.begin(), f->params.end(), types_known)) return nullptr;
  constexpr std::string_view kName = "primitive";
  source::Diagnostics ignored;  // primitives that cannot be stepped still run
  const ir::Module* module = one_kernel(ctx, relay, *f, kName, ignored, Parameters::Flat);
  const std::string_view kernel = only_kernel(module, kName);
  return kernel.empty() ? nullptr : ir::as<ir::PrimFunc>(module->find(kernel));
}

}  // namespace

const ir::Module* one_kernel(ir::Context& ctx, relay::Context& relay, const relay::Function& f, std::string_view name,
                             source::Diagnostics& out, Parameters parameters) {
  const ir::Module* module = relay::primitive_to_relax(ctx, relay, f, name, out);
  if (module && parameters == Parameters::Flat) module = with_flat_parameters(ctx, module, name);
  const ir::Module* legal = module ? after_pass(ctx, module, passes::PassId::LegalizeOps, out) : nullptr;
  if (!legal || !only_kernel(legal, name).empty() || !ir::as<ir::Function>(legal->find(name))) return legal;
  source::Diagnostics ignored;  // about a group that is not a single kernel
  const ir::Module* fused = after_pass(ctx, with_group(ctx, legal, name), passes::PassId::FuseTIR, ignored);
  return fused && !only_kernel(fused, name).empty() ? fused : legal;
}

const ir::Module* kernel_texts(ir::Context& ctx, const RelayCode& program) {
  ir::ModuleBuilder builder(ctx);
  for (const relay::Kernel& k : program.kernels()) {
    support::poll();
    if (k.kind != relay::KernelKind::Compute) continue;
    if (const ir::PrimFunc* f = kernel_text(ctx, program.context(), k.function)) builder.set(k.name, f);
  }
  return builder.build();
}

}  // namespace rldb::session
