// SetupTrainer(loss, optimizer, loss_args, legalize): the functions a trainer runs, from a module whose function
// `backbone` takes inputs, `param_num` parameters and `state_num` states, and returns an output and the new states:
// `backbone_loss`, its gradient by the parameters `backbone_loss_adjoint`, and `optimizer`, a step of an optimizer.
//
// TVM takes the loss and the optimizer as objects; here they are texts: `MSELoss(reduction="sum")`, `SGD(0.1)`. The
// types of the loss's arguments follow from the backbone's; `loss_args`, where given, has to agree.
#include <fmt/format.h>

#include "passes/pass_functions.h"
#include "passes/training/append_loss.h"
#include "passes/training/optimizers.h"
#include "rldb/frontend/written_value.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/passes/pass_options.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;
using pipeline::WrittenValue;
using source::message;
using support::Failure;

namespace {

constexpr std::string_view kBackbone = "backbone";
constexpr std::string_view kLoss = "backbone_loss";
constexpr std::string_view kOptimizer = "optimizer";

struct Backbone {
  const Function* function = nullptr;
  std::size_t inputs = 0, params = 0, states = 0;
};

std::optional<std::int64_t> count_attr(const Module* module, std::string_view name) {
  const Attr* a = find_attr(module->attrs, name);
  if (!a) return std::nullopt;
  const auto* literal = a->is(AttrKind::Expr) ? as<IntImm>(a->node) : nullptr;
  if (!literal && !a->is(AttrKind::Int)) return std::nullopt;
  const std::int64_t n = literal ? literal->value : a->integer;
  return n >= 0 ? std::optional(n) : std::nullopt;
}

Failure<source::Message> refuse(std::string why) {
  return Failure(message(diag::PassUnsupported, fmt::format("`{}`", kBackbone), std::move(why)));
}

Result<Backbone> backbone_of(const Module* module) {
  Backbone out;
  out.function = as<Function>(module->find(kBackbone));
  if (!out.function) return Failure(message(diag::PassNoFunction, kBackbone));
  const auto params = count_attr(module, "param_num"), states = count_attr(module, "state_num");
  if (!params || !states)
    return refuse(
        "the module has no attributes `param_num` and `state_num` that say how many of its parameters are which");
  out.params = std::size_t(*params);
  out.states = std::size_t(*states);
  const std::size_t all = out.function->params.size();
  if (out.params > all || out.states > all - out.params)
    return refuse(
        fmt::format("it has {} parameters, and {} and {} of them should be parameters of the model and states", all,
                    out.params, out.states));
  out.inputs = all - out.params - out.states;
  const auto* results = as<TupleType>(out.function->ret_type);
  const std::size_t outputs = results ? results->fields.size() : 1;
  if (outputs < out.states + 1)
    return refuse(
        fmt::format("it returns {} values, and {} of them should be states after an output", outputs, out.states));
  for (std::size_t i = 0; i < out.states; ++i)
    if (results->fields[outputs - out.states + i] != out.function->params[out.inputs + out.params + i]->type)
      return refuse(fmt::format("state `{}` comes back with another type",
                                out.function->params[out.inputs + out.params + i]->name));
  return out;
}

// Checks that the types in `loss_args` are those of the loss's parameters.
Result<support::Unit> check_loss_args(Context& ctx, const WrittenValue& given, const Backbone& backbone,
                                      const Function* with_loss) {
  if (given.is(WrittenValue::Kind::None)) return support::Unit{};
  const auto wrong = [&](std::string_view part) {
    return Failure(message(diag::PassOptionValue, "loss_args", "the types of the loss's arguments", part));
  };
  if (!given.is(WrittenValue::Kind::List)) return wrong(given.written);
  const auto* results = as<TupleType>(backbone.function->ret_type);
  std::vector<const Type*> wanted{results ? results->fields[0] : backbone.function->ret_type};
  for (std::size_t i = backbone.function->params.size(); i < with_loss->params.size(); ++i)
    wanted.push_back(with_loss->params[i]->type);
  if (given.items.size() != wanted.size()) return wrong(given.written);
  std::vector<const Var*> symbols;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Type* type = frontend::read_written_type(ctx, given.items[i].written, symbols);
    // Symbolic variables differ between functions: their names do not count.
    if (!type || (type != wanted[i] && !wanted[i]->has_vars)) return wrong(given.items[i].written);
  }
  return support::Unit{};
}

}  // namespace

Result<const Module*> setup_trainer(PassEnv& env, const Module* module, const SetupTrainerOptions& options) {
  RLDB_TRY(const Backbone backbone, backbone_of(module));
  for (const auto& [name, given] : {std::pair("loss", &options.loss), std::pair("optimizer", &options.optimizer)})
    if (given->is(WrittenValue::Kind::None)) return Failure(message(diag::PassOptionValue, name, "a value", "nothing"));
  const Function* f = backbone.function;
  std::vector<const Var*> params(f->params.begin() + std::ptrdiff_t(backbone.inputs),
                                 f->params.begin() + std::ptrdiff_t(backbone.inputs + backbone.params));
  RLDB_TRY(const Optimizer step, optimizer_of(env.ctx, options.optimizer, params));
  LossRequest request;
  request.function = kBackbone;
  request.loss = options.loss;
  request.option = "loss";
  request.new_function = kLoss;
  RLDB_TRY(const Module* made, append_loss_to(env, module, request));
  RLDB_TRY_VOID(check_loss_args(env.ctx, options.loss_args, backbone, as<Function>(made->find(kLoss))));
  GradientOptions wanted;
  wanted.func_name = kLoss;
  for (const Var* p : params) wanted.require_grads.emplace_back(p->name);
  RLDB_TRY(made, gradient(env, made, wanted));

  Context& ctx = env.ctx;
  ModuleBuilder builder(ctx, *made);
  builder.set(kOptimizer, with_attr(ctx, step.function, attr_name::GlobalSymbol, ctx.attr(kOptimizer)));
  std::vector<const Attr*> states;
  for (const Constant* c : step.initial_state) states.push_back(ctx.attr(static_cast<const Expr*>(c)));
  Span<NamedAttr> attrs = ctx.with_attr(made->attrs, "input_num", ctx.attr(std::int64_t(backbone.inputs)));
  builder.set_attrs(ctx.with_attr(attrs, "optim_state", ctx.attr_list(states)));
  made = builder.build();
  return options.legalize ? legalize_ops(env, made, {}) : Result<const Module*>(made);
}

}  // namespace rldb::passes
