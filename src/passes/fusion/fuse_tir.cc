// FuseTIR: each Relax function with the attribute Primitive becomes one PrimFunc, and its calls become call_tir of it.
//
// As in TVM, tuple arguments are flattened and unused parameters dropped before, and unreachable functions after. A
// function that cannot be one kernel (fused_kernel.h defines which can) stays as it is, and so does one that is used
// other than in calls. A nested tuple is rebuilt after the call.
#include <fmt/format.h>

#include <algorithm>

#include "passes/fusion/fused_kernel.h"
#include "passes/pass_functions.h"
#include "passes/signature/call_sites.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/passes/rewrite_counter.h"

namespace rldb::passes {

using namespace ir;

namespace {

struct Fused {
  FusedKernel kernel;
  const Function* from;
};
using FusedFunctions = std::unordered_map<std::string_view, Fused>;

// Drops functions with a call that does not give all the scalars that a shape parameter passes on.
void check_calls(const Function* f, FusedFunctions& fused, std::unordered_set<std::string_view>& called) {
  walk(f->body, [&](const Node* n) {
    const auto* call = as<Call>(n);
    const auto* callee = call ? as<GlobalVar>(call->callee) : nullptr;
    const auto found = callee ? fused.find(callee->name) : fused.end();
    if (found == fused.end()) return true;
    called.insert(found->first);
    const FusedKernel& kernel = found->second.kernel;
    for (std::size_t i = 0; i < call->args.size(); ++i)
      if (!kernel.shape_dims[i].empty() && !shape_values(call->args[i])) {
        fused.erase(found);
        return true;
      }
    return true;
  });
}

class KernelCaller : public CallSiteRewriter {
 public:
  KernelCaller(Context& ctx, const FusedFunctions& fused) : CallSiteRewriter(ctx), fused_(fused) {}

 protected:
  std::vector<const Binding*> replace_call(const Binding* b, const Call* call, std::string_view name) override {
    const auto found = fused_.find(name);
    if (found == fused_.end()) return {};
    const FusedKernel& kernel = found->second.kernel;
    std::vector<const Binding*> out;
    const Expr* args = arguments(call, kernel, out);
    // The results of the call, flattened.
    std::vector<const Type*> leaves;
    collect_leaves(call->type, leaves);
    const Type* type = leaves.size() == 1 ? leaves[0] : ctx_.tuple_type(leaves);
    const Call* made = call_kernel(ctx_.global_var(name, kernel.function->type), args, type, kernel);
    ctx_.set_origin(made, call);
    if (type == call->type)
      out.push_back(remake_binding(ctx_, b, b->var, made));
    else
      put_together(b, made, call->type, leaves.size(), out);
    return out;
  }

 private:
  // Tensors first, then the scalars.
  const Expr* arguments(const Call* call, const FusedKernel& kernel, std::vector<const Binding*>& out) {
    std::vector<const Expr*> tensors;
    std::vector<const Expr*> scalars;
    for (std::size_t i = 0; i < call->args.size(); ++i) {
      const Expr* a = call->args[i];
      if (a->type->kind == TypeKind::Shape) {
        for (const std::size_t d : kernel.shape_dims[i]) scalars.push_back((*shape_values(a))[d]);
      } else if (a->type->kind == TypeKind::Prim) {
        scalars.push_back(a);
      } else {
        flatten_argument(ctx_, a, in_dataflow(), tensors, out);
      }
    }
    tensors.insert(tensors.end(), scalars.begin(), scalars.end());
    return ctx_.tuple(tensors);
  }

  const Call* call_kernel(const Expr* callee, const Expr* args, const Type* type, const FusedKernel& kernel) {
    const Expr* operands[] = {callee, args};
    const Type* types[] = {type};
    if (!kernel.is_inplace()) return ctx_.call_typed(ctx_.op(op::CallTir), operands, type, {}, types);
    const NamedAttr attrs[] = {ctx_.named(op_attr::InplaceIndices, ctx_.attr_ints(kernel.inplace))};
    return ctx_.call_typed(ctx_.op(op::CallTirInplace), operands, type, attrs, types);
  }

  void put_together(const Binding* b, const Call* made, const Type* wanted, std::size_t leaves,
                    std::vector<const Binding*>& out) {
    const auto add = [&](const Expr* value) {
      const Var* v = in_dataflow() ? ctx_.dataflow_var("lv", value->type) : ctx_.var("lv", value->type);
      ctx_.set_origin(v, b);
      out.push_back(ctx_.binding(v, value));
      ctx_.set_origin(out.back(), b);
      return v;
    };
    const Var* all = add(made);
    std::vector<const Expr*> fields;
    if (leaves == 1) fields.push_back(all);
    for (std::size_t i = 0; leaves > 1 && i < leaves; ++i) fields.push_back(add(*ctx_.tuple_get(all, std::int64_t(i))));
    std::size_t next = 0;
    out.push_back(remake_binding(ctx_, b, b->var, from_leaves(ctx_, wanted, fields, next)));
  }

  const FusedFunctions& fused_;
};

FusedFunctions fuse_all(Context& ctx, const Module* module) {
  FusedFunctions fused;
  const std::unordered_set<std::string_view> escaping = escaping_functions(module);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f || !is_set(f->attrs, attr_name::Primitive) || escaping.count(e.name)) continue;
    auto kernel = fuse_kernels(ctx, module, f);
    if (kernel && may_rewrite([&] { return fmt::format("`{}` becomes one kernel", e.name); }))
      fused[e.name] = {std::move(*kernel), f};
  }
  // A public function that is never called here is an entry point for others.
  std::unordered_set<std::string_view> called;
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<Function>(e.function)) check_calls(f, fused, called);
  std::erase_if(fused, [&](const auto& f) { return !f.second.from->is_private() && !called.count(f.first); });
  return fused;
}

}  // namespace

Result<const Module*> fuse_tir(PassEnv& env, const Module* module, const NoOptions&) {
  RLDB_TRY(module, expand_tuple_arguments(env, module, {}));
  RLDB_TRY(module, remove_unused_parameters(env, module, {}));
  const FusedFunctions fused = fuse_all(env.ctx, module);
  ModuleBuilder builder(env.ctx, *module);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    if (const auto found = fused.find(e.name); found != fused.end()) {
      builder.set(e.name, found->second.kernel.function);
      continue;
    }
    const Function* made = KernelCaller(env.ctx, fused).rewrite_function(f);
    if (made != f) builder.set(e.name, canonicalize(env.ctx, made));
  }
  return dead_code_elimination(env, fused.empty() ? module : builder.build(), {});
}

}  // namespace rldb::passes
