// Kernels launched as device code, and the calls of them in host code.
#include "tir_passes/device_launch.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/attr_name/host.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/memory_scope.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::int64_t kDeviceKernelLaunch = 2;  // TVM's CallingConv

// How a kernel is launched, in terms of its parameters.
struct Launch {
  const PrimFunc* kernel;
  const Attr* target;
  std::string_view symbol;
  std::vector<std::string_view> tags;
  std::vector<const Expr*> sizes;
};

void add_launch_size(Context& ctx, Launch& launch, const Stmt* s, VarMap& values, const Expr*& memory) {
  if (const auto* b = as<BindStmt>(s)) values[b->var] = substitute(ctx, b->value, values);
  if (const auto* a = as<AttrStmt>(s); a && a->thread_var && a->key == kThreadExtent) {
    const std::string_view tag = thread_tag(a);
    if (tag.starts_with(kVThread) || std::find(launch.tags.begin(), launch.tags.end(), tag) != launch.tags.end())
      return;
    launch.tags.push_back(tag);
    launch.sizes.push_back(substitute(ctx, a->value, values));
  }
  if (const auto* alloc = as<AllocBuffer>(s); alloc && alloc->buffer->scope == memory_scope::kSharedDynamic)
    memory = substitute(ctx, mul(ctx, product(ctx, alloc->buffer->shape), ctx.i64((alloc->buffer->dtype.bits + 7) / 8)),
                        values);
}

Launch launch_of(Context& ctx, std::string_view name, const PrimFunc* f) {
  const Attr* target = find_attr(f->attrs, kTargetAttr);
  const Attr* symbol = find_attr(f->attrs, attr_name::GlobalSymbol);
  Launch launch{f, target ? without_host(ctx, target) : nullptr, symbol ? symbol->string : name, {}, {}};
  VarMap values;
  const Expr* memory = nullptr;
  walk(f->body, [&](const Node* n) {
    if (const auto* s = as<Stmt>(n)) add_launch_size(ctx, launch, s, values, memory);
    return true;
  });
  if (memory) {
    launch.tags.push_back(attr_name::UseDynSharedMemory);
    launch.sizes.push_back(memory);
  }
  return launch;
}

// All kinds whose code runs on the host's own processor count as one device.
std::string_view device_of(const Attr* target) {
  const std::string_view kind = target_kind(target);
  return kind == "c" || kind == "llvm" ? kDefaultHost : kind;
}

class CallLowerer : public Rewriter {
 public:
  CallLowerer(Context& ctx, const std::unordered_map<std::string_view, Launch>& launches)
      : Rewriter(ctx), launches_(launches) {}
  std::unordered_set<std::string_view> launched, by_symbol;
  const Attr* target = nullptr;  // of the calling function

 protected:
  const Expr* visit_call(const Call* c) override {
    const Expr* made = default_expr(c);
    const auto* call = as<Call>(made);
    const auto* callee = call ? as<GlobalVar>(call->callee) : nullptr;
    const auto found = callee ? launches_.find(callee->name) : launches_.end();
    if (found == launches_.end() || !found->second.target || !target) return made;
    const Launch& launch = found->second;
    const Attr* host = host_of(ctx_, target);
    const Attr* caller = host ? host : target;
    if (!(host && !launch.tags.empty())) {
      if (attr_equal(caller, launch.target)) return made;
      if (device_of(caller) == device_of(launch.target)) {
        by_symbol.insert(callee->name);
        return by_name(callee->name, call, {}, intrin::CallExtern, call->dtype());
      }
    }
    launched.insert(callee->name);
    return by_name(launch.symbol, call, sizes(launch, call), intrin::TvmCallPacked, DType::Int(32));
  }

 private:
  std::vector<const Expr*> sizes(const Launch& launch, const Call* call) {
    VarMap args;
    for (std::size_t i = 0; i < std::min(call->args.size(), launch.kernel->params.size()); ++i)
      args[launch.kernel->params[i].var] = call->args[i];
    std::vector<const Expr*> out;
    for (const Expr* e : launch.sizes) out.push_back(substitute(ctx_, e, args));
    return out;
  }

  const Expr* by_name(std::string_view symbol, const Call* call, const std::vector<const Expr*>& more, Intrinsic id,
                      DType dtype) {
    std::vector<const Expr*> args{ctx_.string(symbol)};
    args.insert(args.end(), call->args.begin(), call->args.end());
    args.insert(args.end(), more.begin(), more.end());
    return ctx_.call_typed(ctx_.op(info(id).op), args, ctx_.prim(dtype));
  }

  const std::unordered_map<std::string_view, Launch>& launches_;
};

// A launched kernel returns nothing: `return 0` at its end is left out.
class Returns : public Rewriter {
 public:
  using Rewriter::Rewriter;
  bool gives_a_value = false;

 protected:
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* e = as<Evaluate>(s);
    const auto* called = e ? called_intrinsic(e->value) : nullptr;
    if (!called || called->id != intrin::Ret) return default_stmt(s);
    const auto& args = as<Call>(e->value)->args;
    gives_a_value = gives_a_value || (!args.empty() && !is_const(args[0], 0));
    return no_op(ctx_);
  }
};

Result<const PrimFunc*> as_kernel(Context& ctx, const Launch& launch, const PrimFunc* f) {
  Returns returns(ctx);
  const Stmt* body = returns.rewrite(f->body);
  if (returns.gives_a_value)
    return support::Failure(source::message(diag::PassUnsupported, "`" + std::string(launch.symbol) + "`",
                                            "a kernel that is launched returns nothing but 0"));
  std::vector<const Attr*> tags;
  for (const std::string_view t : launch.tags) tags.push_back(ctx.attr(t));
  Span<NamedAttr> attrs = ctx.with_attr(f->attrs, attr_name::CallingConv, ctx.attr(kDeviceKernelLaunch));
  attrs = ctx.with_attr(attrs, attr_name::KernelLaunchParams, ctx.attr_list(tags));
  attrs = ctx.with_attr(attrs, attr_name::GlobalSymbol, ctx.attr(launch.symbol));
  attrs = ctx.with_attr(attrs, attr_name::IsGlobalFunc, ctx.attr(true));
  const PrimFunc* made = ctx.prim_func(f->params, ctx.void_type(), body, attrs, f->s_tir);
  ctx.set_origin(made, f);
  return made;
}

}  // namespace

Result<const Module*> lower_device_launches(PassEnv& env, const Module* module) {
  Context& ctx = env.ctx;
  std::unordered_map<std::string_view, Launch> launches;
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<PrimFunc>(e.function)) launches.emplace(e.name, launch_of(ctx, e.name, f));
  CallLowerer calls(ctx, launches);
  ModuleBuilder builder(ctx, *module);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<PrimFunc>(e.function);
    if (!f) continue;
    calls.target = find_attr(f->attrs, kTargetAttr);
    builder.set(e.name, with_body(ctx, f, calls.rewrite(f->body)));
  }
  for (const std::string_view name : calls.launched) {
    RLDB_TRY(const PrimFunc* kernel, as_kernel(ctx, launches.at(name), as<PrimFunc>(builder.find(name))));
    builder.set(name, kernel);
  }
  for (const std::string_view name : calls.by_symbol) {
    const auto* f = as<PrimFunc>(builder.find(name));
    Span<NamedAttr> attrs = ctx.with_attr(f->attrs, attr_name::IsGlobalFunc, ctx.attr(true));
    if (f->is_private()) attrs = ctx.with_attr(attrs, attr_name::GlobalSymbol, ctx.attr(name));
    builder.set(name, with_attrs(ctx, f, attrs));
  }
  return builder.build();
}

}  // namespace rldb::passes
