// Arguments of the operators with a form of their own: call_tir and its kin, closures, print, assert_op.
#include "ops/arguments/call.h"

#include <array>

#include "ops/arguments/attr_value.h"
#include "rldb/ir/op_name.h"
#include "rldb/source/diagnostic_type.h"

namespace rldb::ops {
namespace {

using ir::Attr;
using ir::AttrKind;
using ir::Expr;
using source::message;
using support::Failure;

const Expr* expr_of(ir::Context& ctx, const CallArg& a) { return a.attr ? to_expr(ctx, a.attr) : a.expr; }

// What such a call says, taken apart by keyword.
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

// OLD texts give the scalars of call_tir as a shape of their own; they are ordinary arguments since 2026.
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

// call_tir, call_tir_inplace, call_tir_with_grad, call_dps_packed, call_py_func, dist.call_tir_local_view.
Result<ir::CallSpec> call_dps(ir::Context& ctx, std::string_view name, std::span<const CallArg> all) {
  Parts p = take_apart(ctx, all);
  // The same operator; what makes it distributed is its output type.
  if (name == "dist.call_tir") name = "call_tir";
  RLDB_TRY(const Expr* func, need(ctx, name, pick(p, 0, "func"), "func", all.data()));
  if (name == short_op::CallTir || name == short_op::CallDpsPacked || name == short_op::CallPyFunc)
    func = as_function(ctx, func);
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
  if (p.positional.size() > next) return Failure(message(diag::OpTooManyArguments, name, next, p.positional.size()));
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

// invoke_closure, invoke_pure_closure, call_builtin_with_ctx: function, tuple of arguments.
Result<ir::CallSpec> call_with_tuple(ir::Context& ctx, std::string_view name, std::span<const CallArg> all) {
  Parts p = take_apart(ctx, all);
  bool builtin = name == short_op::CallBuiltinWithCtx;
  RLDB_TRY(const Expr* func, need(ctx, name, pick(p, 0, builtin ? "func" : "closure"), "func", all.data()));
  RLDB_TRY(const Expr* args, need(ctx, name, pick(p, 1, "args"), "args", all.data()));
  if (builtin) func = as_function(ctx, func);
  RLDB_TRY_VOID(no_more_keywords(name, p, all.data()));
  return ir::CallSpec{
      ctx.op(op::full_name(name)), ctx.list<const Expr*>({func, as_tuple(ctx, args)}), {}, ctx.list(p.types)};
}

// print(a, b, format=...): the format comes first in the call. assert_op(cond, a, b, format=...): second.
Result<ir::CallSpec> call_with_format(ir::Context& ctx, std::string_view name, std::span<const CallArg> all) {
  Parts p = take_apart(ctx, all);
  std::vector<const Expr*> args;
  bool assertion = name == short_op::AssertOp;
  if (assertion) {
    RLDB_TRY(const Expr* cond, need(ctx, name, pick(p, 0, "condition"), "condition", all.data()));
    args.push_back(cond);
  }
  const CallArg* format = p.take("format");
  const Expr* text = format ? expr_of(ctx, *format) : ctx.string("");
  if (!text || !ir::isa<ir::StringImm>(text))
    return Failure(message(diag::OpBadArgument, "format", name, "a string",
                           format->attr ? describe(format->attr) : describe(format->expr)));
  args.push_back(text);
  RLDB_TRY(auto rest, rest_of(ctx, name, p, assertion && !p.positional.empty() ? 1 : 0, all.data()));
  if (const CallArg* values = p.take(assertion ? "format_args" : "vals"))
    if (const Expr* e = expr_of(ctx, *values)) rest.push_back(e);
  for (const Expr* e : rest) {
    const auto* t = ir::as<ir::Tuple>(e);
    // A Python list of values is spread.
    if (t && rest.size() == 1)
      args.insert(args.end(), t->items.begin(), t->items.end());
    else
      args.push_back(e);
  }
  RLDB_TRY_VOID(no_more_keywords(name, p, all.data()));
  return ir::CallSpec{ctx.op(op::full_name(name)), ctx.list(args), {}, {}};
}

}  // namespace

CallForm find_call_form(std::string_view short_name) {
  struct Row {
    std::string_view name;
    CallForm form;
  };
  static constexpr std::array kTable{
      Row{short_op::CallTir, call_dps},
      Row{short_op::CallTirInplace, call_dps},
      Row{short_op::CallTirWithGrad, call_dps},
      Row{short_op::CallDpsPacked, call_dps},
      Row{short_op::CallPyFunc, call_dps},
      Row{"dist.call_tir", call_dps},
      Row{short_op::DistCallTirLocalView, call_dps},
      Row{"call_packed", call_packed},
      Row{short_op::CallPurePacked, call_packed_op},
      Row{short_op::CallInplacePacked, call_packed_op},
      Row{short_op::InvokeClosure, call_with_tuple},
      Row{short_op::InvokePureClosure, call_with_tuple},
      Row{short_op::CallBuiltinWithCtx, call_with_tuple},
      Row{short_op::Print, call_with_format},
      Row{short_op::AssertOp, call_with_format},
  };
  for (const Row& row : kTable)
    if (row.name == short_name) return row.form;
  return nullptr;
}

}  // namespace rldb::ops
