// VerifyMemory: a kernel for a GPU accesses its parameters only in threads. VerifyVTCMLimit: memory of scope
// `global.vtcm` fits. Both change nothing. LowerVtcmAlloc: such memory is allocated by a call.
#include <fmt/format.h>

#include <unordered_set>

#include "rldb/ir/attr_name/host.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kVtcmScope = "global.vtcm";
constexpr std::string_view kVtcmCapacity = "vtcm-capacity";

bool is_vtcm(const Buffer* b) { return b->scope.find(kVtcmScope) != std::string_view::npos; }

// A buffer over a parameter's memory that is accessed outside of threads, or null.
class HostAccesses {
 public:
  explicit HostAccesses(const PrimFunc* f) {
    for (const PrimParam& p : f->params) given_.insert(p.buffer ? p.buffer->data : p.var);
    visit(f->body);
  }
  const Buffer* found = nullptr;

 private:
  void visit(const Node* n) {
    if (found) return;
    if (const auto* s = as<Stmt>(n); s && !thread_tag(s).empty()) return;
    if (const auto* b = as<BindStmt>(n)) derive(b->var, b->value);
    if (const auto* d = as<DeclBuffer>(n); d && d->data) derive(d->buffer->data, d->data);
    if (const auto* load = as<BufferLoad>(n)) note(load->buffer);
    if (const auto* store = as<BufferStore>(n)) note(store->buffer);
    for_each_use(n, [&](const Node* inner) { visit(inner); });
  }
  // A variable that is computed from a parameter's pointer is one too.
  void derive(const Var* v, const Expr* from) {
    if (v->type->kind != TypeKind::Pointer && !v->dtype().is_handle()) return;
    std::vector<const Var*> vars;
    collect_vars(from, vars);
    for (const Var* used : vars)
      if (given_.contains(used)) given_.insert(v);
  }
  void note(const Buffer* b) {
    if (given_.contains(b->data)) found = b;
  }
  std::unordered_set<const Var*> given_;
};

support::Failure<source::Message> refused(std::string_view name, std::string why) {
  return support::Failure(source::message(diag::PassUnsupported, fmt::format("`{}`", name), std::move(why)));
}

class VtcmLowerer : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* a = as<AllocBuffer>(s);
    if (!a || !is_vtcm(a->buffer)) return default_stmt(s);
    const Buffer* b = a->buffer;
    const Expr* shape = ctx_.call_typed(ctx_.op(info(intrin::TvmStackMakeShape).op), b->shape, ctx_.pointer());
    const Expr* const args[] = {ctx_.string(b->scope), ctx_.i64(std::int64_t(b->shape.size())), shape};
    return ctx_.decl_buffer(b, ctx_.call_typed(ctx_.op(info(intrin::NdMemAllocWithScope).op), args, b->data->type));
  }
};

}  // namespace

Result<const Module*> verify_memory(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    const Attr* target = find_attr(f->attrs, kTargetAttr);
    if (!target) return refused(name, "it has no attribute `target`: run BindTarget first");
    const Attr* conv = find_attr(f->attrs, attr_name::CallingConv);
    if (!is_gpu(target) || (conv && conv->integer != 0)) return f;
    if (const Buffer* b = HostAccesses(f).found)
      return refused(name, fmt::format("`{}` is accessed outside of threads in code for {}: bind a loop around it to a "
                                       "thread",
                                       b->name, target_kind(target)));
    return f;
  });
}

Result<const Module*> verify_vtcm_limit(PassEnv& env, const Module* module, const VerifyVTCMLimitOptions& options) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    const Attr* target = find_attr(f->attrs, kTargetAttr);
    const std::int64_t limit = options.limit >= 0 ? options.limit
                               : target           ? target_number(target, kVtcmCapacity).value_or(0)
                                                  : 0;
    if (limit <= 0) return f;
    std::int64_t bytes = 0;
    walk(f->body, [&](const Node* n) {
      const auto add_size = [&](const Buffer* b) {
        if (!is_vtcm(b)) return;
        const auto count = const_int(product(env.ctx, b->shape));
        if (count) bytes += *count * ((b->dtype.bits * b->dtype.lanes + 7) / 8);
      };
      if (const auto* a = as<AllocBuffer>(n)) add_size(a->buffer);
      if (const auto* b = as<SBlock>(n))
        for (const Buffer* a : b->alloc_buffers) add_size(a);
      return !isa<Expr>(n);
    });
    if (bytes > limit)
      return refused(name,
                     fmt::format("it allocates {} bytes of scope `{}`, and {} are allowed", bytes, kVtcmScope, limit));
    return f;
  });
}

Result<const Module*> lower_vtcm_alloc(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return with_body(env.ctx, f, VtcmLowerer(env.ctx).rewrite(f->body));
  });
}

}  // namespace rldb::passes
