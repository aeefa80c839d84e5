// LiftTransformParams: computations of a function with `num_input` that depend only on its weights move to a function
// of their own, `<name>_transform_params`, which is run once; the function takes its results in place of the weights.
//
// With `shared_transform` a single function `transform_params` serves several, for the computations they have in
// common. Computations without any operands (zeros) stay: they are cheap, and would only add a weight.
#include "passes/params/lift_plan.h"
#include "passes/signature/body_copier.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/op/device.h"
#include "rldb/ir/type_relation.h"
#include "rldb/passes/pass_options.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

constexpr std::string_view kTransform = "transform_params";

// Dims of weights that only an input would bind are unknown ahead of time, and so are those computed from them.
class DimForgetter : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Function* run(const Function* f) {
    const std::vector<const Var*> params(f->params.begin(), f->params.end());
    std::vector<const Var*> made;
    for (const Var* p : params) made.push_back(define_var(p, erase_unbound(ctx_, p->type, params)));
    if (made == params) return f;
    const auto* body = cast<SeqExpr>(rewrite(static_cast<const Expr*>(f->body)));
    return ctx_.function(made, body, body->body->type, f->is_pure, f->attrs);
  }

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    const Expr* value = rewrite(b->value);
    if (value == b->value || b->is_match_cast()) return default_binding(b);
    return {ctx_.binding(define_var(b->var, value->type), value)};
  }
};

// Whether the transform returns all weights in order, or none.
bool plain(const LiftPlan& plan, const std::vector<const Var*>& outputs) {
  return outputs.empty() || outputs == plan.weights();
}

// Where the types of weights mention scalar weights: reads of these from the tuple, and of what they are checked
// against, as TVM leaves them before a tuple that is returned unchanged.
std::vector<const BindingBlock*> scalar_reads(Context& ctx, const std::vector<const Var*>& weights, const Var* tuple) {
  std::vector<const Var*> mentioned;
  for (const Var* w : weights) collect_vars(w->type, mentioned);
  const std::unordered_set<const Var*> symbols(mentioned.begin(), mentioned.end());
  const auto field = [&](std::size_t i) { return *ctx.tuple_get(tuple, std::int64_t(i)); };
  VarMap own;
  std::vector<const Binding*> reads, checks;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!symbols.count(weights[i])) continue;
    reads.push_back(ctx.binding(ctx.var(weights[i]->name, weights[i]->type), field(i)));
    own[weights[i]] = reads.back()->var;
  }
  if (reads.empty()) return {};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Type* type = substitute(ctx, weights[i]->type, own);
    if (type == weights[i]->type) continue;
    const Expr* value = field(i);
    const Binding* read = ctx.binding(ctx.dataflow_var("lv", value->type), value);
    checks.push_back(read);
    checks.push_back(ctx.match_cast(ctx.dataflow_var(weights[i]->name, type), read->var, type));
  }
  return {ctx.block(reads, false), ctx.block(checks, true)};
}

// The function that is run ahead of time.
const Function* make_transform(Context& ctx, const LiftPlan& plan, const std::vector<const Var*>& outputs,
                               const std::vector<const Var*>& symbols, std::string_view name) {
  Span<NamedAttr> attrs = ctx.with_attr({}, attr_name::GlobalSymbol, ctx.attr(name));
  attrs = ctx.with_attr(attrs, attr_name::NumInput, ctx.attr(0));
  std::vector<const Expr*> fields;
  std::vector<const Binding*> bindings;
  if (!symbols.empty()) fields.push_back(ctx.shape(std::vector<const Expr*>(symbols.begin(), symbols.end())));
  for (const Var* v : outputs) {
    bindings.push_back(ctx.binding(ctx.dataflow_var(std::string(v->name) + "_output", v->type), v));
    fields.push_back(bindings.back()->var);
  }
  if (symbols.empty() && plain(plan, outputs)) {
    // Nothing is computed: return the tuple unchanged, or an empty one.
    const Function* none = ctx.function(plan.weights(), ctx.seq({}, ctx.tuple({})), ctx.void_type(), true, attrs);
    none =
        bundle_params(ctx, BodyCopier(ctx, false).copy_function(DimForgetter(ctx).run(none), attrs), 0, kModelParams);
    if (outputs.empty()) return none;
    const Var* tuple = none->params[0];
    const SeqExpr* body = ctx.seq(scalar_reads(ctx, plan.weights(), tuple), tuple);
    return ctx.function(none->params, body, tuple->type, true, attrs);
  }
  const Tuple* result = ctx.tuple(fields);
  bindings.push_back(ctx.binding(ctx.var("output_tuple", result->type), result));
  const SeqExpr* body = make_seq(ctx, {ctx.block(plan.lifted, true), ctx.block(bindings, true)}, bindings.back()->var,
                                 plan.function->body);
  const Function* made = ctx.function(plan.weights(), body, result->type, true, attrs);
  ctx.set_origin(made, plan.function);
  made = BodyCopier(ctx, false).copy_function(DimForgetter(ctx).run(made), attrs);
  made = canonicalize(ctx, bundle_params(ctx, made, 0, kModelParams));
  return derive_result(ctx, remove_dead_bindings(ctx, made));
}

// The function without the computations done ahead of time.
class RuntimeMaker : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Function* make(const LiftPlan& plan, const std::vector<const Var*>& given,
                       const std::vector<const Var*>& symbols) {
    const Function* f = plan.function;
    std::vector<const Var*> params(f->params.begin(), f->params.begin() + std::ptrdiff_t(plan.inputs));
    if (!symbols.empty()) {
      const Type* shape = ctx_.shape_type(std::vector<const Expr*>(symbols.begin(), symbols.end()));
      params.push_back(ctx_.var("vars_from_compile_time_params", shape));
    }
    params.insert(params.end(), given.begin(), given.end());
    for (const Binding* b : plan.lifted)
      if (plan.from_weights.count(b->var)) gone_.insert(b);
    const auto* body = cast<SeqExpr>(rewrite(static_cast<const Expr*>(f->body)));
    std::vector<const BindingBlock*> blocks(body->blocks.begin(), body->blocks.end());
    body = make_seq(ctx_, blocks, body->body, f->body);
    const Function* made = ctx_.function(params, body, f->ret_type, f->is_pure, f->attrs);
    ctx_.set_origin(made, f);
    return canonicalize(ctx_, made);
  }
  // The parameter that replaces a lifted variable.
  const Var* parameter(const Var* v) {
    const Var* p = ctx_.var(v->name, v->type);
    ctx_.set_origin(p, v);
    remap(v, p);
    return p;
  }
  void same(const Var* v, const Var* p) { remap(v, p); }

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    if (gone_.count(b)) return {};
    const Call* stop = as_call_of(b->value, op::BuiltinStopLiftParams);
    if (!stop || b->is_match_cast()) return default_binding(b);
    return {remake_binding(ctx_, b, define_var(b->var), rewrite(stop->args[0]))};
  }

 private:
  std::unordered_set<const Binding*> gone_;
};

const Function* make_local(Context& ctx, const LiftPlan& plan) {
  RuntimeMaker maker(ctx);
  std::vector<const Var*> given;
  const std::vector<const Var*> outputs = plan.outputs();
  const std::vector<const Var*> weights = plan.weights();
  const VarSet is_weight(weights.begin(), weights.end());
  for (const Var* v : outputs) given.push_back(is_weight.count(v) ? v : maker.parameter(v));
  return maker.make(plan, given, plan.passed_symbols(outputs, true));
}

// In the order of the shared transform's results; those that this function does not read are parameters nevertheless.
const Function* make_sharing(Context& ctx, const LiftPlan& plan, const SharedPlan& shared) {
  std::unordered_map<const Var*, std::vector<const Var*>> lifted;
  std::unordered_map<const Var*, const Var*> weight;  // by that of the first function
  const std::vector<const Var*> weights = plan.weights();
  const std::vector<const Var*> first_weights = shared.plan.weights();
  VarMap symbols;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weight[first_weights[i]] = weights[i];
    std::vector<const Var*> from, to;
    collect_vars(first_weights[i]->type, from);
    collect_vars(weights[i]->type, to);
    for (std::size_t k = 0; k < from.size(); ++k) symbols.try_emplace(from[k], to[k]);
  }
  for (const Binding* b : plan.lifted)
    if (const auto found = shared.counterpart.find(b->var); found != shared.counterpart.end())
      lifted[as<Var>(found->second)].push_back(b->var);
  RuntimeMaker maker(ctx);
  std::vector<const Var*> given;
  const std::vector<const Var*> outputs = shared.plan.outputs();
  for (const Var* v : outputs) {
    if (const auto found = weight.find(v); found != weight.end()) {
      given.push_back(found->second);
      continue;
    }
    const std::vector<const Var*>& names = lifted[v];
    given.push_back(names.empty() ? ctx.var(v->name, substitute(ctx, v->type, symbols)) : maker.parameter(names[0]));
    for (const Var* n : names) maker.same(n, given.back());
  }
  std::vector<const Var*> passed;
  for (const Var* v : shared.plan.passed_symbols(outputs, false)) {
    const auto found = symbols.find(v);
    passed.push_back(found == symbols.end() ? v : as<Var>(found->second));
  }
  return maker.make(plan, given, passed);
}

bool is_target(const ModuleEntry& e) {
  const auto* f = as<Function>(e.function);
  return f && find_attr(f->attrs, attr_name::NumInput) && !e.name.ends_with(kTransform);
}

// Functions with `num_input`: those named, or all that are not transforms themselves.
Result<std::vector<LiftPlan>> targets(const Module* module, const std::vector<std::string>& names) {
  std::vector<LiftPlan> plans;
  for (const std::string& name : names) {
    const auto* f = as<Function>(module->find(name));
    if (!f || !find_attr(f->attrs, attr_name::NumInput))
      return Failure(
          message(diag::PassOptionValue, "shared_transform", "Relax functions with the attribute `num_input`", name));
    plans.push_back(plan_lift(name, f));
  }
  for (const ModuleEntry& e : module->entries)
    if (names.empty() && is_target(e)) plans.push_back(plan_lift(e.name, cast<Function>(e.function)));
  return plans;
}

// `first`, the existing transform, followed by `second`, which takes the weights that `first` returns.
const Function* after(Context& ctx, const Function* first, const Function* second) {
  std::vector<const BindingBlock*> blocks(first->body->blocks.begin(), first->body->blocks.end());
  BodyCopier copier(ctx, false);
  const auto append = [&](const std::vector<const Binding*>& bindings, bool dataflow) {
    if (!bindings.empty()) blocks.push_back(ctx.block(bindings, dataflow));
  };
  std::vector<const Binding*> checks;
  const Expr* const made[] = {first->body->body};
  copier.put_arguments(second, made, checks);
  append(checks, false);
  for (const BindingBlock* block : second->body->blocks) {
    std::vector<const Binding*> copies;
    copier.copy_bindings(block, copies);
    append(copies, block->is_dataflow());
  }
  const Expr* result = copier.rewrite(second->body->body);
  const Function* both =
      ctx.function(first->params, ctx.seq(blocks, result), result->type, first->is_pure, first->attrs);
  return derive_result(ctx, remove_dead_bindings(ctx, canonicalize(ctx, both)));
}

Result<support::Unit> set_transform(Context& ctx, ModuleBuilder& builder, const Module* module, std::string_view name,
                                    const Function* made) {
  const auto* before = as<Function>(module->find(name));
  if (before) {
    const auto* given = as<TupleType>(before->ret_type);
    const auto* wanted = as<TupleType>(made->params[0]->type);
    if (!given || !wanted || ir::base_check(ctx, wanted, given) == ir::BaseCheck::FailL0)
      return Failure(message(diag::PassUnsupported, "`" + std::string(name) + "`",
                             "its result is not the tuple of weights of the function that it is for"));
    made = after(ctx, before, made);
  }
  builder.set(ctx.str(name), made);
  return support::Unit{};
}

}  // namespace

Result<const Module*> lift_transform_params(PassEnv& env, const Module* module,
                                            const LiftTransformParamsOptions& options) {
  const pipeline::WrittenValue& given = options.shared_transform;
  const bool for_all = given.is(pipeline::WrittenValue::Kind::Bool);
  std::vector<std::string> names;
  if (!for_all) pipeline::set(given, names);
  const bool is_shared = for_all ? given.integer != 0 : !names.empty();
  RLDB_TRY(std::vector<LiftPlan> plans, targets(module, names));
  if (plans.empty()) return module;
  Context& ctx = env.ctx;
  ModuleBuilder builder(ctx, *module);
  if (!is_shared) {
    for (const LiftPlan& p : plans) {
      const std::vector<const Var*> outputs = p.outputs();
      const std::string name = std::string(p.name) + "_" + std::string(kTransform);
      RLDB_TRY_VOID(set_transform(ctx, builder, module, name,
                                  make_transform(ctx, p, outputs, p.passed_symbols(outputs, true), name)));
      builder.set(p.name, make_local(ctx, p));
    }
    return builder.build();
  }
  RLDB_TRY(const SharedPlan shared, plan_shared(ctx, plans));
  const std::vector<const Var*> outputs = shared.plan.outputs();
  RLDB_TRY_VOID(
      set_transform(ctx, builder, module, kTransform,
                    make_transform(ctx, shared.plan, outputs, shared.plan.passed_symbols(outputs, false), kTransform)));
  for (const LiftPlan& p : plans) builder.set(p.name, make_sharing(ctx, p, shared));
  return builder.build();
}

}  // namespace rldb::passes
