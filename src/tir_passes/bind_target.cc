// BindTarget(target): records for every PrimFunc which target it is for. Public ones get the whole target; a private
// one the host, when only host code calls it, and the device without a host otherwise. If both call it, it is copied as
// `<name>_host`, and host code calls the copy. A function that has a target keeps it, and gets a host when it is public
// and has none.
#include <algorithm>
#include <unordered_set>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/tir_passes/inline_kernel.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"

namespace rldb::passes {

using namespace ir;

namespace {

using Names = std::unordered_set<std::string_view>;

// Walks a body, tracking whether it runs in device threads; calls in host code can be given another callee.
class Callers : public Rewriter {
 public:
  explicit Callers(Context& ctx) : Rewriter(ctx) {}
  Names host, device;
  std::unordered_map<std::string_view, const GlobalVar*> replaced;

 protected:
  const Expr* visit_call(const Call* c) override {
    const Expr* made = default_expr(c);
    const auto* call = as<Call>(made);
    const auto* callee = call ? as<GlobalVar>(call->callee) : nullptr;
    if (!callee) return made;
    (threads_ ? device : host).insert(callee->name);
    const auto other = replaced.find(callee->name);
    if (threads_ || other == replaced.end()) return made;
    return ctx_.call_typed(other->second, call->args, call->type, call->attrs, call->ty_args);
  }
  const Stmt* visit_stmt(const Stmt* s) override {
    const bool outer = std::exchange(threads_, threads_ || opens_threads(s));
    const Stmt* made = default_stmt(s);
    threads_ = outer;
    return made;
  }

 private:
  bool threads_ = false;
};

// A copy of the function with fresh variables.
const PrimFunc* copied(Context& ctx, const PrimFunc* f) {
  UniqueNames names("_");
  return KernelInliner(ctx, names).rewrite_prim_func(f);
}

}  // namespace

Result<const Module*> bind_target(PassEnv& env, const Module* module, const BindTargetOptions& options) {
  Context& ctx = env.ctx;
  const Attr* target = read_target(ctx, options.target);
  if (!target)
    return support::Failure(source::message(diag::PassOptionValue, "target",
                                            "a target such as T.target(\"cuda\", host=\"llvm\")",
                                            given_text(options.target)));
  const Attr* device = without_host(ctx, target);
  const Attr* own_host = host_of(ctx, target);
  const Attr* host = own_host ? own_host : make_target(ctx, ctx.attr(kDefaultHost));
  Callers callers(ctx);
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<PrimFunc>(e.function); f && !f->is_private()) callers.rewrite(f->body);

  ModuleBuilder builder(ctx, *module);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<PrimFunc>(e.function);
    if (!f) continue;
    const auto bind = [&](const Attr* t) { builder.set(e.name, with_attr(ctx, f, kTargetAttr, t)); };
    if (const Attr* has = find_attr(f->attrs, kTargetAttr)) {
      if (own_host && !host_of(ctx, has) && !f->is_private()) bind(with_host(ctx, has, own_host));
    } else if (is_set(f->attrs, attr_name::IsHostFunc)) {
      builder.set(e.name, with_attrs(ctx, f,
                                     ctx.with_attr(ctx.with_attr(f->attrs, attr_name::IsHostFunc, nullptr), kTargetAttr,
                                                   with_host(ctx, host, host))));
    } else if (!f->is_private()) {
      bind(target);
    } else if (callers.host.contains(e.name) && callers.device.contains(e.name)) {
      bind(device);
      const std::string_view name = ctx.str(builder.unique_name(std::string(e.name) + "_host"));
      const PrimFunc* copy = with_attr(ctx, copied(ctx, f), kTargetAttr, host);
      builder.set(name, copy);
      callers.replaced[e.name] = ctx.global_var(name, copy->type);
    } else {
      bind(callers.host.contains(e.name) ? host : device);
    }
  }
  if (!callers.replaced.empty())
    for (const ModuleEntry& e : module->entries)
      if (const auto* f = as<PrimFunc>(builder.find(e.name)); f && !f->is_private())
        builder.set(e.name, with_body(ctx, f, callers.rewrite(f->body)));
  return builder.build();
}

}  // namespace rldb::passes
