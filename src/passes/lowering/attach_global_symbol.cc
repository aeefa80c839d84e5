// AttachGlobalSymbol: every Relax function and PrimFunc gets the attribute `global_symbol`: its name, for PrimFuncs
// prefixed with the module's `system_lib_prefix`; with a prefix the PrimFuncs are renamed in the module too, and
// everything that refers to them follows. Calls that launch a kernel by its symbol follow as well: TVM has none here.
#include <map>

#include "passes/common.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/launched.h"
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

using NewSymbols = std::map<std::string_view, std::string_view>;

class LaunchRenamer : public Rewriter {
 public:
  LaunchRenamer(Context& ctx, const NewSymbols& symbols) : Rewriter(ctx), symbols_(symbols) {}

 protected:
  const Expr* visit_call(const Call* call) override {
    const auto found = symbols_.find(packed_callee(call));
    const Expr* made = default_expr(call);
    if (found == symbols_.end()) return made;
    const auto* launch = cast<Call>(made);
    std::vector<const Expr*> args(launch->args.begin(), launch->args.end());
    args[0] = ctx_.string(found->second);
    const Expr* renamed = ctx_.call_typed(launch->callee, args, launch->type, launch->attrs, launch->ty_args);
    ctx_.set_origin(renamed, call);
    return renamed;
  }

 private:
  const NewSymbols& symbols_;
};

const Module* rename_launches(Context& ctx, const Module* module, const NewSymbols& symbols) {
  ModuleBuilder builder(ctx, *module);
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<PrimFunc>(e.function)) builder.set(e.name, LaunchRenamer(ctx, symbols).rewrite_prim_func(f));
  return builder.build();
}

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
  NewSymbols launched;
  for (const ModuleEntry& e : module->entries) {
    if (const auto* f = as<Function>(e.function)) {
      if (has_symbol(f->attrs, e.name)) continue;
      builder.set(e.name, with_attr(ctx, f, attr_name::GlobalSymbol, ctx.attr(e.name)));
      changed = true;
    } else if (const auto* p = as<PrimFunc>(e.function)) {
      const std::string symbol = prefix_text + std::string(e.name);
      if (has_symbol(p->attrs, symbol)) continue;
      if (symbol != e.name && !module->find(symbol)) renamed[e.name] = symbol;
      const Attr* old = find_attr(p->attrs, attr_name::GlobalSymbol);
      if (is_launched(p) && old && old->is(AttrKind::String)) launched[old->string] = ctx.str(symbol);
      const PrimFunc* made =
          ctx.prim_func(p->params, p->ret_type, p->body, with_symbol(ctx, p->attrs, symbol), p->s_tir);
      ctx.set_origin(made, p);
      builder.set(e.name, made);
      changed = true;
    }
  }
  const Module* named = changed ? builder.build() : module;
  if (!launched.empty()) named = rename_launches(ctx, named, launched);
  return renamed.empty() ? named : rename(ctx, named, renamed);
}

}  // namespace rldb::passes
