// RunCodegen: functions with the attribute Codegen go to the code generator of that name. Its output is attached to the
// module, and calls of the function become R.call_dps_packed of the external one.
//
// Constants of such a function become arguments: external code gets everything it computes with from its caller, and
// the program keeps its weights in one place.
#include <algorithm>
#include <unordered_set>

#include "passes/common.h"
#include "passes/pass_functions.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/codegen.h"
#include "rldb/passes/external_module.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/source/diagnostic_byoc.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

struct Generated {
  std::vector<const Expr*> constants;  // arguments appended to those of the call
};
using GeneratedFunctions = std::unordered_map<std::string_view, Generated>;

std::string known_codegens() {
  std::string names;
  for (const CodegenInfo& c : all_codegens()) names += (names.empty() ? "`" : ", `") + std::string(c.name) + "`";
  return names;
}

// Turns the constants of a function into parameters after its own.
class ConstantLifter : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::vector<const Expr*> constants;

  const Function* run(const Function* f) {
    const Expr* body = rewrite(f->body);
    if (constants.empty()) return f;
    std::vector<const Var*> params(f->params.begin(), f->params.end());
    params.insert(params.end(), params_.begin(), params_.end());
    const Function* made = ctx_.function(params, cast<SeqExpr>(body), f->ret_type, f->is_pure, f->attrs);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const Expr* visit_expr(const Expr* e) override {
    if (!isa<Constant>(e) && !isa<MetaConstant>(e)) return Rewriter::visit_expr(e);
    const Var*& p = param_of_[e];
    if (p) return p;
    p = ctx_.var("const" + std::to_string(constants.size()), e->type);
    ctx_.set_origin(p, e);
    constants.push_back(e);
    params_.push_back(p);
    return p;
  }

 private:
  std::vector<const Var*> params_;
  std::unordered_map<const Expr*, const Var*> param_of_;
};

// The caller allocates memory for the result.
bool is_allocatable(const Type* t) {
  if (const auto* tuple = as<TupleType>(t))
    return std::all_of(tuple->fields.begin(), tuple->fields.end(), is_allocatable);
  const auto* tensor = as<TensorType>(t);
  return tensor && tensor->has_shape && !tensor->dtype.is_void();
}

class CallReplacer : public Rewriter {
 public:
  CallReplacer(Context& ctx, const GeneratedFunctions& generated) : Rewriter(ctx), generated_(generated) {}
  std::optional<source::Message> error;

 protected:
  const Expr* visit_call(const Call* call) override {
    const auto* callee = as<GlobalVar>(call->callee);
    const auto found = callee ? generated_.find(callee->name) : generated_.end();
    if (found == generated_.end()) return Rewriter::visit_call(call);
    if (!is_allocatable(call->type)) {
      if (!error) error = message(diag::CodegenOutput, callee->name, "the shape or dtype of");
      return call;
    }
    std::vector<const Expr*> args;
    for (const Expr* a : call->args) args.push_back(rewrite(a));
    args.insert(args.end(), found->second.constants.begin(), found->second.constants.end());
    const Tuple* tuple = ctx_.tuple(args);
    ctx_.set_origin(tuple, call);
    const Call* made =
        op_call(ctx_, op::CallDpsPacked, {ctx_.extern_func(callee->name), tuple}, call->type, {call->type});
    ctx_.set_origin(made, call);
    return made;
  }

 private:
  const GeneratedFunctions& generated_;
};

class CodegenRunner {
 public:
  CodegenRunner(PassEnv& env, const Module* module, const RunCodegenOptions& options)
      : env_(env), module_(module), options_(options) {}

  Result<support::Unit> find_entries() {
    for (const std::string& name : options_.entry_functions) {
      const Expr* f = module_->find(name);
      if (!f || !isa<Function>(f)) return Failure(message(diag::PassNoFunction, name));
      entries_.push_back(env_.ctx.str(name));
    }
    return support::Unit{};
  }

  Result<const Module*> run() {
    const Module* reached = entries_.empty() ? module_ : reachable_from(env_.ctx, module_, entries_);
    for (const ModuleEntry& e : reached->entries) {
      const auto* f = as<Function>(e.function);
      const Attr* codegen = f ? find_attr(f->attrs, attr_name::Codegen) : nullptr;
      if (!codegen) continue;
      support::poll();
      RLDB_TRY_VOID(generate(e.name, f, codegen->string));
    }
    if (generated_.empty()) return module_;
    RLDB_TRY(const Module* replaced, replace_calls());
    return attach_external(env_.ctx, without_unused(replaced), modules_);
  }

 private:
  static const pipeline::WrittenValue* find(const pipeline::option::Dict& items, std::string_view key) {
    const auto found = std::find_if(items.begin(), items.end(), [&](const auto& i) { return i.first == key; });
    return found == items.end() ? nullptr : &found->second;
  }

  Result<support::Unit> generate(std::string_view name, const Function* f, std::string_view wanted) {
    const pipeline::WrittenValue* stand_in = find(options_.codegens, wanted);
    const std::string_view codegen = stand_in ? std::string_view(stand_in->name()) : wanted;
    const CodegenInfo* info = find_codegen(codegen);
    if (!info)
      return Failure(message(diag::CodegenUnknown, codegen, name).with_hint("code generators: " + known_codegens()));
    if (!may_rewrite([&] { return "makes `" + std::string(name) + "` external"; })) return support::Unit{};
    RLDB_TRY(const pipeline::option::Dict options, options_of(wanted));
    ConstantLifter lifter(env_.ctx);
    const Function* lifted = lifter.run(f);
    RLDB_TRY(const Attr* made, info->run({env_, info->name, name, lifted, options}));
    modules_.push_back(made);
    generated_[name].constants = std::move(lifter.constants);
    return support::Unit{};
  }

  Result<pipeline::option::Dict> options_of(std::string_view codegen) {
    pipeline::option::Dict out;
    const pipeline::WrittenValue* given = find(options_.target_options, codegen);
    if (!given) return out;
    if (!given->is(pipeline::WrittenValue::Kind::Dict))
      return Failure(message(diag::PassOptionValue, codegen, "a dictionary", given->written));
    pipeline::assign(*given, out);
    return out;
  }

  Result<const Module*> replace_calls() {
    ModuleBuilder builder(env_.ctx, *module_);
    for (const ModuleEntry& e : module_->entries) {
      const auto* f = as<Function>(e.function);
      if (!f) continue;
      CallReplacer replacer(env_.ctx, generated_);
      const Function* made = replacer.rewrite_function(f);
      if (replacer.error) return Failure(std::move(*replacer.error));
      if (made != f) builder.set(e.name, made);
    }
    return builder.build();
  }

  // A function whose name is used as a value somewhere is kept.
  const Module* without_unused(const Module* module) {
    std::unordered_set<std::string_view> used;
    for (const ModuleEntry& e : module->entries)
      walk(e.function, [&](const Node* n) {
        if (const auto* g = as<GlobalVar>(n)) used.insert(g->name);
        return true;
      });
    ModuleBuilder builder(env_.ctx, *module);
    for (const auto& [name, generated] : generated_)
      if (!used.count(name)) builder.remove(name);
    return builder.build();
  }

  PassEnv& env_;
  const Module* module_;
  const RunCodegenOptions& options_;
  std::vector<std::string_view> entries_;
  GeneratedFunctions generated_;
  std::vector<const Attr*> modules_;
};

}  // namespace

Result<const Module*> run_codegen(PassEnv& env, const Module* module, const RunCodegenOptions& options) {
  CodegenRunner runner(env, module, options);
  RLDB_TRY_VOID(runner.find_entries());
  return runner.run();
}

}  // namespace rldb::passes
