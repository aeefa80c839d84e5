// The sharding rules of operators say which axis of the result an axis of an operand becomes: each axis is asked for
// alone, by the type of a call in which only this axis is divided.
#include "passes/distributed/call_on_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "passes/distributed/mesh.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_class.h"
#include "rldb/ir/placement.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kAnyMesh = "mesh[0]";  // types of results are asked for on it

// Operators whose result on the whole is a combination of their results on equal parts.
std::string_view all_reduce_of(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kRows[] = {
      {op::Matmul, "sum"}, {op::Sum, "sum"}, {op::Prod, "prod"}, {op::Max, "max"}, {op::Min, "min"}, {op::Mean, "avg"},
  };
  for (const auto& [row, kind] : kRows)
    if (row == name) return kind;
  return {};
}

class PartReader {
 public:
  PartReader(Context& ctx, const Call* call, const op::Row* row, std::string_view placement)
      : ctx_(ctx), call_(call), row_(row), out_(sharded_axis(placement).value_or(kReplica)) {}

  Result<std::string> read() {
    for (std::size_t i = 0; i < call_->args.size(); ++i)
      if (const auto* t = as<DTensorType>(call_->args[i]->type)) RLDB_TRY_VOID(read_operand(i, t));
    if (combined_ == 0) return std::string();
    if (out_ != kReplica) return refuse("an axis that it combines is divided, and so is its result");
    if (as_call_of(call_, op::Matmul) && combined_ != 2)
      return refuse("the axis that it sums over is divided in one of its operands only");
    const std::string_view kind = all_reduce_of(as<Op>(call_->callee)->name);
    const auto* t = as<DTensorType>(call_->type);
    if (kind.empty()) return refuse("its result is not one of results on parts of its operand");
    // The mean of integers is rounded.
    if (as_call_of(call_, op::Mean) && !(t && t->tensor->dtype.is_float()))
      return refuse("the mean of integers is not that of the means of parts");
    return std::string(kind);
  }

 private:
  support::Failure<source::Message> refuse(std::string why) const {
    return support::Failure(source::message(diag::PassUnsupported,
                                            fmt::format("`{}` on parts of its operands", as<Op>(call_->callee)->name),
                                            std::move(why) + ": its operands need another placement"));
  }

  Result<support::Unit> read_operand(std::size_t operand, const DTensorType* t) {
    const auto divided = sharded_axis(t->placement);
    for (int d = 0; d < t->tensor->ndim; ++d) {
      const bool is_divided = divided && *divided == d;
      const bool one = t->tensor->has_shape && is_const(t->tensor->shape[std::size_t(d)], 1);
      if (!is_divided && (out_ == kReplica || one)) continue;
      const std::int64_t to = result_axis(ctx_, call_, operand, d).value_or(kReplica);
      if (is_divided) RLDB_TRY_VOID(read_divided(d, t->tensor->ndim, to));
      if (!is_divided && to == out_ && to != kReplica)
        return refuse(fmt::format("its result is divided along axis {}, and operand {} is whole there", out_, operand));
    }
    return support::Unit{};
  }

  // The axis that the call names; without one the last.
  std::int64_t own_axis(int ndim) const {
    const auto* attr = find_attr(call_->attrs, op_attr::Axis);
    const std::int64_t axis = attr && attr->is(AttrKind::Int) ? attr->integer : -1;
    return axis < 0 ? axis + ndim : axis;
  }

  Result<support::Unit> read_divided(int axis, int ndim, std::int64_t to) {
    const op::Class c = op::class_of(row_->id);
    if (c == op::Class::Backward) return refuse("elements of other parts have a share in its result");
    if (c == op::Class::Softmax && own_axis(ndim) == axis)
      return refuse("the sum that it divides by is over an axis that is divided");
    if (as_call_of(call_, op::Flip) && own_axis(ndim) == axis)
      return refuse("it reverses an axis that is divided, so that elements move to other parts");
    if (to == kReplica)
      ++combined_;
    else if (to != out_)
      return refuse(fmt::format("its operands would divide its axis {} as well as its axis {}", to, out_));
    return support::Unit{};
  }

  Context& ctx_;
  const Call* call_;
  const op::Row* row_;
  std::int64_t out_;
  int combined_ = 0;  // operands divided along an axis that the result does not have
};

}  // namespace

std::optional<std::int64_t> result_axis(Context& ctx, const Call* call, std::size_t operand, std::int64_t axis) {
  std::vector<const Expr*> args;
  for (std::size_t i = 0; i < call->args.size(); ++i) {
    const Expr* e = call->args[i];
    const auto* dist = as<DTensorType>(e->type);
    const TensorType* tensor = dist ? dist->tensor : as<TensorType>(e->type);
    const std::string placement = placement_text({i == operand ? int(axis) : kReplica});
    args.push_back(isa<Var>(e) && tensor ? ctx.var("probe", ctx.dtensor(tensor, ctx.attr(kAnyMesh), placement)) : e);
  }
  auto made = ctx.call(CallSpec{call->callee, args, call->attrs, call->ty_args});
  const auto* out = made.ok() ? as<DTensorType>((*made)->type) : nullptr;
  return out ? sharded_axis(out->placement) : std::nullopt;
}

Result<std::string> combined_by(Context& ctx, const Call* call, std::string_view placement) {
  const auto* callee = as<Op>(call->callee);
  const op::Row* row = callee ? callee->row : nullptr;
  if (!row) return std::string();
  // These say themselves what becomes of parts.
  static constexpr op::Class kOwn[] = {op::Class::Collective, op::Class::Distribution, op::Class::Calling,
                                       op::Class::Effect, op::Class::Storage};
  if (std::find(std::begin(kOwn), std::end(kOwn), op::class_of(row->id)) != std::end(kOwn)) return std::string();
  return PartReader(ctx, call, row, placement).read();
}

}  // namespace rldb::passes
