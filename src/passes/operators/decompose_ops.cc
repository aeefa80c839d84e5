// DecomposeOpsForInference and DecomposeOpsForTraining: compound operators become simpler operators.
//
// For inference batch_norm uses the moving statistics and dropout does nothing; for training batch_norm uses those of
// the batch and returns new moving ones, and layer_norm is decomposed too. tensor_to_shape becomes a packed call whose
// result gets fresh symbolic dims.
#include "passes/operators/call_expander.h"
#include "rldb/bytecode/builtin/value.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/passes/pass_options.h"
#include "rldb/runtime/value.h"

namespace rldb::passes {

using namespace ir;

namespace {

// Builders of operators on operators: once one has refused, so do all that follow.
class Decomposer : public CallExpander {
 public:
  Decomposer(Context& ctx, bool training) : CallExpander(ctx), training_(training) {}

 protected:
  const Expr* expand(const Call* call) override {
    if (as_call_of(call, op::TensorToShape)) return tensor_to_shape(call);
    if (as_call_of(call, op::NnBatchNorm)) return training_ ? batch_norm_of_batch(call) : batch_norm(call);
    if (as_call_of(call, op::NnLayerNorm) && training_) return layer_norm(call);
    if (as_call_of(call, op::NnDropout) && !training_) return dropout(call);
    return nullptr;
  }

 private:
  const Expr* apply(std::string_view op, std::initializer_list<const Expr*> args,
                    std::initializer_list<NamedAttr> attrs = {}) {
    for (const Expr* a : args)
      if (!a) return nullptr;
    return emit(ctx_.call(op, args, attrs));
  }

  const Expr* number(double value, const Expr* like) {
    const auto* t = as<TensorType>(like->type);
    if (!t || !t->dtype.is_float()) return nullptr;
    auto tensor = runtime::Tensor::empty({}, t->dtype);
    if (!tensor.ok()) return nullptr;
    runtime::store_double((*tensor)->data(), t->dtype, value);
    return ctx_.constant(runtime::Value(*tensor));
  }

  static double real(const Call* call, std::string_view name) {
    const Attr* a = find_attr(call->attrs, name);
    return !a ? 0 : a->is(AttrKind::Float) ? a->floating : double(a->integer);
  }

  // The axes of the data except the channel axis.
  const Attr* other_axes(const Call* call) {
    const auto* t = as<TensorType>(call->args[0]->type);
    const Attr* axis = find_attr(call->attrs, op_attr::Axis);
    if (!t || t->ndim < 1 || !axis) return nullptr;
    const std::int64_t channel = axis->integer < 0 ? axis->integer + t->ndim : axis->integer;
    std::vector<std::int64_t> axes;
    for (std::int64_t i = 0; i < t->ndim; ++i)
      if (i != channel) axes.push_back(i);
    return ctx_.attr_ints(axes);
  }

  // (data - mean) / sqrt(variance + epsilon) * gamma + beta. `axes`: dims missing from the statistics; null: none.
  const Expr* normalised(const Call* call, const Expr* mean, const Expr* variance, const Attr* axes) {
    const auto wide = [&](const Expr* e) -> const Expr* {
      return axes && e ? apply(op::ExpandDims, {e}, {ctx_.named(op_attr::Axis, axes)}) : e;
    };
    const Expr* centred = apply(op::Subtract, {call->args[0], wide(mean)});
    const Expr* spread = wide(variance);
    if (!spread) return nullptr;
    spread = apply(op::Sqrt, {apply(op::Add, {spread, number(real(call, op_attr::Epsilon), spread)})});
    const Expr* out = apply(op::Divide, {centred, spread});
    if (is_set(call->attrs, op_attr::Scale)) out = apply(op::Multiply, {out, wide(call->args[1])});
    if (is_set(call->attrs, op_attr::Center)) out = apply(op::Add, {out, wide(call->args[2])});
    return out;
  }

  const Expr* tuple_of(std::initializer_list<const Expr*> fields) {
    for (const Expr* f : fields)
      if (!f) return nullptr;
    return ctx_.tuple(std::vector<const Expr*>(fields));
  }

  const Expr* batch_norm(const Call* call) {
    const Attr* axes = other_axes(call);
    const Expr* out = axes ? normalised(call, call->args[3], call->args[4], axes) : nullptr;
    return tuple_of({out, call->args[3], call->args[4]});
  }

  const Expr* batch_norm_of_batch(const Call* call) {
    const Attr* axes = other_axes(call);
    if (!axes) return nullptr;
    const NamedAttr over[] = {ctx_.named(op_attr::Axis, axes), ctx_.named(op_attr::Keepdims, ctx_.attr(false))};
    const Expr* mean = apply(op::Mean, {call->args[0]}, {over[0], over[1]});
    const Expr* variance = apply(op::Variance, {call->args[0]}, {over[0], over[1]});
    const Expr* statistics = tuple_of({normalised(call, mean, variance, axes), mean, variance});
    if (!statistics) return nullptr;
    const auto out = ctx_.tuple_get(emit_value(statistics), 0);
    if (!out.ok()) return nullptr;
    return tuple_of({emit_value(*out), moved(call, call->args[3], mean), moved(call, call->args[4], variance)});
  }

  // (1 - momentum) * old + momentum * now
  const Expr* moved(const Call* call, const Expr* old, const Expr* now) {
    const double momentum = real(call, op_attr::Momentum);
    const Expr* kept = apply(op::Multiply, {number(1 - momentum, old), old});
    const Expr* added = apply(op::Multiply, {number(momentum, old), now});
    return apply(op::Add, {kept, added});
  }

  const Expr* layer_norm(const Call* call) {
    const Attr* axes = find_attr(call->attrs, op_attr::Axes);
    if (!axes) return nullptr;
    const NamedAttr over[] = {ctx_.named(op_attr::Axis, axes), ctx_.named(op_attr::Keepdims, ctx_.attr(true))};
    const Expr* mean = apply(op::Mean, {call->args[0]}, {over[0], over[1]});
    const Expr* variance = apply(op::Variance, {call->args[0]}, {over[0], over[1]});
    const Expr* out = normalised(call, mean, variance, nullptr);
    // Statistics over axes that are not the last would be broadcast by a gamma that does not align with them.
    return out && out->type == call->type ? out : nullptr;
  }

  const Expr* dropout(const Call* call) { return tuple_of({call->args[0], apply(op::OnesLike, {call->args[0]})}); }

  const Expr* tensor_to_shape(const Call* call) {
    const auto* t = as<TensorType>(call->args[0]->type);
    const auto* shape = as<ShapeType>(call->type);
    if (!t || !shape || shape->ndim < 0) return nullptr;
    const Expr* value = emit_value(packed_shape(call));
    std::vector<const Expr*> dims;
    for (int i = 0; i < shape->ndim; ++i) dims.push_back(ctx_.var("x", ctx_.prim(DType::Int(64))));
    emit_match_cast(value, ctx_.shape_type(dims));
    return ctx_.shape(dims);
  }

  const Call* packed_shape(const Call* call) {
    const Expr* const args[] = {ctx_.extern_func(builtin::TensorToShape), call->args[0]};
    const Type* const types[] = {call->type};
    return ctx_.call_typed(ctx_.op(op::CallPurePacked), args, call->type, {}, types);
  }

  bool training_;
};

Result<const Module*> decompose(PassEnv& env, const Module* module, const pipeline::option::MaybeText& only,
                                bool training) {
  return map_functions(env, module, [&](std::string_view at, const Function* f) -> Result<const Function*> {
    if (only && at != *only) return f;
    const Function* made = Decomposer(env.ctx, training).run(f);
    return made == f ? f : refine_result(env.ctx, made);
  });
}

}  // namespace

Result<const Module*> decompose_ops_for_inference(PassEnv& env, const Module* module,
                                                  const DecomposeOpsForInferenceOptions& options) {
  return decompose(env, module, options.func_name, false);
}

Result<const Module*> decompose_ops_for_training(PassEnv& env, const Module* module,
                                                 const DecomposeOpsForTrainingOptions& options) {
  return decompose(env, module, options.func_name, true);
}

}  // namespace rldb::passes
