// Arguments that TVM's Python functions complete or rearrange, and functions that are compositions of operators.
#include "ops/arguments/python.h"

#include <algorithm>

#include "ops/arguments/attr_value.h"
#include "ops/infer/util.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/call_builtin.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_rule.h"
#include "rldb/source/diagnostic_type.h"
#include "rldb/support/text.h"

namespace rldb::ops {
namespace {

using source::message;
using support::Failure;

// The argument of a name: by keyword, or the position-th without one. -1 when it is not given.
int find_given(std::span<const CallArg> args, std::string_view name, std::size_t position) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].keyword == name) return int(i);
    if (args[i].keyword.empty() && seen++ == position) return int(i);
  }
  return -1;
}

bool is_none(const CallArg& a) { return a.attr && a.attr->is(ir::AttrKind::None); }

}  // namespace

// ---- before binding ----

// eye(n): m is n.
void form::complete_eye(ir::Context&, std::vector<CallArg>& args) {
  const int n = find_given(args, "n", 0);
  const int m = find_given(args, "m", 1);
  if (n < 0) return;
  const CallArg rows = args[std::size_t(n)];
  if (m < 0)
    args.push_back({"m", rows.expr, rows.attr});
  else if (is_none(args[std::size_t(m)]))
    args[std::size_t(m)] = {args[std::size_t(m)].keyword, rows.expr, rows.attr};
}

// attention_var_len(q, k, v, seqstart_q, max_seqlen_q): the keys' sequences default to the queries'. In Python,
// max_seqlen_q comes before seqstart_k; seven values without names are in the order of the call, as texts print it.
void form::complete_var_len(ir::Context&, std::vector<CallArg>& args) {
  const auto positional = std::count_if(args.begin(), args.end(), [](const CallArg& a) { return a.keyword.empty(); });
  if (positional == 5 || positional == 6) {
    std::size_t seen = 0;
    for (CallArg& a : args) {
      if (!a.keyword.empty()) continue;
      if (seen == 4) a.keyword = "max_seqlen_q";
      if (seen == 5) a.keyword = "seqstart_k";
      ++seen;
    }
  }
  for (const auto& [from, to] : {std::pair{"seqstart_q", "seqstart_k"}, std::pair{"max_seqlen_q", "max_seqlen_k"}}) {
    const std::size_t from_position = std::string_view(from) == "seqstart_q" ? 3 : 5;
    const int given = find_given(args, from, from_position);
    const int other = find_given(args, to, from_position + 1);
    if (given < 0 || (other >= 0 && !is_none(args[std::size_t(other)]))) continue;
    const CallArg value = args[std::size_t(given)];
    if (other >= 0)
      args[std::size_t(other)] = {args[std::size_t(other)].keyword, value.expr, value.attr};
    else
      args.push_back({to, value.expr, value.attr});
  }
}

// A lone index tensor becomes a tuple of one.
void form::wrap_indices(ir::Context& ctx, std::vector<CallArg>& args) {
  const int i = find_given(args, "indices", 1);
  if (i < 0 || !args[std::size_t(i)].expr || !ir::as<ir::TensorType>(args[std::size_t(i)].expr->type)) return;
  const Expr* one[] = {args[std::size_t(i)].expr};
  args[std::size_t(i)].expr = ctx.tuple(one);
}

// An empty list of separators means the same as none.
void form::drop_empty_separators(ir::Context&, std::vector<CallArg>& args) {
  std::erase_if(args, [](const CallArg& a) {
    const bool named = a.keyword == op_attr::AxisSeparators || a.keyword == op_attr::InputAxisSeparators;
    const bool empty = a.attr && (is_none(a) || (a.attr->is(ir::AttrKind::List) && a.attr->items.empty()));
    return named && empty;
  });
}

// ---- after binding ----

namespace {

// A size given as one number.
void repeat_size(ir::Context& ctx, std::vector<const Expr*>& args, std::size_t dims) {
  const auto* s = args.size() > 1 ? ir::as<ir::ShapeExpr>(args[1]) : nullptr;
  if (!s || s->values.size() != 1) return;
  const std::vector<const Expr*> all(dims, s->values[0]);
  args[1] = ctx.shape(all);
}

const TensorType* tensor_of(const Expr* e) {
  if (const auto* d = ir::as<ir::DTensorType>(e->type)) return d->tensor;
  return ir::as<TensorType>(e->type);
}

}  // namespace

// In a target, 0 denotes the input's own dim and -1 the rest of the elements.
Result<support::Unit> form::complete_target(ir::Context& ctx, BoundCall& call) {
  std::vector<const Expr*>& values = call.values;
  const auto* s = values.size() > 1 ? ir::as<ir::ShapeExpr>(values[1]) : nullptr;
  if (!s) return support::Unit{};
  auto fail = [&](std::string text) {
    const int at = find_given(call.args, "shape", 1);
    return Failure(message(diag::OpTypeError, call.info.name, text).with_argument(at));
  };
  Dims target(s->values.begin(), s->values.end());
  int open = -1;
  bool copies = false;
  for (std::size_t i = 0; i < target.size(); ++i) {
    copies = copies || ir::is_const(target[i], 0);
    if (!ir::is_const(target[i], -1)) continue;
    if (open >= 0) return fail("accepts at most one \"-1\" in the new shape, the given one is " + shape_text(target));
    open = int(i);
  }
  if (open < 0 && !copies) return support::Unit{};
  const TensorType* x = tensor_of(values[0]);
  if (!x) return support::Unit{};  // inference reports that the data is no tensor
  const auto have = known_dims(x);
  // A real 0: the data has no elements, or the shape of the data is not known.
  if (!have && open < 0) return support::Unit{};
  if (!have) return fail("expects the input tensor to have known shape when there is some dimension length to infer");
  Dims others;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (ir::is_const(target[i], 0)) {
      if (i >= have->size())
        return fail("a 0 in the new shape copies the input's dim, and the input has only " +
                    std::to_string(have->size()) + " dims; the given new shape is " + shape_text(target));
      target[i] = (*have)[i];
    }
    if (int(i) != open) others.push_back(target[i]);
  }
  if (open >= 0) {
    const Expr* total = ir::product(ctx, *have);
    const Expr* rest = ir::product(ctx, others);
    const auto t = ir::const_int(total), r = ir::const_int(rest);
    if (t && r && (*r == 0 || *t % *r != 0))
      return fail("expects the new shape to be convertible from the old shape: " + std::to_string(*t) +
                  " elements cannot be divided into rows of " + std::to_string(*r));
    target[std::size_t(open)] = simplify(ctx, is_one(rest) ? total : ir::floor_div(ctx, total, rest));
  }
  values[1] = ctx.shape(target);
  return support::Unit{};
}

Result<support::Unit> form::square_size(ir::Context& ctx, BoundCall& call) {
  repeat_size(ctx, call.values, 2);
  return support::Unit{};
}
Result<support::Unit> form::cubic_size(ir::Context& ctx, BoundCall& call) {
  repeat_size(ctx, call.values, 3);
  return support::Unit{};
}

// memory.view(data, shape, dtype, offset): a view without a dtype has R.null_value() for it, as in TVM; any other
// omitted argument is an empty tuple, even at the end. A list of dims is a shape; the row takes any value there, as a
// shape may also be absent: R.memory.view(x, [128]).
Result<support::Unit> form::complete_view(ir::Context& ctx, BoundCall& call) {
  constexpr std::size_t kDType = 2;
  if (call.values.size() > kDType && !call.values[kDType])
    call.values[kDType] = ctx.call_typed(ctx.op(op::NullValue), {}, ctx.any());
  for (const Expr*& e : call.values)
    if (!e) e = ctx.tuple({});
  const auto* list = call.values.size() > 1 ? ir::as<ir::Tuple>(call.values[1]) : nullptr;
  const bool dims =
      list && !list->items.empty() &&
      std::all_of(list->items.begin(), list->items.end(), [](const Expr* item) { return item->dtype().is_integral(); });
  if (dims) call.values[1] = ctx.shape(list->items);
  const auto* text = call.values.size() > kDType ? ir::as<ir::StringImm>(call.values[kDType]) : nullptr;
  const auto dtype = text ? runtime::parse_dtype(text->value) : std::nullopt;
  if (dtype) call.values[kDType] = ctx.dtype(*dtype);  // "float32"
  return support::Unit{};
}

// With a bias, attention is a separate operator.
Result<support::Unit> form::with_bias(ir::Context&, BoundCall& call) {
  if (call.values.size() == 4 && call.values[3]) call.op = op::NnAttentionBias;
  return support::Unit{};
}

// ---- functions that make several calls ----

namespace {

Result<const Expr*> make_call(ir::Context& ctx, std::string_view name, std::vector<CallArg> args) {
  RLDB_TRY(const ir::CallSpec spec, normalize_arguments(ctx, name, args));
  RLDB_TRY(const ir::Call* call, ctx.call(spec));
  return static_cast<const Expr*>(call);
}

// The values of parameters by name or position; the first `required` of them must be given.
Result<std::vector<const CallArg*>> bind(std::string_view name, std::span<const CallArg> args,
                                         std::initializer_list<std::string_view> names, std::size_t required) {
  std::vector<const CallArg*> out(names.size(), nullptr);
  std::size_t next = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::size_t at = next;
    if (!args[i].keyword.empty()) {
      at = std::size_t(std::find(names.begin(), names.end(), args[i].keyword) - names.begin());
      if (at == names.size())
        return Failure(message(diag::OpUnknownArgument, name, args[i].keyword).with_argument(int(i)));
    } else if (next++ >= names.size()) {
      return Failure(
          message(diag::OpTooManyArguments, name, support::counted(names.size(), "positional argument"), args.size())
              .with_argument(int(i)));
    }
    if (out[at]) return Failure(message(diag::OpDuplicateArgument, name, names.begin()[at]).with_argument(int(i)));
    out[at] = &args[i];
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] && is_none(*out[i])) out[i] = nullptr;
    if (!out[i] && i < required) return Failure(message(diag::OpMissingArgument, name, names.begin()[i]));
  }
  return out;
}

CallArg unnamed(const CallArg& a) { return {"", a.expr, a.attr}; }

}  // namespace

// data @ weight.T (+ bias)
Result<ir::CallSpec> form::linear(ir::Context& ctx, std::string_view name, std::span<const CallArg> args) {
  RLDB_TRY(auto p, bind(name, args, {"data", "weight", "bias", "out_dtype"}, 2));
  RLDB_TRY(const Expr* transposed, make_call(ctx, short_op::PermuteDims, {unnamed(*p[1])}));
  std::vector<CallArg> product{unnamed(*p[0]), {"", transposed, nullptr}};
  if (p[3]) product.push_back({"out_dtype", p[3]->expr, p[3]->attr});
  if (!p[2]) return normalize_arguments(ctx, short_op::Matmul, product);
  RLDB_TRY(const Expr* x, make_call(ctx, short_op::Matmul, product));
  const std::vector<CallArg> sum{{"", x, nullptr}, unnamed(*p[2])};
  return normalize_arguments(ctx, short_op::Add, sum);
}

// where(mask, full_like(x, value), x)
Result<ir::CallSpec> form::masked_fill(ir::Context& ctx, std::string_view name, std::span<const CallArg> args) {
  RLDB_TRY(auto p, bind(name, args, {"x", "mask", "value"}, 3));
  RLDB_TRY(const Expr* values, make_call(ctx, short_op::FullLike, {unnamed(*p[0]), unnamed(*p[2])}));
  const std::vector<CallArg> where{unnamed(*p[1]), {"", values, nullptr}, unnamed(*p[0])};
  return normalize_arguments(ctx, short_op::Where, where);
}

// ---- by operator ----

std::vector<CallArg> adapt_arguments(ir::Context& ctx, std::string_view full_name, std::span<const CallArg> args) {
  static constexpr op::RuleTable<void (*)(ir::Context&, std::vector<CallArg>&)> kRules{
#define RLDB_OP_ADAPT(Op, function) {op::Id::Op, form::function},
#include "rldb/ir/op/rule.def"
  };
  std::vector<CallArg> out(args.begin(), args.end());
  if (const auto adapt = kRules.find(full_name)) adapt(ctx, out);
  return out;
}

Result<support::Unit> finish_arguments(ir::Context& ctx, BoundCall& call) {
  static constexpr op::RuleTable<Result<support::Unit> (*)(ir::Context&, BoundCall&)> kRules{
#define RLDB_OP_FINISH(Op, function) {op::Id::Op, form::function},
#include "rldb/ir/op/rule.def"
  };
  const auto finish = kRules.find(call.info.name);
  return finish ? finish(ctx, call) : Result<support::Unit>(support::Unit{});
}

}  // namespace rldb::ops
