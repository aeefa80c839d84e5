// The bodies follow TVM's, binding by binding.
#include "passes/training/losses.h"

#include <fmt/format.h>

#include <charconv>

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
#include "rldb/support/text.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;
using support::trim;

namespace {

constexpr std::string_view kLosses =
    "`L1Loss`, `MSELoss` or `CrossEntropyLoss` with reduction=\"mean\", \"sum\" or \"none\", or the name of a function";
constexpr std::int64_t kIgnoreIndex = -100;  // TVM's default: no class has it

struct LossText {
  std::string_view name;
  std::string_view reduction = "mean";
  std::int64_t ignore_index = kIgnoreIndex;
};

std::optional<LossText> parse_loss(std::string_view text) {
  text = trim(text);
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
  LossText out{trim(text.substr(0, open))};
  if (const std::size_t dot = out.name.rfind('.'); dot != std::string_view::npos) out.name.remove_prefix(dot + 1);
  bool first = true;
  for (std::string_view item : split_items(text.substr(open + 1, text.size() - open - 2))) {
    const std::size_t eq = item.find('=');
    const std::string_view key = eq == std::string_view::npos ? "reduction" : trim(item.substr(0, eq));
    const std::string_view value = eq == std::string_view::npos ? item : trim(item.substr(eq + 1));
    if (eq == std::string_view::npos && !first) return std::nullopt;
    first = false;
    if (key == "reduction") {
      out.reduction = unquote(value);
    } else if (key == "ignore_index") {
      const auto read = std::from_chars(value.data(), value.data() + value.size(), out.ignore_index);
      if (read.ec != std::errc() || read.ptr != value.data() + value.size()) return std::nullopt;
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

bool is_loss_text(std::string_view text) { return text.find('(') != std::string_view::npos; }

Result<const Function*> loss_function(Context& ctx, std::string_view option, std::string_view text,
                                      const Type* predictions) {
  const auto loss = parse_loss(text);
  const bool known = loss && (loss->name == "L1Loss" || loss->name == "MSELoss" || loss->name == "CrossEntropyLoss");
  if (!known) return Failure(message(diag::PassOptionValue, option, kLosses, text));
  const auto* type = as<TensorType>(predictions);
  if (!type || !type->has_shape || type->shape.empty())
    return Failure(message(diag::PassUnsupported, fmt::format("`{}`", loss->name),
                           "the shape of the function's result is not known"));
  return LossBuilder(ctx, type).build(*loss);
}

}  // namespace rldb::passes
