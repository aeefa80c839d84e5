// AttachGlobalSymbol: every Relax function and PrimFunc gets the attribute `global_symbol`: its name, for PrimFuncs
// prefixed with the module's `system_lib_prefix`. A function with a different symbol keeps its name in the module:
// callers refer to the GlobalVar, the linker to the symbol.
#include "passes/common.h"
#include "rldb/ir/attr_name/symbol.h"

namespace rldb::passes {

using namespace ir;

namespace {

Span<NamedAttr> with_symbol(Context& ctx, Span<NamedAttr> attrs, std::string_view symbol) {
  return ctx.with_attr(attrs, attr_name::GlobalSymbol, ctx.attr(symbol));
}

bool has_symbol(Span<NamedAttr> attrs, std::string_view symbol) {
  const Attr* a = find_attr(attrs, attr_name::GlobalSymbol);
  return a && a->is(AttrKind::String) && a->string == symbol;
}

}  // namespace

Result<const Module*> attach_global_symbol(PassEnv& env, const Module* module, const PassOptions&) {
  Context& ctx = env.ctx;
  const Attr* prefix = find_attr(module->attrs, "system_lib_prefix");
  const std::string prefix_text(prefix && prefix->is(AttrKind::String) ? prefix->string : std::string_view());
  ModuleBuilder builder(ctx, *module);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    if (const auto* f = as<Function>(e.function)) {
      if (has_symbol(f->attrs, e.name)) continue;
      builder.set(e.name, with_attr(ctx, f, attr_name::GlobalSymbol, ctx.attr(e.name)));
      changed = true;
    } else if (const auto* p = as<PrimFunc>(e.function)) {
      const std::string symbol = prefix_text + std::string(e.name);
      if (has_symbol(p->attrs, symbol)) continue;
      const PrimFunc* made =
          ctx.prim_func(p->params, p->ret_type, p->body, with_symbol(ctx, p->attrs, symbol), p->s_tir);
      ctx.set_origin(made, p);
      builder.set(e.name, made);
      changed = true;
    }
  }
  return changed ? builder.build() : module;
}

}  // namespace rldb::passes
