// SplitHostDevice: the part of a PrimFunc that runs in device threads becomes a kernel `<name>_kernel` of its own, and
// calls across devices become launches (device_launch.h).
//
// The kernel is the part below the first `launch_thread`, where the target has a host, or below an
// attribute `target`. Its parameters are the pointers of the buffers that it uses, then scalars, each
// ordered by name.
#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"
#include "tir_passes/device_launch.h"

namespace rldb::passes {

using namespace ir;

namespace {

// Variables and buffers used but not defined in a body.
struct Captured {
  std::vector<const Var*> pointers;  // of buffers, and used directly
  std::vector<const Var*> scalars;
  std::vector<const Buffer*> buffers;  // in the order of first use
};

Captured captured_by(const Stmt* body) {
  Captured out;
  std::unordered_set<const Buffer*> defined, met;
  std::unordered_set<const Var*> seen;
  const auto add = [&](const Var* v) {
    if (!seen.insert(v).second) return;
    (v->type->kind == TypeKind::Pointer || v->dtype().is_handle() ? out.pointers : out.scalars).push_back(v);
  };
  const auto use = [&](const Buffer* b) {
    if (met.insert(b).second) out.buffers.push_back(b);
  };
  std::unordered_set<const Var*> own;  // pointers that the body defines
  std::vector<const Var*> viewed;      // behind buffers that are declared over them
  walk(body, [&](const Node* n) {
    if (const auto* a = as<AllocBuffer>(n)) {
      defined.insert(a->buffer);
      own.insert(a->buffer->data);
    }
    if (const auto* b = as<BindStmt>(n)) own.insert(b->var);
    if (const auto* a = as<AllocateStmt>(n)) own.insert(a->var);
    if (const auto* a = as<AllocateConstStmt>(n)) own.insert(a->var);
    if (const auto* d = as<DeclBuffer>(n)) {
      defined.insert(d->buffer);
      if (d->data != d->buffer->data) own.insert(d->buffer->data);
      if (d->data) collect_vars(d->data, viewed);
    }
    if (const auto* b = as<SBlock>(n)) {
      defined.insert(b->alloc_buffers.begin(), b->alloc_buffers.end());
      for (const Buffer* a : b->alloc_buffers) own.insert(a->data);
      for (const MatchBufferRegion& m : b->match_buffers) defined.insert(m.buffer);
    }
    if (const auto* load = as<BufferLoad>(n)) use(load->buffer);
    if (const auto* store = as<BufferStore>(n)) use(store->buffer);
    return true;
  });
  std::erase_if(out.buffers, [&](const Buffer* b) { return defined.contains(b); });
  for (const Buffer* b : out.buffers) {
    add(b->data);
    std::vector<const Var*> vars;
    for (const Expr* e : b->shape) collect_vars(e, vars);
    for (const Expr* e : b->strides) collect_vars(e, vars);
    if (b->elem_offset) collect_vars(b->elem_offset, vars);
    for (const Var* v : vars) add(v);
  }
  for (const Var* v : free_vars(body)) add(v);
  for (const Var* v : viewed)
    if (!own.contains(v) && (v->type->kind == TypeKind::Pointer || v->dtype().is_handle())) add(v);
  const auto by_name = [](const Var* a, const Var* b) { return a->name < b->name; };
  std::stable_sort(out.pointers.begin(), out.pointers.end(), by_name);
  std::stable_sort(out.scalars.begin(), out.scalars.end(), by_name);
  return out;
}

// The body over fresh variables and buffers.
class KernelBody : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Var* parameter(const Var* v, std::string_view suffix) {
    const auto* pointer = as<PointerType>(v->type);
    const Type* type = pointer && pointer->scope == "global" ? ctx_.pointer(pointer->element) : v->type;
    const Var* made = ctx_.var(std::string(v->name) + std::string(suffix), type);
    ctx_.set_origin(made, v);
    remap(v, made);
    return made;
  }
  const Buffer* buffer(const Buffer* b) { return visit_buffer(b); }
};

class Splitter : public Rewriter {
 public:
  Splitter(Context& ctx, ModuleBuilder& builder, std::string_view name, const PrimFunc* f)
      : Rewriter(ctx), builder_(builder), f_(f), target_(find_attr(f->attrs, kTargetAttr)) {
    const Attr* symbol = find_attr(f->attrs, attr_name::GlobalSymbol);
    kernel_ = std::string(symbol ? symbol->string : name) + "_kernel";
    has_host_ = host_of(ctx, target_) != nullptr;
  }

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* a = as<AttrStmt>(s);
    if (a && a->key == kTargetAttr && a->node) return split(a->body, without_host(ctx_, a->node));
    if (a && has_host_ && (a->key == kThreadExtent || a->key == "device_scope"))
      return split(s, without_host(ctx_, target_));
    return default_stmt(s);
  }

 private:
  const Stmt* split(const Stmt* body, const Attr* target) {
    const Captured captured = captured_by(body);
    KernelBody inside(ctx_);
    std::vector<PrimParam> params;
    std::vector<const Expr*> args;
    for (const Var* v : captured.pointers) params.push_back({inside.parameter(v, "_data"), nullptr});
    for (const Var* v : captured.scalars) params.push_back({inside.parameter(v, ""), nullptr});
    args.insert(args.end(), captured.pointers.begin(), captured.pointers.end());
    args.insert(args.end(), captured.scalars.begin(), captured.scalars.end());
    std::vector<const Stmt*> stmts;
    for (const Buffer* b : std::views::reverse(captured.buffers)) {  // TVM puts each before those it met earlier
      const Buffer* own = inside.buffer(b);
      stmts.push_back(ctx_.decl_buffer(own, own->data));
    }
    stmts.push_back(inside.rewrite(body));
    const bool on_cpu = !is_gpu(target);
    if (on_cpu) stmts.push_back(ctx_.evaluate(ctx_.intrin(DType::Int(32), intrin::Ret, {ctx_.i32(0)})));
    const NamedAttr attrs[] = {ctx_.named("target", target), ctx_.named(attr_name::IsGlobalFunc, ctx_.attr(true)),
                               ctx_.named(attr_name::NoAlias, ctx_.attr(true))};
    const Type* result = on_cpu ? static_cast<const Type*>(ctx_.prim(DType::Int(32))) : ctx_.void_type();
    const PrimFunc* kernel = ctx_.prim_func(params, result, ctx_.seq_stmt(stmts), attrs, f_->s_tir);
    ctx_.set_origin(kernel, f_);
    const std::string_view name = ctx_.str(builder_.unique_name(kernel_));
    builder_.set(name, kernel);
    const Expr* call = ctx_.call_typed(ctx_.global_var(name, kernel->type), args, result);
    return on_cpu ? checked(call) : ctx_.evaluate(call);
  }

  // A kernel on the host's processor returns whether it succeeded.
  const Stmt* checked(const Expr* call) {
    const Var* code = ctx_.var("kernel_error_code", ctx_.prim(DType::Int(32)));
    const std::string_view parts[] = {ctx_.str("Error executing compute kernel")};
    const Stmt* const stmts[] = {
        ctx_.bind(code, call), ctx_.assert_stmt(ctx_.binary(BinaryKind::EQ, code, ctx_.i32(0)), "RuntimeError", parts)};
    return ctx_.seq_stmt(stmts);
  }

  ModuleBuilder& builder_;
  const PrimFunc* f_;
  const Attr* target_;
  std::string kernel_;
  bool has_host_;
};

}  // namespace

Result<const Module*> split_host_device(PassEnv& env, const Module* module, const NoOptions&) {
  ModuleBuilder builder(env.ctx, *module);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<PrimFunc>(e.function);
    if (!f) continue;
    if (!find_attr(f->attrs, kTargetAttr))
      return support::Failure(source::message(diag::PassUnsupported, "`" + std::string(e.name) + "`",
                                              "it has no attribute `target`: run BindTarget first"));
    builder.set(e.name, with_body(env.ctx, f, Splitter(env.ctx, builder, e.name, f).rewrite(f->body)));
  }
  return lower_device_launches(env, builder.build());
}

}  // namespace rldb::passes
