// Arguments of the operators with a form of their own: call_tir and its kin, closures, print, assert_op.
#include "ops/arguments/call.h"

#include "ops/arguments/attr_value.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/op_rule.h"
#include "rldb/source/diagnostic_type.h"
#include "rldb/support/text.h"

namespace rldb::ops {
namespace {

using ir::Attr;
using ir::AttrKind;
using ir::Expr;
using source::message;
using support::Failure;

const Expr* expr_of(ir::Context& ctx, const CallArg& a) { return a.attr ? to_expr(ctx, a.attr) : a.expr; }

// The parts of such a call, taken apart by keyword.
struct Parts {
  std::vector<const CallArg*> positional;
  std::vector<const CallArg*> keywords;
  std::vector<const ir::Type*> types;

  const CallArg* take(std::string_view name) {
    for (const CallArg*& k : keywords)
      if (k && k->keyword == name) return std::exchange(k, nullptr);
    return nullptr;
  }
};

Parts take_apart(ir::Context& ctx, std::span<const CallArg> args) {
  Parts p;
  for (const CallArg& a : args) {
    if (a.keyword.empty())
      p.positional.push_back(&a);
    else if (!take_types(ctx, a, p.types))
      p.keywords.push_back(&a);
  }
  return p;
}

Result<support::Unit> no_more_keywords(std::string_view name, const Parts& p, const CallArg* first) {
  for (const CallArg* k : p.keywords)
    if (k) return Failure(message(diag::OpUnknownArgument, name, k->keyword).with_argument(int(k - first)));
  return support::Unit{};
}

Result<const Expr*> need(ir::Context& ctx, std::string_view name, const CallArg* a, std::string_view what,
                         const CallArg* first) {
  if (!a) return Failure(message(diag::OpMissingArgument, name, what));
  const Expr* e = expr_of(ctx, *a);
  if (!e)
    return Failure(
        message(diag::OpBadArgument, what, name, "an expression", describe(a->attr)).with_argument(int(a - first)));
  return e;
}

// A packed function's name is its ExternFunc.
const Expr* as_function(ir::Context& ctx, const Expr* e) {
  const auto* s = ir::as<ir::StringImm>(e);
  return s ? static_cast<const Expr*>(ctx.extern_func(s->value)) : e;
}

const CallArg* pick(Parts& p, std::size_t index, std::string_view keyword) {
  return index < p.positional.size() ? p.positional[index] : p.take(keyword);
}

const Expr* as_tuple(ir::Context& ctx, const Expr* e) {
  if (ir::as<ir::TupleType>(e->type)) return e;
  const Expr* one[] = {e};
  return ctx.tuple(one);
}

// OLD texts pass the scalars of call_tir as a shape of their own; they are ordinary arguments since 2026.
const Expr* append_tir_vars(ir::Context& ctx, const Expr* args, const Expr* vars) {
  const auto* t = ir::as<ir::Tuple>(args);
  const auto* s = ir::as<ir::ShapeExpr>(vars);
  ir::Span<const Expr*> extra;
  if (s) extra = s->values;
  if (const auto* v = ir::as<ir::Tuple>(vars)) extra = v->items;
  if (!t || extra.empty()) return args;
  std::vector<const Expr*> items(t->items.begin(), t->items.end());
  items.insert(items.end(), extra.begin(), extra.end());
  return ctx.tuple(items);
}

// RFC 0089: call_tir(f, (x,), (m, k), dtype="float32").
const ir::Type* type_of_shape(ir::Context& ctx, const Expr* shape, const CallArg* dtype) {
  ir::DType t = ir::DType::Void();
  if (dtype && dtype->attr && dtype->attr->is(AttrKind::String))
    t = runtime::parse_dtype(dtype->attr->string).value_or(ir::DType::Void());
  if (dtype && dtype->attr && dtype->attr->is(AttrKind::DType)) t = dtype->attr->dtype;
  ir::Span<const Expr*> dims;
  if (const auto* tuple = ir::as<ir::Tuple>(shape))
    dims = tuple->items;
  else if (const auto* s = ir::as<ir::ShapeExpr>(shape))
    dims = s->values;
  else if (ir::as<ir::ShapeType>(shape->type))
    return ctx.tensor_of(shape, ir::as<ir::ShapeType>(shape->type)->ndim, t);
  else
    return nullptr;
  return ctx.tensor(dims, t);
}

const ir::Type* one_type(ir::Context& ctx, const std::vector<const ir::Type*>& types) {
  return types.size() == 1 ? types[0] : ctx.tuple_type(types);
}

// A call of a function that writes its outputs; `by_name`: the function may be written as a string.
Result<ir::CallSpec> destination_passing(ir::Context& ctx, std::string_view name, std::span<const CallArg> all,
                                         bool by_name) {
  Parts p = take_apart(ctx, all);
  RLDB_TRY(const Expr* func, need(ctx, name, pick(p, 0, "func"), "func", all.data()));
  if (by_name) func = as_function(ctx, func);
  RLDB_TRY(const Expr* args, need(ctx, name, pick(p, 1, "args"), "args", all.data()));
  args = as_tuple(ctx, args);
  std::size_t next = 2;
  // out_ty by position, or RFC's shape.
  if (p.types.empty() && p.positional.size() > next) {
    const CallArg* a = p.positional[next++];
    CallArg named{"out_ty", a->expr, a->attr};
    if (!take_types(ctx, named, p.types)) {
      const Expr* shape = expr_of(ctx, *a);
      const ir::Type* t = shape ? type_of_shape(ctx, shape, p.take("dtype")) : nullptr;
      if (!t)
        return Failure(
            message(diag::OpBadArgument, "out_ty", name, "a type", a->attr ? describe(a->attr) : describe(a->expr))
                .with_argument(int(a - all.data())));
      p.types.push_back(t);
    }
  }
  if (const CallArg* shape = p.take("shape"); shape && p.types.empty()) {
    const Expr* s = expr_of(ctx, *shape);
    if (const ir::Type* t = s ? type_of_shape(ctx, s, p.take("dtype")) : nullptr) p.types.push_back(t);
  }
  if (p.types.empty()) return Failure(message(diag::OpMissingArgument, name, "out_ty"));
  if (const CallArg* vars = p.take("tir_vars"))
    if (const Expr* v = expr_of(ctx, *vars)) args = append_tir_vars(ctx, args, v);

  const OpInfo* info = find(name);
  std::vector<ir::NamedAttr> attrs;
  for (const AttrInfo& a : info->attrs) {
    const CallArg* given = p.take(a.name);
    if (!given && p.positional.size() > next) given = p.positional[next++];
    if (!given && a.required) return Failure(message(diag::OpMissingArgument, name, a.name));
    const Attr* v = given ? (given->attr ? given->attr : to_attr(ctx, given->expr)) : default_value(ctx, a);
    const Attr* c = convert_attr(ctx, a.type, a.nullable, v);
    if (!c) return Failure(message(diag::OpBadArgument, a.name, name, describe(a.type), describe(v)));
    attrs.push_back({a.name, c});
  }
  RLDB_TRY_VOID(no_more_keywords(name, p, all.data()));
  if (p.positional.size() > next)
    return Failure(message(diag::OpTooManyArguments, name, support::counted(std::size_t(next), "positional argument"),
                           p.positional.size()));
  const ir::Type* out = one_type(ctx, p.types);
  return ir::CallSpec{ctx.op(info->name), ctx.list<const Expr*>({func, args}), ctx.list(attrs),
                      ctx.list<const ir::Type*>({out})};
}

Result<std::vector<const Expr*>> rest_of(ir::Context& ctx, std::string_view name, const Parts& p, std::size_t from,
                                         const CallArg* first) {
  std::vector<const Expr*> out;
  for (std::size_t i = from; i < p.positional.size(); ++i) {
    RLDB_TRY(const Expr* e, need(ctx, name, p.positional[i], "args", first));
    out.push_back(e);
  }
  return out;
}

// A function and the tuple of its arguments.
Result<ir::CallSpec> with_tuple(ir::Context& ctx, std::string_view name, std::span<const CallArg> all,
                                std::string_view function_keyword, bool by_name) {
  Parts p = take_apart(ctx, all);
  RLDB_TRY(const Expr* func, need(ctx, name, pick(p, 0, function_keyword), "func", all.data()));
  RLDB_TRY(const Expr* args, need(ctx, name, pick(p, 1, "args"), "args", all.data()));
  if (by_name) func = as_function(ctx, func);
  RLDB_TRY_VOID(no_more_keywords(name, p, all.data()));
  return ir::CallSpec{
      ctx.op(op::full_name(name)), ctx.list<const Expr*>({func, as_tuple(ctx, args)}), {}, ctx.list(p.types)};
}

// A format and the values for it, after `args`. The text has the format last.
Result<ir::CallSpec> with_format(ir::Context& ctx, std::string_view name, std::span<const CallArg> all, Parts& p,
                                 std::vector<const Expr*> args, std::string_view values_keyword) {
  const std::size_t first = args.size();
  const CallArg* format = p.take("format");
  const Expr* text = format ? expr_of(ctx, *format) : ctx.string("");
  if (!text || !ir::isa<ir::StringImm>(text))
    return Failure(message(diag::OpBadArgument, "format", name, "a string",
                           format->attr ? describe(format->attr) : describe(format->expr)));
  args.push_back(text);
  RLDB_TRY(auto rest, rest_of(ctx, name, p, std::min(first, p.positional.size()), all.data()));
  if (const CallArg* values = p.take(values_keyword))
    if (const Expr* e = expr_of(ctx, *values)) rest.push_back(e);
  for (const Expr* e : rest) {
    const auto* t = ir::as<ir::Tuple>(e);
    // A Python list of values is flattened.
    if (t && rest.size() == 1)
      args.insert(args.end(), t->items.begin(), t->items.end());
    else
      args.push_back(e);
  }
  RLDB_TRY_VOID(no_more_keywords(name, p, all.data()));
  return ir::CallSpec{ctx.op(op::full_name(name)), ctx.list(args), {}, {}};
}

}  // namespace

namespace form {

Result<ir::CallSpec> call_dps(ir::Context& ctx, std::string_view name, std::span<const CallArg> all) {
  return destination_passing(ctx, name, all, false);
}
Result<ir::CallSpec> call_dps_by_name(ir::Context& ctx, std::string_view name, std::span<const CallArg> all) {
  return destination_passing(ctx, name, all, true);
}
// The operator is call_tir; its output type makes it distributed.
Result<ir::CallSpec> dist_call_tir(ir::Context& ctx, std::string_view, std::span<const CallArg> all) {
  return destination_passing(ctx, short_op::CallTir, all, true);
}

// call_packed: the packed function is the callee itself.
Result<ir::CallSpec> call_packed(ir::Context& ctx, std::string_view name, std::span<const CallArg> all) {
  Parts p = take_apart(ctx, all);
  RLDB_TRY(const Expr* func, need(ctx, name, pick(p, 0, "func"), "func", all.data()));
  func = as_function(ctx, func);
  RLDB_TRY(auto args, rest_of(ctx, name, p, 1, all.data()));
  std::vector<ir::NamedAttr> attrs;
  for (const CallArg* k : p.keywords)
    if (k) attrs.push_back(ctx.named(k->keyword, k->attr ? k->attr : to_attr(ctx, k->expr)));
  return ir::CallSpec{func, ctx.list(args), ctx.list(attrs), ctx.list(p.types)};
}

// call_pure_packed, call_inplace_packed: an operator with the packed function as first argument.
Result<ir::CallSpec> call_packed_op(ir::Context& ctx, std::string_view name, std::span<const CallArg> all) {
  Parts p = take_apart(ctx, all);
  RLDB_TRY(const Expr* func, need(ctx, name, pick(p, 0, "func"), "func", all.data()));
  RLDB_TRY(auto args, rest_of(ctx, name, p, 1, all.data()));
  args.insert(args.begin(), as_function(ctx, func));
  std::vector<ir::NamedAttr> attrs;
  for (const CallArg* k : p.keywords) {
    if (!k) continue;
    const Attr* v = k->attr ? k->attr : to_attr(ctx, k->expr);
    if (k->keyword == "inplace_indices")
      if (const Attr* ints = convert_attr(ctx, AttrType::Ints, false, v)) v = ints;
    attrs.push_back(ctx.named(k->keyword, v));
  }
  return ir::CallSpec{ctx.op(op::full_name(name)), ctx.list(args), ctx.list(attrs), ctx.list(p.types)};
}

Result<ir::CallSpec> call_closure(ir::Context& ctx, std::string_view name, std::span<const CallArg> all) {
  return with_tuple(ctx, name, all, "closure", false);
}
Result<ir::CallSpec> call_builtin(ir::Context& ctx, std::string_view name, std::span<const CallArg> all) {
  return with_tuple(ctx, name, all, "func", true);
}

// print(a, b, format=...)
Result<ir::CallSpec> print(ir::Context& ctx, std::string_view name, std::span<const CallArg> all) {
  Parts p = take_apart(ctx, all);
  return with_format(ctx, name, all, p, {}, "vals");
}
// assert_op(condition, a, b, format=...)
Result<ir::CallSpec> assert_op(ir::Context& ctx, std::string_view name, std::span<const CallArg> all) {
  Parts p = take_apart(ctx, all);
  RLDB_TRY(const Expr* condition, need(ctx, name, pick(p, 0, "condition"), "condition", all.data()));
  return with_format(ctx, name, all, p, {condition}, "format_args");
}

}  // namespace form

CallForm find_call_form(std::string_view full_name) {
  static constexpr op::RuleTable<CallForm> kForms{
#define RLDB_OP_FORM(Op, function) {op::Id::Op, form::function},
#include "rldb/ir/op/rule.def"
  };
  return kForms.find(full_name);
}

CallForm find_function(std::string_view short_name) {
#define RLDB_R_FUNCTION(spelling, function) \
  if (short_name == spelling) return form::function;
#include "rldb/ir/op/rule.def"
  return nullptr;
}

}  // namespace rldb::ops
