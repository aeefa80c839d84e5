// LazyGetInput and LazySetOutput: a function fetches each weight when it needs it, and hands over each output as soon
// as it has it, through two functions passed to it: fget_param(index, name) and fset_output(index, value).
//
// Both apply to public functions. Dataflow blocks in them become plain: the calls have effects.
#include <fmt/format.h>

#include <set>
#include <string_view>

#include "passes/params/late_params.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

const FuncType* callback(Context& ctx, const Type* result, bool pure) {
  const Type* const params[] = {ctx.int64(), ctx.any()};
  return ctx.func_type(params, result, pure);
}

Span<NamedAttr> with_inputs(Context& ctx, const Function* f, std::size_t count) {
  return ctx.with_attr(f->attrs, attr_name::NumInput, ctx.attr(std::int64_t(count)));
}

class LazyInput : public LateParams {
 public:
  using LateParams::LateParams;

  const Function* run(const Function* f) {
    const std::size_t inputs = find_attr(f->attrs, attr_name::NumInput) ? input_count(f) : 0;
    getter_ = ctx_.var("fget_param", callback(ctx_, ctx_.any(), true));
    std::vector<const Var*> params(f->params.begin(), f->params.begin() + std::ptrdiff_t(inputs));
    params.push_back(getter_);
    const SeqExpr* body = rewrite_body(f, inputs, true);
    const Type* result = erase_unbound(ctx_, f->ret_type, params);
    const Function* made = ctx_.function(params, body, result, f->is_pure, with_inputs(ctx_, f, inputs + 1));
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const Var* fetch(const Var* param, std::size_t index, bool dataflow, std::vector<const Binding*>& out) override {
    const Expr* const args[] = {ctx_.i64(std::int64_t(index)), ctx_.string(param->name)};
    const Call* call = ctx_.call_typed(getter_, args, ctx_.any());
    const Var* untyped = variable(std::string(param->name) + "_untyped", ctx_.any(), dataflow);
    out.push_back(ctx_.binding(untyped, call));
    const Type* type = rewrite_type(param->type);
    const Var* v = variable(param->name, type, dataflow);
    out.push_back(ctx_.match_cast(v, untyped, type));
    for (const Binding* b : {out[out.size() - 2], out.back()}) ctx_.set_origin(b, param);
    return v;
  }

 private:
  const Var* getter_ = nullptr;
};

class LazyOutput : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Function* run(const Function* f) {
    f = without_dataflow(ctx_, f);
    setter_ = ctx_.var("fset_output", callback(ctx_, ctx_.void_type(), false));
    const Expr* result = f->body->body;
    if (const auto* tuple = as<Tuple>(result))
      for (std::size_t i = 0; i < tuple->items.size(); ++i) add_output(tuple->items[i], i);
    else
      add_output(result, 0);
    std::vector<const Binding*> first, last;
    for (const Var* p : f->params) hand_out(p, first);
    std::vector<const BindingBlock*> blocks{ctx_.block(first)};
    for (const BindingBlock* b : f->body->blocks) blocks.push_back(visit_block(b));
    for (const auto& [index, value] : others_) last.push_back(set_call(index, value));
    blocks.push_back(ctx_.block(last));
    const SeqExpr* body = make_seq(ctx_, blocks, ctx_.tuple({}), f->body);
    const bool counted = find_attr(f->attrs, attr_name::NumInput) != nullptr;
    const std::size_t inputs = input_count(f);
    std::vector<const Var*> params(f->params.begin(), f->params.end());
    params.insert(params.begin() + std::ptrdiff_t(inputs), setter_);
    Span<NamedAttr> attrs = counted ? with_inputs(ctx_, f, inputs + 1) : f->attrs;
    attrs = ctx_.with_attr(attrs, attr_name::ForcePure, nullptr);
    const Function* made = ctx_.function(params, body, ctx_.void_type(), false, attrs);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  // A variable bound in a branch is not an output: its scope ends with the branch.
  const Expr* visit_expr(const Expr* e) override { return e; }
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> out{b};
    hand_out(b->var, out);
    return out;
  }

 private:
  void add_output(const Expr* value, std::size_t index) {
    if (const auto* v = as<Var>(value))
      outputs_[v].push_back(index);
    else
      others_.emplace_back(index, value);
  }
  void hand_out(const Var* v, std::vector<const Binding*>& out) {
    const auto found = outputs_.find(v);
    if (found == outputs_.end()) return;
    for (const std::size_t index : found->second) out.push_back(set_call(index, v));
  }
  const Binding* set_call(std::size_t index, const Expr* value) {
    const Expr* const args[] = {ctx_.i64(std::int64_t(index)), value};
    return bind_new(ctx_, "_void", ctx_.call_typed(setter_, args, ctx_.void_type()), value);
  }

  const Var* setter_ = nullptr;
  std::unordered_map<const Var*, std::vector<std::size_t>> outputs_;
  std::vector<std::pair<std::size_t, const Expr*>> others_;
};

bool is_public(const Function* f) { return find_attr(f->attrs, attr_name::GlobalSymbol) != nullptr; }

}  // namespace

// Functions that others name: their callers would pass the old arguments.
static std::set<std::string_view> named_functions(const Module* module) {
  std::set<std::string_view> out;
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<Function>(e.function))
      walk(f->body, [&](const Node* n) {
        if (const auto* g = as<GlobalVar>(n)) out.insert(g->name);
        return true;
      });
  return out;
}

template <class Change>
static Result<const Module*> change_public(PassEnv& env, const Module* module, Change change) {
  const std::set<std::string_view> named = named_functions(module);
  return map_functions(env, module, [&](std::string_view name, const Function* f) -> Result<const Function*> {
    const Function* made = is_public(f) ? change(f) : f;
    if (made != f && named.contains(name))
      return Failure(message(diag::PassUnsupported, fmt::format("`{}`", name),
                             "another function of the module names it, and would pass the old arguments"));
    return made;
  });
}

Result<const Module*> lazy_get_input(PassEnv& env, const Module* module, const NoOptions&) {
  return change_public(env, module, [&](const Function* f) { return LazyInput(env.ctx).run(f); });
}

Result<const Module*> lazy_set_output(PassEnv& env, const Module* module, const NoOptions&) {
  return change_public(env, module, [&](const Function* f) { return LazyOutput(env.ctx).run(f); });
}

}  // namespace rldb::passes
