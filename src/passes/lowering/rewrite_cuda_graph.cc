// RewriteCUDAGraph: work that a function does only on its own memory moves to private functions, which a machine with
// CUDA graphs runs once, records, and replays. Storage is allocated once for the whole module by `cuda_graph_alloc`;
// functions share it, as they do not run at the same time. The plan of what to lift is made in cuda_graph_plan.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "passes/fusion/function_table.h"
#include "passes/lowering/cuda_graph_plan.h"
#include "rldb/bytecode/runtime_function.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/op/call_builtin.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/rewrite_counter.h"

namespace rldb::passes {

using namespace ir;

namespace {

// Lifts bindings into a function, with fresh variables.
class RegionLifter : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Function* lift(const CudaGraphRegion& region) {
    std::vector<const Var*> params;
    std::vector<const Expr*> symbols;
    for (const Var* s : region.symbols) symbols.push_back(renewed(s));
    for (const Var* v : region.inputs) params.push_back(renewed(v));
    if (!symbols.empty()) params.push_back(ctx_.var("shape_expr", ctx_.shape_type(symbols)));
    std::vector<const Binding*> bindings;
    for (const Binding* b : region.bindings) {
      const Expr* value = rewrite(b->value);
      bindings.push_back(ctx_.binding(renewed(b->var), value));
      ctx_.set_origin(bindings.back(), b);
    }
    std::vector<const Expr*> outputs;
    for (const Var* v : region.outputs) outputs.push_back(lookup(v));
    const Expr* result = ctx_.tuple(outputs);
    bindings.push_back(ctx_.binding(ctx_.var(outputs.empty() ? "_" : "gv", result->type), result));
    if (!outputs.empty()) result = bindings.back()->var;  // a value without parts is written where it is used
    const BindingBlock* const blocks[] = {ctx_.block(bindings)};
    const NamedAttr attrs[] = {ctx_.named(attr_name::ForcePure, ctx_.attr(true))};
    return ctx_.function(params, ctx_.seq(blocks, result), result->type, true, attrs);
  }

 private:
  const Var* renewed(const Var* v) {
    const Var* made = ctx_.var(v->name, rewrite_type(v->type));
    ctx_.set_origin(made, v);
    remap(v, made);
    return made;
  }
};

// The field of `cuda_graph_alloc`'s result for each storage. Functions share the largest of each rank.
struct SharedStorage {
  CudaGraphRegion region;
  std::unordered_map<const Var*, std::size_t> field;
};

std::int64_t bytes_of(const Binding* b) { return as_int(as<ShapeExpr>(as<Call>(b->value)->args[0])->values[0])->value; }

SharedStorage share_storage(const std::deque<CudaGraphRegion>& functions) {
  std::map<std::string_view, std::vector<std::vector<const Binding*>>> by_scope;
  for (std::size_t i = 0; i < functions.size(); ++i)
    for (const Binding* b : functions[i].bindings) {
      auto& lists = by_scope[as<StringImm>(as<Call>(b->value)->args[2])->value];
      lists.resize(functions.size());
      lists[i].push_back(b);
    }
  SharedStorage shared;
  for (auto& [scope, lists] : by_scope) {
    std::size_t most = 0;
    for (auto& list : lists) {
      std::stable_sort(list.begin(), list.end(),
                       [](const Binding* a, const Binding* b) { return bytes_of(a) > bytes_of(b); });
      most = std::max(most, list.size());
    }
    for (std::size_t rank = 0; rank < most; ++rank) {
      const Binding* largest = nullptr;
      for (const auto& list : lists) {
        if (rank >= list.size()) continue;
        shared.field[list[rank]->var] = shared.region.bindings.size();
        if (!largest || bytes_of(list[rank]) > bytes_of(largest)) largest = list[rank];
      }
      shared.region.bindings.push_back(largest);
      shared.region.outputs.push_back(largest->var);
    }
  }
  return shared;
}

class Launcher : public Rewriter {
 public:
  Launcher(Context& ctx, const CudaGraphPlan& plan, FunctionTable& table)
      : Rewriter(ctx), table_(table), shared_(share_storage(plan.storages)) {
    if (!shared_.region.bindings.empty())
      alloc_ = table_.add(RegionLifter(ctx_).lift(shared_.region), "cuda_graph_alloc");
    for (const CudaGraphRegion& r : plan.storages) add(r);
    for (const CudaGraphRegion& r : plan.captures) add(r);
  }

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> out;
    if (const auto launch = launches_.find(b->var); launch != launches_.end()) run(*launch->second, b, out);
    if (fields_.contains(b->var)) {
      give(b->var, out);
      return out;
    }
    if (lifted_.contains(b->var)) return out;
    for (const Binding* made : default_binding(b)) out.push_back(made);
    return out;
  }

 private:
  void add(const CudaGraphRegion& r) {
    launches_[r.bindings.front()->var] = &r;
    for (const Binding* b : r.bindings) lifted_.insert(b->var);
  }

  // Binds a variable to its field of a launch's result, at its first use.
  void give(const Var* v, std::vector<const Binding*>& out) {
    const auto field = fields_.find(v);
    if (field == fields_.end() || !given_.insert(v).second) return;
    out.push_back(ctx_.binding(v, *ctx_.tuple_get(field->second.first, std::int64_t(field->second.second))));
    ctx_.set_origin(out.back(), v);
  }

  void run(const CudaGraphRegion& region, const Binding* at, std::vector<const Binding*>& out) {
    const bool is_alloc = shared_.field.contains(region.bindings.front()->var);
    std::vector<const Expr*> args;
    const Type* type;
    if (is_alloc) {
      args = {alloc_, ctx_.i64(0)};
      type = as<FuncType>(alloc_->type)->ret;
    } else {
      std::vector<const Expr*> inputs;
      for (const Var* v : region.inputs) {
        give(v, out);
        inputs.push_back(v);
      }
      std::vector<const Expr*> symbols(region.symbols.begin(), region.symbols.end());
      if (!symbols.empty()) inputs.push_back(ctx_.shape(symbols));
      const Function* f = RegionLifter(ctx_).lift(region);
      args = {table_.add(f, std::string(region.function) + "_cuda_graph_capture"), ctx_.tuple(inputs),
              ctx_.i64(captures_++)};
      if (!symbols.empty()) args.push_back(ctx_.shape(symbols));
      std::vector<const Type*> types;
      for (const Var* v : region.outputs) types.push_back(v->type);
      type = ctx_.tuple_type(types);
    }
    const Call* call =
        op_call(ctx_, op::CallBuiltinWithCtx,
                {ctx_.extern_func(is_alloc ? runtime_function::CudaGraphAlloc : runtime_function::CudaGraphRun),
                 ctx_.tuple(args)},
                type, {type});
    ctx_.set_origin(call, at->value);
    out.push_back(bind_new(ctx_, is_void(type) ? "_" : "gv", call, at));
    const Var* result = out.back()->var;
    if (is_alloc) {
      for (const Binding* b : region.bindings) fields_[b->var] = {result, shared_.field.at(b->var)};
    } else {
      for (std::size_t i = 0; i < region.outputs.size(); ++i) fields_[region.outputs[i]] = {result, i};
    }
  }

  FunctionTable& table_;
  SharedStorage shared_;
  const GlobalVar* alloc_ = nullptr;
  std::unordered_map<const Var*, const CudaGraphRegion*> launches_;
  std::unordered_map<const Var*, std::pair<const Var*, std::size_t>> fields_;
  std::unordered_set<const Var*> lifted_;
  std::unordered_set<const Var*> given_;
  std::int64_t captures_ = 0;
};

}  // namespace

Result<const Module*> rewrite_cuda_graph(PassEnv& env, const Module* module, const RewriteCUDAGraphOptions& options) {
  if (!options.use_cuda_graph) return module;
  const CudaGraphPlan plan = plan_cuda_graph(module);
  if (plan.storages.empty() && plan.captures.empty()) return module;
  if (!may_rewrite([&] { return fmt::format("{} regions are captured", plan.captures.size()); })) return module;
  ModuleBuilder builder(env.ctx, *module);
  FunctionTable table(env.ctx, module, builder);
  Launcher launcher(env.ctx, plan, table);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const Function* made = launcher.rewrite_function(f);
    if (made != f) builder.set(e.name, made);
  }
  return builder.build();
}

}  // namespace rldb::passes
