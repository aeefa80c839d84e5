#include "rldb/tir_passes/prim_funcs.h"

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

Result<const Module*> map_prim_funcs(PassEnv& env, const Module* module, const PrimFuncFn& f) {
  ModuleBuilder builder(env.ctx, *module);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* function = as<PrimFunc>(e.function);
    if (!function) continue;
    support::poll();
    RLDB_TRY(const PrimFunc* made, f(e.name, function));
    if (made == function) continue;
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? builder.build() : module;
}

const PrimFunc* with_body(Context& ctx, const PrimFunc* f, const Stmt* body) {
  if (body == f->body) return f;
  const PrimFunc* made = ctx.prim_func(f->params, f->ret_type, body ? body : no_op(ctx), f->attrs, f->s_tir);
  ctx.set_origin(made, f);
  return made;
}

const PrimFunc* with_attrs(Context& ctx, const PrimFunc* f, Span<NamedAttr> attrs) {
  const PrimFunc* made = ctx.prim_func(f->params, f->ret_type, f->body, attrs, f->s_tir);
  ctx.set_origin(made, f);
  return made;
}

const PrimFunc* with_attr(Context& ctx, const PrimFunc* f, std::string_view name, const Attr* value) {
  return with_attrs(ctx, f, ctx.with_attr(f->attrs, name, value));
}

const Stmt* no_op(Context& ctx) { return ctx.evaluate(ctx.i32(0)); }

bool is_no_op(const Stmt* s) {
  if (!s) return true;
  const auto* e = as<Evaluate>(s);
  return e && isa<IntImm>(e->value);
}

bool opens_threads(const Stmt* s) {
  if (const auto* loop = as<ForStmt>(s)) return loop->for_kind == ForKind::ThreadBinding;
  const auto* attr = as<AttrStmt>(s);
  return attr && launches_threads(attr->key);
}

namespace {

bool only_values(const Expr* e, bool loads) {
  bool good = true;
  walk(e, [&](const Node* n) {
    if (const auto* call = as<Call>(n)) {
      const auto* op = as<Op>(call->callee);
      good = good && op && op->intrinsic && op->intrinsic->purity == IntrinsicPurity::Pure;
    }
    if (isa<BufferLoad>(n)) good = good && loads;
    return good;
  });
  return good;
}

}  // namespace

bool is_plain_allocation(const AllocBuffer* a) {
  return std::all_of(a->annotations.begin(), a->annotations.end(), [](const NamedAttr& n) {
    return n.name == attr_name::BufferDataAlignment || n.name == attr_name::BufferAllocatedAddr;
  });
}

bool is_pure_value(const Expr* e) { return only_values(e, false); }
bool has_no_effect(const Expr* e) { return only_values(e, true); }

}  // namespace rldb::passes
