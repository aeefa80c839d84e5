// AnnotateDeviceRegions: the parts of a PrimFunc that run in device threads get an attribute `target`, which
// SplitHostDevice takes for the boundary of a kernel. DecorateDeviceScope declares the whole body to be device code.
// LowerDeviceKernelLaunch is the last step of SplitHostDevice by itself.
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"
#include "tir_passes/device_launch.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kDeviceScope = "device_scope";

class Annotate : public Rewriter {
 public:
  Annotate(Context& ctx, const Attr* device) : Rewriter(ctx), device_(device) {}

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* a = as<AttrStmt>(s);
    if (a && a->key == kTargetAttr) return s;
    if (a && (a->key == kThreadExtent || a->key == kDeviceScope))
      return ctx_.attr_stmt(device_, kTargetAttr, ctx_.i32(0), s);
    return default_stmt(s);
  }

 private:
  const Attr* device_;
};

}  // namespace

Result<const Module*> annotate_device_regions(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    const Attr* target = find_attr(f->attrs, kTargetAttr);
    if (!target)
      return support::Failure(source::message(diag::PassUnsupported, "`" + std::string(name) + "`",
                                              "it has no attribute `target`: run BindTarget first"));
    if (!host_of(env.ctx, target)) return f;
    return with_body(env.ctx, f, Annotate(env.ctx, without_host(env.ctx, target)).rewrite(f->body));
  });
}

Result<const Module*> decorate_device_scope(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    Context& ctx = env.ctx;
    return with_body(ctx, f, ctx.attr_stmt(ctx.attr(0), kDeviceScope, ctx.i32(0), f->body));
  });
}

Result<const Module*> lower_device_kernel_launch(PassEnv& env, const Module* module, const NoOptions&) {
  return lower_device_launches(env, module);
}

}  // namespace rldb::passes
