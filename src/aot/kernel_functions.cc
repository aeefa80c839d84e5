// A Relax function around each public kernel of a module that has no other functions.
#include "rldb/aot/kernel_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/module.h"
#include "rldb/ir/stmt.h"
#include "rldb/ir/walk.h"

namespace rldb::aot {

using ir::as;

namespace {

// The memory to which a kernel stores; all of it if a pointer is passed on.
std::set<const ir::Var*> stored_to(const ir::PrimFunc* f) {
  std::set<const ir::Var*> out;
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* store = as<ir::BufferStore>(n)) out.insert(store->buffer->data);
    if (const auto* call = as<ir::Call>(n))
      for (const ir::Expr* arg : call->args)
        for (const ir::PrimParam& p : f->params)
          if (p.buffer && arg == p.buffer->data) out.insert(p.buffer->data);
    return true;
  });
  return out;
}

bool calls_others(const ir::PrimFunc* f) {
  bool calls = false;
  ir::walk(f->body, [&](const ir::Node* n) {
    calls = calls || as<ir::GlobalVar>(n);
    return !calls;
  });
  return calls;
}

// A function that calls `f`, which is named `kernel` now. `results`: it returns the tensors that the kernel writes to.
const ir::Function* function_around(ir::Context& ctx, std::string_view kernel, const ir::PrimFunc* f, bool results) {
  const auto* type = as<ir::FuncType>(f->type);
  const std::set<const ir::Var*> stored = stored_to(f);
  std::vector<const ir::Var*> params;
  std::vector<const ir::Expr*> args, written;
  for (std::size_t i = 0; i < f->params.size(); ++i) {
    const ir::Buffer* buffer = f->params[i].buffer;
    params.push_back(ctx.var(buffer ? buffer->name : f->params[i].var->name, type->params[i]));
    args.push_back(params.back());
    if (results && buffer && stored.contains(buffer->data)) written.push_back(params.back());
  }
  const ir::Type* nothing = ctx.void_type();
  const ir::Binding* bindings[] = {
      ctx.binding(ctx.var("_", nothing), ctx.call_typed(ctx.global_var(kernel, f->type), args, nothing))};
  const ir::BindingBlock* blocks[] = {ctx.block(bindings)};
  const ir::Expr* result = written.size() == 1 ? written[0] : ctx.tuple(written);
  const ir::NamedAttr symbol[] = {ctx.named(attr_name::GlobalSymbol, ir::find_attr(f->attrs, attr_name::GlobalSymbol))};
  return ctx.function(params, ctx.seq(blocks, result), result->type, false, symbol);
}

}  // namespace

const ir::Module* with_kernel_functions(ir::Context& ctx, const ir::Module* module, bool results) {
  const bool only_kernels = std::all_of(module->entries.begin(), module->entries.end(), [](const ir::ModuleEntry& e) {
    return as<ir::PrimFunc>(e.function) && !calls_others(as<ir::PrimFunc>(e.function));
  });
  if (!only_kernels) return module;
  ir::ModuleBuilder builder(ctx, *module);
  for (const ir::ModuleEntry& e : module->entries) {
    const auto* f = as<ir::PrimFunc>(e.function);
    if (f->is_private()) continue;
    const std::string_view kernel = builder.unique_name(ctx.str(fmt::format("{}_kernel", e.name)));
    const ir::PrimFunc* own = ctx.prim_func(f->params, f->ret_type, f->body,
                                            ctx.with_attr(f->attrs, attr_name::GlobalSymbol, nullptr), f->s_tir);
    builder.set(kernel, own);
    builder.set(e.name, function_around(ctx, kernel, f, results));
  }
  return builder.build();
}

}  // namespace rldb::aot
