// AttachGlobalSymbol: every Relax function and PrimFunc gets the attribute `global_symbol`: its name, for PrimFuncs
// prefixed with the module's `system_lib_prefix`; with a prefix the PrimFuncs are renamed in the module too, and
// everything that refers to them follows.
#include <map>

#include "passes/common.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/system_lib_prefix.h"

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

using NewNames = std::map<std::string_view, std::string>;

class CalleeRenamer : public Rewriter {
 public:
  CalleeRenamer(Context& ctx, const NewNames& names) : Rewriter(ctx), names_(names) {}

 protected:
  const Expr* visit_expr(const Expr* e) override {
    const auto* g = as<GlobalVar>(e);
    const auto found = g ? names_.find(g->name) : names_.end();
    if (found == names_.end()) return default_expr(e);
    const Expr* made = ctx_.global_var(found->second, g->type);
    ctx_.set_origin(made, g);
    return made;
  }

 private:
  const NewNames& names_;
};

const Module* rename(Context& ctx, const Module* module, const NewNames& names) {
  ModuleBuilder builder(ctx, *module);
  for (const auto& [from, to] : names) builder.remove(from);
  for (const ModuleEntry& e : module->entries) {
    CalleeRenamer renamer(ctx, names);
    const Expr* made = e.function;
    if (const auto* f = as<Function>(e.function)) made = renamer.rewrite_function(f);
    if (const auto* f = as<PrimFunc>(e.function)) made = renamer.rewrite_prim_func(f);
    const auto found = names.find(e.name);
    if (found != names.end() || made != e.function)
      builder.set(found == names.end() ? e.name : std::string_view(found->second), made);
  }
  return builder.build();
}

}  // namespace

Result<const Module*> attach_global_symbol(PassEnv& env, const Module* module, const NoOptions&) {
  Context& ctx = env.ctx;
  const Attr* prefix = find_attr(module->attrs, kSystemLibPrefix);
  const std::string prefix_text(prefix && prefix->is(AttrKind::String) ? prefix->string : std::string_view());
  ModuleBuilder builder(ctx, *module);
  bool changed = false;
  NewNames renamed;
  for (const ModuleEntry& e : module->entries) {
    if (const auto* f = as<Function>(e.function)) {
      if (has_symbol(f->attrs, e.name)) continue;
      builder.set(e.name, with_attr(ctx, f, attr_name::GlobalSymbol, ctx.attr(e.name)));
      changed = true;
    } else if (const auto* p = as<PrimFunc>(e.function)) {
      const std::string symbol = prefix_text + std::string(e.name);
      if (has_symbol(p->attrs, symbol)) continue;
      if (symbol != e.name && !module->find(symbol)) renamed[e.name] = symbol;
      const PrimFunc* made =
          ctx.prim_func(p->params, p->ret_type, p->body, with_symbol(ctx, p->attrs, symbol), p->s_tir);
      ctx.set_origin(made, p);
      builder.set(e.name, made);
      changed = true;
    }
  }
  const Module* named = changed ? builder.build() : module;
  return renamed.empty() ? named : rename(ctx, named, renamed);
}

}  // namespace rldb::passes
