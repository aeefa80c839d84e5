// normalize_arguments for operators with an ordinary signature. The others are in arguments/call.cc.
#include "rldb/ops/arguments.h"

#include <algorithm>
#include <array>

#include "ops/arguments/attr_value.h"
#include "ops/arguments/python.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/op_rule.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_script_type.h"
#include "rldb/source/diagnostic_type.h"
#include "rldb/support/text.h"

namespace rldb::ops {
namespace {

using ir::Attr;
using ir::AttrKind;
using ir::Expr;
using source::message;
using support::Failure;

// Python numbers given for tensors wait until the dtype of the others is known.
struct Bound {
  const OpInfo* info;
  std::vector<const CallArg*> by_param;  // null: not given
  std::vector<const CallArg*> rest;      // taken by a variadic parameter
};

std::string known_names(const OpInfo& info, std::string_view wrong) {
  std::vector<std::string_view> names;
  for (const ParamInfo& p : info.params) names.push_back(p.name);
  std::string_view near = source::nearest(wrong, names);
  return near.empty() ? std::string() : "did you mean `" + std::string(near) + "`?";
}

int param_index(const OpInfo& info, std::string_view name) {
  for (std::size_t i = 0; i < info.params.size(); ++i)
    if (info.params[i].name == name) return int(i);
  return -1;
}

Result<Bound> bind_args(const OpInfo& info, std::span<const CallArg> args) {
  Bound b{&info, std::vector<const CallArg*>(info.params.size(), nullptr), {}};
  std::size_t next = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const CallArg& a = args[i];
    if (!a.keyword.empty()) {
      int p = param_index(info, a.keyword);
      if (p < 0)
        return Failure(message(diag::OpUnknownArgument, info.short_name(), a.keyword)
                           .with_argument(int(i))
                           .with_hint(known_names(info, a.keyword)));
      if (b.by_param[std::size_t(p)])
        return Failure(message(diag::OpDuplicateArgument, info.short_name(), a.keyword).with_argument(int(i)));
      b.by_param[std::size_t(p)] = &a;
      continue;
    }
    bool variadic = next < info.params.size() && !info.params[next].is_attr &&
                    info.args[std::size_t(info.params[next].index)].variadic;
    if (variadic) {
      b.rest.push_back(&a);
      continue;
    }
    if (next >= info.params.size() || info.params[next].keyword_only)
      return Failure(message(diag::OpTooManyArguments, info.short_name(),
                             support::counted(std::size_t(next), "positional argument"), args.size())
                         .with_argument(int(i)));
    if (b.by_param[next])
      return Failure(
          message(diag::OpDuplicateArgument, info.short_name(), info.params[next].name).with_argument(int(i)));
    b.by_param[next++] = &a;
  }
  return b;
}

bool is_none(const CallArg* a) { return a->attr && a->attr->is(AttrKind::None); }
bool is_number(const CallArg* a) {
  return a->attr && (a->attr->is(AttrKind::Int) || a->attr->is(AttrKind::Float) || a->attr->is(AttrKind::Bool));
}

const Attr* attr_of(ir::Context& ctx, const CallArg& a) {
  if (a.attr) return a.attr;
  // A float literal keeps its dtype for the attributes that need one.
  return to_attr(ctx, a.expr);
}

// dtype of the first tensor among the arguments; void when there is none.
ir::DType tensor_dtype(const Bound& b) {
  for (std::size_t p = 0; p < b.by_param.size(); ++p) {
    const CallArg* a = b.by_param[p];
    // A condition does not determine the dtype of the values.
    if (!a || !a->expr || b.info->params[p].name == "condition") continue;
    if (const auto* t = ir::as<ir::TensorType>(a->expr->type)) return t->dtype;
    if (const auto* d = ir::as<ir::DTensorType>(a->expr->type)) return d->tensor->dtype;
  }
  return ir::DType::Void();
}

const Expr* scalar_constant(ir::Context& ctx, ir::DType t, const Attr* number) {
  auto tensor = runtime::Tensor::empty({}, t);
  if (!tensor.ok()) return nullptr;
  if (number->is(AttrKind::Float))
    runtime::store_double((*tensor)->data(), t, number->floating);
  else if (t.is_float())
    runtime::store_double((*tensor)->data(), t, double(number->integer));
  else
    runtime::store_int((*tensor)->data(), t, number->integer);
  return ctx.constant(runtime::Value(*tensor));
}

// The number that a literal of Python's own dtypes (int64, float32, bool) is written as, or null.
const Attr* number_of(ir::Context& ctx, const Expr* e) {
  if (const auto* i = ir::as<ir::IntImm>(e)) {
    if (i->dtype().is_bool()) return ctx.attr(i->value != 0);
    return i->dtype() == ir::DType::Int(64) ? ctx.attr(i->value) : nullptr;
  }
  const auto* f = ir::as<ir::FloatImm>(e);
  return f && f->dtype() == ir::DType::Float(32) ? ctx.attr(f->value) : nullptr;
}

// A Python number where a tensor is expected: a scalar if its own dtype fits, else a constant of the others' dtype.
const Expr* number_as_tensor(ir::Context& ctx, ir::DType context, const Attr* number) {
  if (context.is_void())
    return number->is(AttrKind::Float) ? scalar_constant(ctx, ir::DType::Float(32), number) : to_expr(ctx, number);
  if (number->is(AttrKind::Int) && context == ir::DType::Int(64)) return ctx.i64(number->integer);
  // Nothing is truncated: inference reports that the dtypes differ.
  if (number->is(AttrKind::Float) && !context.is_float()) context = ir::DType::Float(32);
  return scalar_constant(ctx, context, number);
}

const Expr* as_prim(ir::Context& ctx, const CallArg& a) {
  const Expr* e = a.attr ? to_expr(ctx, a.attr) : a.expr;
  if (!e) return nullptr;
  return ir::isa<ir::Tuple>(e) || ir::isa<ir::StringImm>(e) || ir::isa<ir::DTypeImm>(e) ? nullptr : e;
}

bool all_integers(std::span<const Expr* const> items) {
  for (const Expr* e : items)
    if (!ir::as<ir::PrimType>(e->type) || !e->dtype().is_integral()) return false;
  return true;
}

// The first of the integers that cannot be a dim: those of Relax are int64, whatever a literal is written as.
const Expr* narrow_dim(std::span<const Expr* const> items) {
  for (const Expr* e : items)
    if (!ir::isa<ir::IntImm>(e) && e->dtype() != ir::DType::Int(64)) return e;
  return nullptr;
}

const Expr* as_shape(ir::Context& ctx, const CallArg& a) {
  const Expr* e = a.attr ? to_expr(ctx, a.attr) : a.expr;
  if (!e) return nullptr;
  if (const auto* t = ir::as<ir::Tuple>(e)) {
    if (!all_integers(t->items) || narrow_dim(t->items)) return nullptr;
    return ctx.shape(t->items);
  }
  if (const auto* i = ir::as<ir::IntImm>(e)) {
    const Expr* dims[] = {i};
    return ctx.shape(dims);
  }
  return ir::isa<ir::StringImm>(e) ? nullptr : e;
}

const Expr* as_prims(ir::Context& ctx, const CallArg& a) {
  const Expr* e = a.attr ? to_expr(ctx, a.attr) : a.expr;
  if (!e) return nullptr;
  if (ir::as<ir::PrimType>(e->type)) {
    const Expr* one[] = {e};
    return ctx.tuple(one);
  }
  if (const auto* s = ir::as<ir::ShapeExpr>(e)) return ctx.tuple(s->values);
  return ir::isa<ir::StringImm>(e) ? nullptr : e;
}

const Expr* convert_arg(ir::Context& ctx, ArgKind kind, const CallArg& a, ir::DType dtype) {
  switch (kind) {
    case ArgKind::Tensor:
      if (is_number(&a)) return number_as_tensor(ctx, dtype, a.attr);
      if (a.attr && !a.attr->is(AttrKind::Expr)) return nullptr;
      return a.attr ? to_expr(ctx, a.attr) : a.expr;
    case ArgKind::Tensors:
      if (a.attr && !a.attr->is(AttrKind::List) && !a.attr->is(AttrKind::Expr)) return nullptr;
      return a.attr ? to_expr(ctx, a.attr) : a.expr;
    case ArgKind::Shape:
      return as_shape(ctx, a);
    case ArgKind::Prim:
      return as_prim(ctx, a);
    case ArgKind::Prims:
      return as_prims(ctx, a);
    case ArgKind::String:
    case ArgKind::Any:
      return a.attr ? to_expr(ctx, a.attr) : a.expr;
    case ArgKind::DType:
      if (a.expr) return a.expr;
      if (a.attr->is(AttrKind::DType)) return ctx.dtype(a.attr->dtype);
      if (a.attr->is(AttrKind::String))
        if (auto t = runtime::parse_dtype(a.attr->string)) return ctx.dtype(*t);
      return nullptr;
  }
  return nullptr;
}

// The value of an omitted argument with a default, or null.
const Expr* default_arg(ir::Context& ctx, const ArgInfo& arg) {
  if (arg.default_text.empty()) return nullptr;
  AttrInfo as_attr{arg.name, AttrType::Any, true, false, arg.default_text};
  CallArg value;
  value.attr = default_value(ctx, as_attr);
  return convert_arg(ctx, arg.kind, value, ir::DType::Void());
}

Result<std::vector<const Expr*>> bound_args(ir::Context& ctx, const Bound& b, std::span<const CallArg> all) {
  const OpInfo& info = *b.info;
  ir::DType dtype = tensor_dtype(b);
  std::vector<const Expr*> out;
  for (std::size_t p = 0; p < info.params.size(); ++p) {
    if (info.params[p].is_attr) continue;
    const ArgInfo& arg = info.args[std::size_t(info.params[p].index)];
    const CallArg* given = b.by_param[p];
    if (arg.variadic) continue;
    if (!given || (is_none(given) && arg.optional)) {
      if (!arg.optional) return Failure(message(diag::OpMissingArgument, info.short_name(), arg.name));
      out.push_back(default_arg(ctx, arg));
      continue;
    }
    // A number among the indices is an index, not a tensor of the data's dtype.
    const bool is_index = b.info->name == op::Take && arg.name == "indices" && is_number(given);
    const Expr* e = convert_arg(ctx, is_index ? ArgKind::Prim : arg.kind, *given, dtype);
    const auto* dims = !e && given->expr && arg.kind == ArgKind::Shape ? ir::as<ir::Tuple>(given->expr) : nullptr;
    if (const Expr* dim = dims && all_integers(dims->items) ? narrow_dim(dims->items) : nullptr)
      return Failure(message(diag::DimNotInt64, ir::print_expr(dim), runtime::to_string(dim->dtype()))
                         .with_argument(int(given - all.data())));
    if (!e) {
      std::string found = given->attr ? describe(given->attr) : describe(given->expr);
      return Failure(message(diag::OpBadArgument, arg.name, info.short_name(), describe(arg.kind), found)
                         .with_argument(int(given - all.data())));
    }
    out.push_back(e);
  }
  for (const CallArg* a : b.rest) {
    const Expr* e = a->attr ? to_expr(ctx, a->attr) : a->expr;
    if (!e)
      return Failure(message(diag::OpBadArgument, "values", info.short_name(), "an expression", describe(a->attr))
                         .with_argument(int(a - all.data())));
    out.push_back(e);
  }
  return out;
}

// Optional arguments that were omitted: absent at the end, an empty tuple in the middle.
void fill_gaps(ir::Context& ctx, std::vector<const Expr*>& args) {
  while (!args.empty() && !args.back()) args.pop_back();
  for (const Expr*& e : args)
    if (!e) e = ctx.tuple({});
}

Result<std::vector<ir::NamedAttr>> bound_attrs(ir::Context& ctx, const Bound& b, std::span<const CallArg> all) {
  const OpInfo& info = *b.info;
  std::vector<ir::NamedAttr> out(info.attrs.size());
  for (std::size_t p = 0; p < info.params.size(); ++p) {
    if (!info.params[p].is_attr) continue;
    const AttrInfo& attr = info.attrs[std::size_t(info.params[p].index)];
    const CallArg* given = b.by_param[p];
    const Attr* v = nullptr;
    // None selects the default of an attribute that has one and cannot be None.
    if (!given || (is_none(given) && !attr.nullable && !attr.required)) {
      if (attr.required) return Failure(message(diag::OpMissingArgument, info.short_name(), attr.name));
      v = default_value(ctx, attr);
    } else {
      const Attr* raw = attr_of(ctx, *given);
      v = convert_attr(ctx, attr.type, attr.nullable, raw);
      if (!v)
        return Failure(message(diag::OpBadArgument, attr.name, info.short_name(), describe(attr.type), describe(raw))
                           .with_argument(int(given - all.data())));
    }
    out[std::size_t(info.params[p].index)] = {attr.name, v};
  }
  derive_attrs(info, out);
  return out;
}

Result<ir::CallSpec> normalize_unknown(ir::Context& ctx, std::string_view name, std::span<const CallArg> args) {
  std::vector<const Expr*> values;
  std::vector<ir::NamedAttr> attrs;
  std::vector<const ir::Type*> types;
  const std::string full = op::full_name(name);
  for (std::size_t i = 0; i < args.size(); ++i) {
    const CallArg& a = args[i];
    if (!a.keyword.empty()) {
      if (take_types(ctx, a, types)) continue;
      attrs.push_back(ctx.named(a.keyword, attr_of(ctx, a)));
      continue;
    }
    const Expr* e = a.attr ? to_expr(ctx, a.attr) : a.expr;
    if (!e)
      return Failure(message(diag::OpBadArgument, "#" + std::to_string(i), name, "an expression", describe(a.attr))
                         .with_argument(int(i)));
    values.push_back(e);
  }
  return ir::CallSpec{ctx.op(full), ctx.list(values), ctx.list(attrs), ctx.list(types)};
}

Result<ir::CallSpec> normalize_plain(ir::Context& ctx, const OpInfo& info, std::span<const CallArg> all) {
  // The lowered operators carry explicit types too (R.builtin.alloc_tensor(..., ty_args=...)).
  std::vector<const ir::Type*> types;
  std::vector<CallArg> args;
  for (const CallArg& a : all)
    if (!take_types(ctx, a, types)) args.push_back(a);
  RLDB_TRY(Bound b, bind_args(info, args));
  RLDB_TRY(auto values, bound_args(ctx, b, args));
  RLDB_TRY(auto attrs, bound_attrs(ctx, b, args));
  BoundCall call{info, args, std::move(values), info.name};
  RLDB_TRY_VOID(finish_arguments(ctx, call));
  fill_gaps(ctx, call.values);
  return ir::CallSpec{ctx.op(call.op), ctx.list(call.values), ctx.list(attrs), ctx.list(types)};
}

}  // namespace

// arange(end), arange(start, end), arange(start, end, step); the dtype follows the numbers.
Result<ir::CallSpec> form::arange(ir::Context& ctx, std::string_view name, std::span<const CallArg> args) {
  const OpInfo& info = *find(name);
  std::vector<CallArg> full;
  std::size_t positional = 0;
  bool has_dtype = false;
  bool has_end = false;
  bool has_step = false;
  bool is_float = false;
  for (const CallArg& a : args) {
    if (a.keyword.empty()) ++positional;
    has_dtype = has_dtype || a.keyword == "dtype" || (a.keyword.empty() && positional == 4);
    has_end = has_end || (a.keyword == "end" && !is_none(&a));
    has_step = has_step || a.keyword == "step";
    if (a.attr && a.attr->is(AttrKind::Float)) is_float = true;
    if (a.expr && a.expr->dtype().is_float()) is_float = true;
  }
  has_end = has_end || positional >= 2;
  CallArg zero{"", nullptr, ctx.attr(0)};
  CallArg one{"step", nullptr, ctx.attr(1)};
  if (!has_end) full.push_back(zero);
  for (const CallArg& a : args) {
    if (a.keyword == "dtype" && is_none(&a)) {
      has_dtype = false;
      continue;
    }
    if (a.keyword == "end" && is_none(&a)) continue;
    CallArg copy = a;
    if (!has_end && a.keyword == "start") copy.keyword = "end";
    full.push_back(copy);
  }
  if (!has_step && positional < 3) full.push_back(one);
  if (!has_dtype) full.push_back({"dtype", nullptr, ctx.attr(is_float ? ir::DType::Float(32) : ir::DType::Int(64))});
  RLDB_TRY(Bound b, bind_args(info, full));
  RLDB_TRY(auto values, bound_args(ctx, b, full));
  RLDB_TRY(auto attrs, bound_attrs(ctx, b, full));
  return ir::CallSpec{ctx.op(info.name), ctx.list(values), ctx.list(attrs), {}};
}

bool take_types(ir::Context& ctx, const CallArg& a, std::vector<const ir::Type*>& out) {
  static constexpr std::array kNames{"out_ty", "ty_args", "out_sinfo", "sinfo_args", "type_args"};
  bool named = false;
  for (std::string_view n : kNames) named = named || a.keyword == n;
  if (!named || !a.attr) return false;
  // `T.bool` is the type of a scalar here.
  const auto type_of = [&](const Attr* attr) -> const ir::Type* {
    if (attr->is(AttrKind::Type)) return attr->type;
    return attr->is(AttrKind::DType) ? ctx.prim(attr->dtype) : nullptr;
  };
  if (const ir::Type* one = type_of(a.attr)) {
    out.push_back(one);
    return true;
  }
  if (!a.attr->is(AttrKind::List)) return false;
  for (const Attr* item : a.attr->items) {
    const ir::Type* type = type_of(item);
    if (!type) return false;
    out.push_back(type);
  }
  return true;
}

Result<ir::CallSpec> normalize_arguments(ir::Context& ctx, std::string_view name, std::span<const CallArg> args) {
  const std::string_view short_name = op::short_name(name);
  const OpInfo* info = find(name);
  if (const CallForm form = info ? find_call_form(info->name) : find_function(short_name))
    return form(ctx, short_name, args);
  if (!info) return normalize_unknown(ctx, name, args);
  return normalize_plain(ctx, *info, adapt_arguments(ctx, info->name, args));
}

int written_argument(const OpInfo& info, std::span<const CallArg> args, const source::Message& m) {
  std::size_t position = 0;
  for (const ParamInfo& p : info.params) {
    const bool meant = m.attribute.empty() ? !p.is_attr && p.index == m.argument : p.name == m.attribute;
    if (!meant) {
      ++position;
      continue;
    }
    std::size_t seen = 0;
    for (std::size_t i = 0; i < args.size(); ++i)
      if (args[i].keyword == p.name || (args[i].keyword.empty() && seen++ == position)) return int(i);
    return -1;
  }
  return -1;
}

Result<ir::CallSpec> operator_call(ir::Context& ctx, std::string_view op, std::span<const ir::Expr* const> operands) {
  struct Row {
    std::string_view sign;
    op::Id id;
  };
  static constexpr Row kTable[] = {
#define RLDB_OP_SIGN(sign, Op) {sign, op::Id::Op},
#include "rldb/ir/op/rule.def"
  };
  for (const Row& row : kTable) {
    if (row.sign != op) continue;
    // Beside a tensor, a number is a constant of the tensor's dtype.
    const bool beside_tensor = std::any_of(operands.begin(), operands.end(), [](const Expr* e) {
      return ir::as<ir::TensorType>(e->type) || ir::as<ir::DTensorType>(e->type);
    });
    std::vector<CallArg> args;
    for (const Expr* e : operands) {
      const Attr* number = beside_tensor ? number_of(ctx, e) : nullptr;
      args.push_back({"", number ? nullptr : e, number});
    }
    return normalize_arguments(ctx, op::short_name(op::row(row.id).name), args);
  }
  return Failure(message(diag::UnknownOperator, op));
}

}  // namespace rldb::ops
