// Gradient: reverse-mode differentiation of a function with one dataflow block by a scalar that it returns. The new
// function `<name>_adjoint` returns the function's result, and a tuple of the gradients by its parameters (or by the
// variables that `require_grads` names).
//
// Gradients through an operator without a rule, or through a call of a function, are refused by name: the gradient
// never silently lacks a term.
#include <algorithm>

#include "passes/gradient/checkpoints.h"
#include "passes/gradient/gradient_rules.h"
#include "passes/gradient/kernel_gradient.h"
#include "passes/signature/body_copier.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_class.h"
#include "rldb/passes/pass_options.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

support::Failure<source::Message> refused(std::string_view what, std::string why) {
  return Failure(message(diag::PassUnsupported, "the gradient of `" + std::string(what) + "`", std::move(why)));
}

std::string without_rule(std::string_view name) {
  const std::string_view why = op::reason(op::Column::Gradient, name);
  return "`" + std::string(name) + "` has no rule" + (why.empty() ? "" : ": " + std::string(why));
}

// Whether every tensor in it has a floating dtype.
bool is_float(const Type* t) {
  if (const auto* tensor = as<TensorType>(t)) return tensor->dtype.is_float();
  const auto* tuple = as<TupleType>(t);
  return tuple && std::all_of(tuple->fields.begin(), tuple->fields.end(), is_float);
}

// The kernels of the module, and the maker of new ones.
struct Kernels {
  const Module& module;
  ops::Legalizer legalizer;
  source::Diagnostics& diagnostics;
};

// The bindings of the backward pass.
class Backward {
 public:
  Backward(Context& ctx, const CheckpointRemover& marks, const Function* f, Kernels& kernels)
      : ctx_(ctx), marks_(marks), again_(ctx, marks, f, out_), kernels_(kernels) {}

  Result<support::Unit> run(const BindingBlock* block, const Var* target) {
    const auto* t = as<TensorType>(target->type);
    RLDB_TRY_VOID(
        set(target, *ctx_.call(op::Ones, {ctx_.shape(t->shape)}, {ctx_.named(op_attr::Dtype, ctx_.attr(t->dtype))})));
    for (std::size_t i = block->bindings.size(); i-- > 0;) {
      support::poll();
      const Binding* b = block->bindings[i];
      origin_ = b;
      if (adjoint_.count(b->var)) RLDB_TRY_VOID(visit(b));
    }
    return support::Unit{};
  }

  // The gradient by a variable, as a result; zeros where the target does not depend on it.
  Result<const Var*> result(const Var* v) {
    v = marks_.original(v);
    if (!adjoint_.count(v)) {
      const Expr* zeros = zero(v->type);
      if (!zeros) return refused(v->name, "a shape that it needs is not known");
      RLDB_TRY_VOID(set(v, zeros));
    }
    const Var* made = ctx_.var(std::string(v->name) + "_adjoint_out", adjoint_[v]->type);
    out_.push_back(ctx_.binding(made, adjoint_[v]));
    ctx_.set_origin(out_.back(), v);
    return made;
  }
  const std::vector<const Binding*>& bindings() const { return out_; }

 private:
  Result<support::Unit> visit(const Binding* b) {
    const Var* grad = adjoint_[b->var];
    if (isa<Constant>(b->value)) return support::Unit{};
    if (isa<Var>(b->value) || isa<Tuple>(b->value)) return update(b->value, grad);
    if (const auto* get = as<TupleGetItem>(b->value)) return visit_field(b, get, grad);
    const auto* call = as<Call>(b->value);
    const auto* callee = call ? as<Op>(call->callee) : nullptr;
    if (!callee)
      return refused(b->var->name, call ? "it calls a function: run InlinePrivateFunctions first"
                                        : "it is not a call of an operator");
    if (as_call_of(call, op::CallTirWithGrad)) return visit_kernel(b, grad);
    const GradientRule rule = gradient_rule(callee->name);
    if (!rule) return refused(b->var->name, without_rule(callee->name));
    const Expr* value = again_.value_of(b);
    GradientCall g(ctx_, cast<Call>(value), again_.variable_of(b, value), grad);
    const Partials partials = rule(g);
    if (!g.problem().empty()) return refused(b->var->name, "`" + std::string(callee->name) + "`: " + g.problem());
    for (std::size_t i = 0; i < partials.size(); ++i)
      if (partials[i]) RLDB_TRY_VOID(update(call->args[i], partials[i]));
    return support::Unit{};
  }

  // A kernel that names its gradient function.
  Result<support::Unit> visit_kernel(const Binding* b, const Var* grad) {
    const auto* call = cast<Call>(again_.value_of(b));
    std::vector<const Var*> grads{grad};
    if (const auto* results = as<TupleType>(grad->type)) {
      grads.clear();
      for (std::size_t i = 0; i < results->fields.size(); ++i) grads.push_back(emit(field_of(grad, i)));
    }
    RLDB_TRY(const KernelPartials made, kernel_gradient(ctx_, kernels_.module, kernels_.legalizer, call, grads));
    if (made.derived)
      kernels_.diagnostics.add(
          ctx_.span_of(b), message(diag::PassGradientDerived, gradient_name(call), as<GlobalVar>(call->args[0])->name));
    if (!made.call) return support::Unit{};
    const Var* value = emit(made.call);
    // Operands as the forward pass names them: they may be recomputed here.
    const auto* operands = as<Tuple>(cast<Call>(b->value)->args[1]);
    const auto* used = as<Tuple>(call->args[1]);
    for (std::size_t i = 0, k = 0; i < used->items.size() && k < made.operands.size(); ++i) {
      if (used->items[i] != made.operands[k]) continue;
      RLDB_TRY_VOID(update(operands->items[i], made.operands.size() == 1 ? value : field_of(value, k)));
      ++k;
    }
    return support::Unit{};
  }

  // One field of a tuple: the other fields receive no gradient from here.
  Result<support::Unit> visit_field(const Binding* b, const TupleGetItem* get, const Var* grad) {
    const auto* tuple = as<Var>(get->tuple);
    const auto* type = as<TupleType>(get->tuple->type);
    if (!tuple || !type) return refused(b->var->name, "it is a field of something that is not a variable");
    const auto known = adjoint_.find(tuple);
    std::vector<const Expr*> fields;
    for (std::size_t i = 0; i < type->fields.size(); ++i) {
      const bool here = std::int64_t(i) == get->index;
      const Expr* field = nullptr;
      if (known != adjoint_.end()) {
        field = *ctx_.tuple_get(known->second, std::int64_t(i));
        if (here) {
          RLDB_TRY(field, sum(field, grad));
        }
      } else {
        field = here ? grad : zero(type->fields[i]);
      }
      if (!field) return refused(tuple->name, "a shape that it needs is not known");
      fields.push_back(field);
    }
    return set(tuple, ctx_.tuple(fields));
  }

  // The gradient that reaches an operand is added to what it has received before.
  Result<support::Unit> update(const Expr* operand, const Expr* partial) {
    if (const auto* v = as<Var>(operand)) {
      const auto known = adjoint_.find(v);
      if (known == adjoint_.end()) return set(v, partial);
      RLDB_TRY(const Expr* total, sum(known->second, partial));
      return set(v, total);
    }
    const auto* tuple = as<Tuple>(operand);
    if (!tuple) return support::Unit{};
    if (!isa<Tuple>(partial) && !isa<Var>(partial)) partial = emit(flat(partial));
    for (std::size_t i = 0; i < tuple->items.size(); ++i) RLDB_TRY_VOID(update(tuple->items[i], field_of(partial, i)));
    return support::Unit{};
  }

  const Expr* field_of(const Expr* e, std::size_t i) {
    const auto* literal = as<Tuple>(e);
    return literal ? literal->items[i] : *ctx_.tuple_get(e, std::int64_t(i));
  }

  Result<const Expr*> sum(const Expr* a, const Expr* b) {
    const auto* tuple = as<TupleType>(a->type);
    if (!tuple) {
      RLDB_TRY(const Call* made, ctx_.call(op::Add, {a, b}));
      return made;
    }
    if (!isa<Tuple>(b) && !isa<Var>(b)) b = emit(flat(b));
    std::vector<const Expr*> fields;
    for (std::size_t i = 0; i < tuple->fields.size(); ++i) {
      RLDB_TRY(const Expr* field, sum(field_of(a, i), field_of(b, i)));
      fields.push_back(field);
    }
    return ctx_.tuple(fields);
  }

  // Null: a shape or a dtype is not known.
  const Expr* zero(const Type* t) {
    if (const auto* tensor = as<TensorType>(t)) {
      if (!tensor->has_shape || tensor->dtype.is_void()) return nullptr;
      return *ctx_.call(op::Zeros, {ctx_.shape(tensor->shape)}, {ctx_.named(op_attr::Dtype, ctx_.attr(tensor->dtype))});
    }
    const auto* tuple = as<TupleType>(t);
    if (!tuple) return nullptr;
    std::vector<const Expr*> fields;
    for (const Type* f : tuple->fields) {
      fields.push_back(zero(f));
      if (!fields.back()) return nullptr;
    }
    return ctx_.tuple(fields);
  }

  const Var* emit(const Expr* value) {
    const Var* v = ctx_.dataflow_var("lv", value->type);
    out_.push_back(ctx_.binding(v, value));
    if (origin_) ctx_.set_origin(out_.back(), origin_);
    return v;
  }

  // Flattens the expression, binding inner computations to variables, each once however often it is used.
  const Expr* flat(const Expr* e) {
    const auto leaf = [&](const Expr* item) -> const Expr* {
      const auto known = bound_.find(item);
      if (known != bound_.end()) return known->second;
      const Expr* made = flat(item);
      if (!isa<Call>(made) && !isa<TupleGetItem>(made)) return made;
      return bound_[item] = emit(made);
    };
    if (const auto* get = as<TupleGetItem>(e))
      return isa<Var>(get->tuple) ? e : *ctx_.tuple_get(leaf(get->tuple), get->index);
    const auto* call = as<Call>(e);
    const auto* tuple = as<Tuple>(e);
    if (!tuple && (!call || !isa<Op>(call->callee))) return e;
    std::vector<const Expr*> items;
    for (const Expr* item : call ? call->args : tuple->items) items.push_back(leaf(item));
    if (tuple) return ctx_.tuple(items);
    return ctx_.call_typed(call->callee, items, call->type, call->attrs, call->ty_args);
  }

  Result<support::Unit> set(const Var* v, const Expr* value) {
    const Expr* made = flat(value);
    const Var* adjoint = ctx_.dataflow_var(std::string(v->name) + "_adjoint", made->type);
    out_.push_back(ctx_.binding(adjoint, made));
    ctx_.set_origin(out_.back(), origin_ ? static_cast<const Node*>(origin_) : v);
    adjoint_[v] = adjoint;
    return support::Unit{};
  }

  Context& ctx_;
  const CheckpointRemover& marks_;
  std::vector<const Binding*> out_;
  Recomputer again_;
  Kernels& kernels_;
  std::unordered_map<const Var*, const Var*> adjoint_;
  std::unordered_map<const Expr*, const Var*> bound_;  // inner computations, as the rules make them
  const Binding* origin_ = nullptr;
};

Result<const Var*> target_of(std::string_view name, const Function* f, std::int64_t index) {
  const auto* tuple = as<Tuple>(f->body->body);
  const std::size_t count = tuple ? tuple->items.size() : 1;
  if (index < 0 || std::size_t(index) >= count)
    return Failure(message(diag::PassOptionValue, "target_index",
                           "the number of one of the function's " + std::to_string(count) + " results", index));
  const auto* target = as<Var>(tuple ? tuple->items[std::size_t(index)] : f->body->body);
  const auto* t = target ? as<TensorType>(target->type) : nullptr;
  if (!t || !t->has_shape || t->ndim != 0 || !t->dtype.is_float())
    return refused(name, "its target is not a variable of a float tensor of rank 0");
  return target;
}

// The variables with these names: parameters first, then bound variables.
Result<std::vector<const Var*>> required(const Function* f, const std::vector<std::string>& names) {
  if (names.empty()) return std::vector<const Var*>(f->params.begin(), f->params.end());
  std::unordered_map<std::string_view, const Var*> by_name;
  for (const Var* p : f->params) by_name.try_emplace(p->name, p);
  for (const BindingBlock* block : f->body->blocks)
    for (const Binding* b : block->bindings) by_name.try_emplace(b->var->name, b->var);
  std::vector<const Var*> out;
  for (const std::string& name : names) {
    const auto found = by_name.find(name);
    if (found == by_name.end() || !is_float(found->second->type))
      return Failure(message(diag::PassOptionValue, "require_grads",
                             "variables of the function that are tensors of floating dtypes", name));
    out.push_back(found->second);
  }
  return out;
}

Result<const Function*> differentiate(Context& ctx, std::string_view name, std::string_view symbol,
                                      const Function* from, const std::vector<std::string>& names, std::int64_t index,
                                      Kernels& kernels) {
  const Function* copy = BodyCopier(ctx, false).copy_function(from, from->attrs);
  RLDB_TRY(const std::vector<const Var*> wanted, required(copy, names));
  CheckpointRemover marks(ctx);
  const Function* f = marks.run(copy);
  if (f->body->blocks.size() != 1 || !f->body->blocks[0]->is_dataflow())
    return refused(name, "its body is not one dataflow block: run ConvertToDataflow first");
  RLDB_TRY(const Var* target, target_of(name, f, index));
  const BindingBlock* block = f->body->blocks[0];
  Backward back(ctx, marks, f, kernels);
  RLDB_TRY_VOID(back.run(block, target));
  std::vector<const Expr*> gradients;
  for (const Var* v : wanted) {
    RLDB_TRY(const Var* out, back.result(v));
    gradients.push_back(out);
  }
  std::vector<const Binding*> all(block->bindings.begin(), block->bindings.end());
  all.insert(all.end(), back.bindings().begin(), back.bindings().end());
  for (const Binding*& b : all)
    if (const Call* kernel = as_call_of(b->value, op::CallTirWithGrad); kernel && !b->is_match_cast())
      b = remake_binding(ctx, b, b->var, plain_call_tir(ctx, kernel));
  const Expr* const results[] = {f->body->body, ctx.tuple(gradients)};
  const Expr* result = ctx.tuple(results);
  const SeqExpr* body = make_seq(ctx, {ctx.block(all, true)}, result, f->body);
  const Span<NamedAttr> attrs = ctx.with_attr(f->attrs, attr_name::GlobalSymbol, ctx.attr(symbol));
  const Function* made = ctx.function(f->params, body, result->type, f->is_pure, attrs);
  ctx.set_origin(made, from);
  return derive_result(ctx, remove_dead_bindings(ctx, made));
}

}  // namespace

Result<const Module*> gradient(PassEnv& env, const Module* module, const GradientOptions& options) {
  const std::string& name = options.func_name;
  const auto* f = as<Function>(module->find(name));
  if (!f) return Failure(message(diag::PassOptionValue, "func_name", "a Relax function of the module", name));
  ModuleBuilder builder(env.ctx, *module);
  Kernels kernels{*module, ops::Legalizer(env.ctx, builder), env.diagnostics};
  const std::string_view symbol = builder.unique_name(env.ctx.str(name + "_adjoint"));
  RLDB_TRY(const Function* made,
           differentiate(env.ctx, name, symbol, f, options.require_grads, options.target_index, kernels));
  builder.set(symbol, made);
  return builder.build();
}

}  // namespace rldb::passes
