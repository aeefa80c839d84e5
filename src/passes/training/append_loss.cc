// AppendLoss(func_name, loss_function, num_backbone_outputs, new_func_name): creates a function that runs `func_name`,
// computes a loss from its first outputs, and returns the loss and the other outputs.
//
// TVM takes the loss as a function object; here it is the name of a function of the module, or one of TVM's losses:
// `MSELoss(reduction="sum")`, whose targets have the type of the predictions (CrossEntropyLoss: a class for each row).
#include "passes/training/append_loss.h"

#include <fmt/format.h>

#include "passes/signature/body_copier.h"
#include "passes/training/losses.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/text.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

Failure<source::Message> refuse(std::string_view what, std::string why) {
  return Failure(message(diag::PassUnsupported, fmt::format("`{}`", what), std::move(why)));
}

// The single dataflow block that is the body.
const BindingBlock* only_block(const Function* f) {
  return f->body->blocks.size() == 1 && f->body->blocks[0]->is_dataflow() ? f->body->blocks[0] : nullptr;
}

std::vector<const Expr*> outputs_of(const Function* f) {
  const auto* tuple = as<Tuple>(f->body->body);
  if (!tuple) return {f->body->body};
  return {tuple->items.begin(), tuple->items.end()};
}

// The loss in terms of the model: its first parameters are outputs of the model, the others become parameters.
class LossCopier : public Rewriter {
 public:
  using Rewriter::Rewriter;

  // Empty: it fits.
  std::string take(const Var* param, const Expr* output) {
    learn(param->type, output->type);
    const Type* wanted = rewrite_type(param->type);
    if (!is_base_of(ctx_, wanted, output->type))
      return fmt::format("its parameter `{}` is `{}`, and it would be given `{}`", param->name, print_type(wanted),
                         print_type(output->type));
    remap(param, output);
    return {};
  }
  const Var* parameter(const Var* param) { return define_var(param); }
  void copy(const BindingBlock* block, std::vector<const Binding*>& out) {
    for (const Binding* b : block->bindings)
      for (const Binding* made : visit_binding(b)) out.push_back(made);
  }

 private:
  void learn(const Type* param, const Type* given) {
    const auto *a = as<TensorType>(param), *b = as<TensorType>(given);
    if (!a || !b || !a->has_shape || !b->has_shape) return;
    for (std::size_t i = 0; i < a->shape.size() && i < b->shape.size(); ++i)
      if (const auto* v = as<Var>(a->shape[i]); v && lookup(v) == v) remap(v, b->shape[i]);
  }
};

// Variables that the result does not mention become local to the block.
class OutputHider : public Rewriter {
 public:
  OutputHider(Context& ctx, const Expr* result) : Rewriter(ctx) {
    for (const Var* v : free_vars(result)) kept_.insert(v);
  }
  std::vector<const Binding*> hidden(const std::vector<const Binding*>& bindings) {
    std::vector<const Binding*> out;
    for (const Binding* b : bindings)
      for (const Binding* made : visit_binding(b)) out.push_back(made);
    return out;
  }

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    if (b->var->is_dataflow() || kept_.count(b->var)) return default_binding(b);
    const Expr* value = rewrite(b->value);
    const Var* v = ctx_.dataflow_var(b->var->name, rewrite_type(b->var->type));
    ctx_.set_origin(v, b->var);
    remap(b->var, v);
    return {remake_binding(ctx_, b, v, value)};
  }

 private:
  std::unordered_set<const Var*> kept_;
};

Result<const Function*> joined(Context& ctx, const LossRequest& request, const Function* model, const Function* loss) {
  const std::string_view name = request.function;
  const std::size_t count = request.outputs;
  const BindingBlock *block = only_block(model), *loss_block = only_block(loss);
  if (!block) return refuse(name, "its body is not one dataflow block");
  if (!loss_block) return refuse(request.option, "its body is not one dataflow block");
  const std::vector<const Expr*> outputs = outputs_of(model);
  if (count > outputs.size() || count > loss->params.size())
    return refuse(name, fmt::format("it returns {} and the loss takes {}, so {} cannot be passed on",
                                    support::counted(outputs.size(), "value"), loss->params.size(), count));
  LossCopier copier(ctx);
  for (std::size_t i = 0; i < count; ++i)
    if (std::string why = copier.take(loss->params[i], outputs[i]); !why.empty()) return refuse(request.option, why);
  std::vector<const Var*> params(model->params.begin(), model->params.end());
  for (std::size_t i = count; i < loss->params.size(); ++i) params.push_back(copier.parameter(loss->params[i]));
  std::vector<const Binding*> bindings(block->bindings.begin(), block->bindings.end());
  copier.copy(loss_block, bindings);
  std::vector<const Expr*> results{copier.rewrite(loss->body->body)};
  if (!isa<Var>(results[0])) return refuse(request.option, "it gives more than one value");
  results.insert(results.end(), outputs.begin() + std::ptrdiff_t(count), outputs.end());
  const Expr* result = results.size() == 1 ? results[0] : ctx.tuple(results);
  bindings = OutputHider(ctx, result).hidden(bindings);
  const SeqExpr* body = make_seq(ctx, {ctx.block(bindings, true)}, result, model->body);
  const Span<NamedAttr> attrs = ctx.with_attr(model->attrs, attr_name::GlobalSymbol, ctx.attr(request.new_function));
  const Function* made = ctx.function(params, body, result->type, model->is_pure, attrs);
  ctx.set_origin(made, model);
  return BodyCopier(ctx, false).copy_function(made, attrs);
}

}  // namespace

Result<const Module*> append_loss_to(PassEnv& env, const Module* module, const LossRequest& request) {
  const auto* model = as<Function>(module->find(request.function));
  if (!model) return Failure(message(diag::PassNoFunction, request.function));
  const Function* loss = nullptr;
  if (request.loss.is(pipeline::WrittenValue::Kind::Call)) {
    RLDB_TRY(loss, loss_function(env.ctx, request.option, request.loss, outputs_of(model)[0]->type));
  } else {
    loss = as<Function>(module->find(request.loss.name()));
    if (!loss) return Failure(message(diag::PassNoFunction, request.loss.name()));
  }
  RLDB_TRY(const Function* made, joined(env.ctx, request, model, loss));
  ModuleBuilder builder(env.ctx, *module);
  builder.set(env.ctx.str(request.new_function), made);
  return builder.build();
}

Result<const Module*> append_loss(PassEnv& env, const Module* module, const AppendLossOptions& options) {
  const bool has_loss = !options.loss_function.is(pipeline::WrittenValue::Kind::None);
  if (!options.func_name || !has_loss)
    return Failure(
        message(diag::PassOptionValue, options.func_name ? "loss_function" : "func_name", "a value", "nothing"));
  const std::int64_t outputs = options.num_backbone_outputs;
  if (outputs < 1) return Failure(message(diag::PassOptionValue, "num_backbone_outputs", "a number from 1", outputs));
  LossRequest request;
  request.function = *options.func_name;
  request.loss = options.loss_function;
  request.option = "loss_function";
  request.outputs = std::size_t(outputs);
  request.new_function = options.new_func_name.value_or(request.function + "_loss");
  return append_loss_to(env, module, request);
}

}  // namespace rldb::passes
