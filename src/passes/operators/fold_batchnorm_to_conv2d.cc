// FoldBatchnormToConv2D: a convolution with a constant kernel and the batch_norm after it become one convolution, whose
// kernel is scaled, and an addition.
//
// As in TVM the model is assumed not to be training: the moving statistics are used, whatever `training` says
// (DecomposeOpsForInference does the same). Stricter than TVM: a batch_norm without scale or center stays, and so does
// one over an axis other than the channels of the convolution.
#include "passes/operators/call_expander.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/conv.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/ir/op_attr/window_attr.h"
#include "rldb/ir/scalar.h"
#include "rldb/passes/rewrite_counter.h"

namespace rldb::passes {

using namespace ir;

namespace {

std::string_view text_attr(const Call* call, std::string_view name) {
  const Attr* a = find_attr(call->attrs, name);
  return a && a->is(AttrKind::String) ? a->string : std::string_view();
}

std::int64_t int_attr(const Call* call, std::string_view name) {
  const Attr* a = find_attr(call->attrs, name);
  return a ? a->integer : 0;
}

double real_attr(const Call* call, std::string_view name) {
  const Attr* a = find_attr(call->attrs, name);
  return !a ? 0 : a->is(AttrKind::Float) ? a->floating : double(a->integer);
}

class BatchnormFolder : public CallExpander {
 public:
  using CallExpander::CallExpander;

 protected:
  const Expr* expand(const Call*) override { return nullptr; }

  const Expr* expand_field(const TupleGetItem* field) override {
    const Call* norm = field->index == 0 ? call_of(field->tuple, op::NnBatchNorm) : nullptr;
    const Call* conv = norm ? call_of(norm->args[0], op::NnConv2d) : nullptr;
    if (!conv || !is_set(norm->attrs, op_attr::Scale) || !is_set(norm->attrs, op_attr::Center)) return nullptr;
    if (text_attr(conv, op_attr::OutLayout) != "NCHW" || int_attr(norm, op_attr::Axis) != 1) return nullptr;
    const Expr* weight = constant(conv->args[1]);
    const Expr* statistics[4];  // gamma, beta, mean, variance
    for (std::size_t i = 0; i < 4; ++i) statistics[i] = constant(norm->args[i + 1]);
    const auto* channels = as<TensorType>(norm->args[1]->type);
    const bool all = std::all_of(std::begin(statistics), std::end(statistics), [](const Expr* e) { return e; });
    if (!weight || !all || !channels || !channels->has_shape || channels->shape.size() != 1) return nullptr;
    if (!channels->dtype.is_float()) return nullptr;
    const Expr *one = ctx_.i64(1), *n = channels->shape[0];
    const std::string_view layout = text_attr(conv, op_attr::KernelLayout);
    const bool in_first = layout == "IOHW" && int_attr(conv, op_attr::Groups) == 1;
    if (!in_first && layout != "OIHW") return nullptr;
    if (!may_rewrite([] { return std::string("a convolution absorbs the batch_norm after it"); })) return nullptr;

    const Expr* epsilon = ctx_.float_imm(channels->dtype, real_attr(norm, op_attr::Epsilon));
    const Expr* spread = apply(op::Sqrt, {apply(op::Add, {statistics[3], epsilon})});
    const Expr* scale = apply(op::Divide, {statistics[0], spread});
    const Expr* of_kernel = in_first ? apply(op::Reshape, {scale, shape({one, n, one, one})})
                                     : apply(op::Reshape, {scale, shape({n, one, one, one})});
    const Expr* kernel = apply(op::Multiply, {weight, of_kernel});
    if (!kernel) return nullptr;
    const Expr* sum = emit(ctx_.call(CallSpec{conv->callee, std::vector{conv->args[0], kernel}, conv->attrs, {}}));
    const Expr* shift = apply(op::Subtract, {statistics[1], apply(op::Multiply, {statistics[2], scale})});
    const Expr* bias = apply(op::Reshape, {shift, shape({one, n, one, one})});
    return sum && bias ? value_or_null(ctx_.call(op::Add, {sum, bias})) : nullptr;
  }

 private:
  const Expr* constant(const Expr* e) const {
    const Expr* value = value_of(e);
    return isa<Constant>(value) || isa<MetaConstant>(value) ? value : nullptr;
  }
  const Expr* shape(std::initializer_list<const Expr*> dims) { return ctx_.shape(std::vector<const Expr*>(dims)); }

  const Expr* apply(std::string_view op, std::initializer_list<const Expr*> args) {
    for (const Expr* a : args)
      if (!a) return nullptr;
    return emit(ctx_.call(op, args));
  }
};

}  // namespace

Result<const Module*> fold_batchnorm_to_conv2d(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return is_set(f->attrs, attr_name::Primitive) ? f : BatchnormFolder(env.ctx).run(f);
  });
}

}  // namespace rldb::passes
