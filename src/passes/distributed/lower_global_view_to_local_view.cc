// LowerGlobalViewToLocalView: R.dist.call_tir of a kernel over whole tensors becomes R.dist.call_tir_local_view of the
// kernel that each worker runs on its parts; partial results of the workers are summed by an all-reduce. Kernels that
// are no longer called are removed.
//
// Stricter than TVM: see local_kernel.h. TVM also divides tensors declared whole, and kernels that use a reduction's
// result while holding only a part of it.
#include "passes/distributed/local_kernel.h"
#include "passes/distributed/mesh.h"
#include "passes/fusion/function_table.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/distributed.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/legalize.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;

namespace {

class LocalView : public Rewriter {
 public:
  LocalView(Context& ctx, const Module* module, ModuleBuilder& builder)
      : Rewriter(ctx), module_(module), kernels_(ctx, builder) {}
  std::optional<source::Message> error;
  std::unordered_set<std::string_view> replaced;  // names of kernels over whole tensors

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> made = default_binding(b);
    const Call* call = made.size() == 1 ? as_call_of(made[0]->value, op::CallTir) : nullptr;
    const auto* name = call ? as<GlobalVar>(call->args[0]) : nullptr;
    const auto* kernel = name ? as<PrimFunc>(module_->find(name->name)) : nullptr;
    if (!kernel || error || !is_distributed(call)) return made;
    auto shardings = shardings_of(call, kernel);
    if (!shardings.ok()) return fail(std::move(shardings).error(), made);
    if (!may_rewrite([&] { return "`" + std::string(name->name) + "` runs on parts"; })) return made;
    auto local = local_kernel(ctx_, name->name, kernel, *shardings);
    if (!local.ok()) return fail(std::move(local).error(), made);
    const GlobalVar* callee = local->function == kernel ? name : kernels_.add_function(local->function, name->name);
    if (callee->name != name->name) replaced.insert(name->name);
    std::vector<const Expr*> args(call->args.begin(), call->args.end());
    args[0] = callee;
    const Call* part = ctx_.call_typed(ctx_.op(op::DistCallTirLocalView), args, call->type, {}, call->ty_args);
    ctx_.set_origin(part, call);
    if (local->reduction.empty()) return {remake_binding(ctx_, made[0], made[0]->var, part)};
    return joined(made[0], part, local->reduction);
  }

 private:
  std::vector<const Binding*> fail(source::Message why, const std::vector<const Binding*>& made) {
    error = std::move(why);
    return made;
  }

  static bool is_distributed(const Call* call) {
    const Type* t = call->type;
    if (const auto* several = as<TupleType>(t); several && !several->fields.empty()) t = several->fields[0];
    return as<DTensorType>(t) != nullptr;
  }

  Result<Sharding> sharding_of(const Type* type, std::string_view kernel) {
    const auto* t = as<DTensorType>(type);
    const auto refuse = [&](std::string why) {
      return support::Failure(source::message(diag::PassUnsupported,
                                              "`" + std::string(kernel) + "` on parts of its tensors", std::move(why)));
    };
    if (!t) return refuse("an argument for a buffer is not a distributed tensor");
    if (t->placement == "R") return Sharding{};
    const auto axis = sharded_axis(t->placement);
    const auto n = mesh_workers(mesh_of(module_, t->device_mesh));
    if (!axis || !n || *axis < 0 || *axis >= t->tensor->ndim)
      return refuse("placement \"" + std::string(t->placement) + "\" is none on a mesh of one dimension");
    return Sharding{std::size_t(*axis), *n};
  }

  // The shardings of the buffer parameters, inputs first.
  Result<std::vector<Sharding>> shardings_of(const Call* call, const PrimFunc* kernel) {
    std::vector<const Type*> types;
    const auto* args = as<Tuple>(call->args[1]);
    for (std::size_t i = 0; args && i < args->items.size() && i < kernel->params.size(); ++i)
      if (kernel->params[i].buffer) types.push_back(args->items[i]->type);
    const auto* several = as<TupleType>(call->type);
    if (several)
      types.insert(types.end(), several->fields.begin(), several->fields.end());
    else
      types.push_back(call->type);
    std::vector<Sharding> out;
    for (const Type* t : types) {
      RLDB_TRY(const Sharding s, sharding_of(t, as<GlobalVar>(call->args[0])->name));
      out.push_back(s);
    }
    return out;
  }

  std::vector<const Binding*> joined(const Binding* b, const Call* part, const std::string& kind) {
    const Var* v =
        in_dataflow() ? static_cast<const Var*>(ctx_.dataflow_var("gv", part->type)) : ctx_.var("gv", part->type);
    const Binding* first = ctx_.binding(v, part);
    ctx_.set_origin(first, b);
    auto all =
        ctx_.call(op::CclAllreduce, {v},
                  {ctx_.named(op_attr::OpType, ctx_.attr(kind)), ctx_.named(op_attr::InGroup, ctx_.attr(false))});
    if (!all.ok()) return fail(std::move(all).error(), {b});
    const Call* sum = ctx_.call_typed((*all)->callee, (*all)->args, part->type, (*all)->attrs);
    ctx_.set_origin(sum, part);
    return {first, remake_binding(ctx_, b, b->var, sum)};
  }

  const Module* module_;
  ops::Legalizer kernels_;  // finds equal kernels
};

// Names of functions mentioned anywhere in the module.
std::unordered_set<std::string_view> mentioned(const Module* module) {
  std::unordered_set<std::string_view> names;
  for (const ModuleEntry& e : module->entries)
    walk(e.function, [&](const Node* n) {
      if (const auto* v = as<GlobalVar>(n)) names.insert(v->name);
      return true;
    });
  return names;
}

}  // namespace

Result<const Module*> lower_global_view_to_local_view(PassEnv& env, const Module* module, const NoOptions&) {
  ModuleBuilder builder(env.ctx, *module);
  LocalView local(env.ctx, module, builder);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const Function* made = local.rewrite_function(f);
    if (local.error) return support::Failure(*local.error);
    if (made == f) continue;
    builder.set(e.name, made);
    changed = true;
  }
  if (!changed) return module;
  const Module* made = builder.build();
  const auto names = mentioned(made);
  for (const std::string_view name : local.replaced) {
    const auto* kernel = as<PrimFunc>(made->find(name));
    if (kernel && kernel->is_private() && !names.count(name)) builder.remove(name);
  }
  return builder.build();
}

}  // namespace rldb::passes
