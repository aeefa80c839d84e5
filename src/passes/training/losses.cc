// The bodies follow TVM's, binding by binding.
#include "passes/training/losses.h"

#include <fmt/format.h>

#include "rldb/ir/block_builder.h"
#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;
using pipeline::WrittenValue;
using source::message;
using support::Failure;

namespace {

constexpr std::string_view kLosses =
    "`L1Loss`, `MSELoss` or `CrossEntropyLoss` with reduction=\"mean\", \"sum\" or \"none\", or the name of a function";
constexpr std::int64_t kIgnoreIndex = -100;  // TVM's default: no class has it

struct LossText {
  std::string name;
  std::string reduction = "mean";
  std::int64_t ignore_index = kIgnoreIndex;
};

std::optional<LossText> parse_loss(const WrittenValue& written) {
  if (!written.is(WrittenValue::Kind::Call)) return std::nullopt;
  LossText out{last_part(written.text)};
  for (std::size_t i = 0; i < written.items.size(); ++i) {
    const WrittenValue& value = written.items[i];
    const std::string& key = written.keys[i];
    if (key == "reduction" || (key.empty() && i == 0)) {
      out.reduction = value.name();
    } else if (key == "ignore_index" && value.is(WrittenValue::Kind::Int)) {
      out.ignore_index = value.integer;
    } else {
      return std::nullopt;
    }
  }
  const bool known = out.reduction == "mean" || out.reduction == "sum" || out.reduction == "none";
  return known ? std::optional(out) : std::nullopt;
}

class LossBuilder {
 public:
  LossBuilder(Context& ctx, const TensorType* predictions)
      : ctx_(ctx), blocks_(ctx), type_(predictions), predictions_(ctx.var("predictions", predictions)) {}

  Result<const Function*> build(const LossText& loss) {
    blocks_.begin_scope();
    blocks_.begin_dataflow();
    if (loss.name == "CrossEntropyLoss") return cross_entropy(loss);
    targets_ = ctx_.var("targets", type_);
    RLDB_TRY(const Var* difference, emit(ctx_.call(op::Subtract, {predictions_, targets_})));
    if (loss.name == "L1Loss") return reduced(ctx_.call(op::Abs, {difference}), loss.reduction);
    return reduced(ctx_.call(op::Multiply, {difference, difference}), loss.reduction);
  }

 private:
  // One class per row: the dims except that of the classes, which is the second, or the only one.
  Result<const Function*> cross_entropy(const LossText& loss) {
    std::vector<const Expr*> dims;
    for (std::size_t i = 0; i < type_->shape.size(); ++i)
      if (i != (type_->shape.size() == 1 ? 0u : 1u)) dims.push_back(type_->shape[i]);
    targets_ = ctx_.var("targets", ctx_.tensor(dims, DType::Int(64)));
    const std::int64_t axis = type_->shape.size() <= 2 ? -1 : 1;
    RLDB_TRY(const Var* logits,
             emit(ctx_.call(op::NnLogSoftmax, {predictions_}, {ctx_.named(op_attr::Axis, ctx_.attr(axis))})));
    auto made = ctx_.call(op::NnNllLoss, {logits, targets_},
                          {ctx_.named(op_attr::Reduction, ctx_.attr(loss.reduction)),
                           ctx_.named(op_attr::IgnoreIndex, ctx_.attr(loss.ignore_index))});
    return finish(made);
  }

  Result<const Function*> reduced(const Result<const Call*>& value, std::string_view reduction) {
    if (reduction == "none") return finish(value);
    RLDB_TRY(const Var* each, emit(value));
    return finish(ctx_.call(reduction == "sum" ? op::Sum : op::Mean, {each}));
  }

  Result<const Var*> emit(const Result<const Call*>& call) {
    if (!call.ok()) return Failure(call.error());
    return blocks_.emit(*call);
  }

  Result<const Function*> finish(const Result<const Call*>& value) {
    if (!value.ok()) return Failure(value.error());
    const Var* result = blocks_.emit_output(*value);
    blocks_.end_dataflow();
    const SeqExpr* body = blocks_.end_scope(result);
    return ctx_.function(std::vector{predictions_, targets_}, body, result->type, true, {});
  }

  Context& ctx_;
  BlockBuilder blocks_;
  const TensorType* type_;
  const Var* predictions_;
  const Var* targets_ = nullptr;
};

}  // namespace

Result<const Function*> loss_function(Context& ctx, std::string_view option, const WrittenValue& written,
                                      const Type* predictions) {
  const auto loss = parse_loss(written);
  const bool known = loss && (loss->name == "L1Loss" || loss->name == "MSELoss" || loss->name == "CrossEntropyLoss");
  if (!known) return Failure(message(diag::PassOptionValue, option, kLosses, written.written));
  const auto* type = as<TensorType>(predictions);
  if (!type || !type->has_shape || type->shape.empty())
    return Failure(message(diag::PassUnsupported, fmt::format("`{}`", loss->name),
                           "the shape of the function's result is not known"));
  return LossBuilder(ctx, type).build(*loss);
}

}  // namespace rldb::passes
