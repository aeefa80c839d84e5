// The CallTyper of a Context: attributes, types and purity of calls of operators, from the registry.
#include "ops/arguments/attr_value.h"
#include "ops/infer/distributed.h"
#include "ops/infer/util.h"
#include "rldb/ir/derive_func.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ops/op_info.h"
#include "rldb/source/diagnostic_type.h"

namespace rldb::ops {
namespace {

using source::message;
using support::Failure;

bool is_complete(const OpInfo& info, ir::Span<ir::NamedAttr> attrs) {
  if (attrs.size() != info.attrs.size()) return false;
  for (std::size_t i = 0; i < attrs.size(); ++i)
    if (attrs[i].name != info.attrs[i].name) return false;
  return true;
}

Result<ir::Span<ir::NamedAttr>> complete(ir::Context& ctx, const OpInfo& info, ir::Span<ir::NamedAttr> given) {
  if (is_complete(info, given)) return given;
  for (const ir::NamedAttr& a : given) {
    bool known = false;
    for (const AttrInfo& want : info.attrs) known = known || want.name == a.name;
    if (!known) return Failure(message(diag::OpUnknownArgument, info.short_name(), a.name).with_attribute(a.name));
  }
  std::vector<ir::NamedAttr> out;
  for (const AttrInfo& want : info.attrs) {
    const ir::Attr* v = ir::find_attr(given, want.name);
    if (!v && want.required)
      return Failure(message(diag::OpMissingArgument, info.short_name(), want.name).with_attribute(want.name));
    if (v) {
      const ir::Attr* c = convert_attr(ctx, want.type, want.nullable, v);
      if (!c)
        return Failure(message(diag::OpBadArgument, want.name, info.short_name(), describe(want.type), describe(v))
                           .with_attribute(want.name));
      v = c;
    } else {
      v = default_value(ctx, want);
    }
    out.push_back({want.name, v});
  }
  derive_attrs(info, out);
  return ctx.list(out);
}

Result<support::Unit> check_count(const OpInfo& info, std::size_t count) {
  std::size_t least = 0;
  std::size_t most = info.args.size();
  for (const ArgInfo& a : info.args) {
    if (!a.optional) ++least;
    if (a.variadic) most = SIZE_MAX;
  }
  if (count >= least && count <= most) return support::Unit{};
  std::string want = least == most      ? std::to_string(least)
                     : most == SIZE_MAX ? "at least " + std::to_string(least)
                                        : std::to_string(least) + " to " + std::to_string(most);
  want += least == 1 && (most == 1 || most == SIZE_MAX) ? " argument" : " arguments";
  return Failure(message(diag::OpArgumentCount, info.short_name(), want, count));
}

// A parameter that is a scalar in the row accepts no tensor: no kernel could be made of it.
Result<support::Unit> check_scalars(const OpInfo& info, const ir::CallSpec& call) {
  for (std::size_t i = 0; i < call.args.size() && i < info.args.size(); ++i) {
    if (info.args[i].kind != ArgKind::Prim || info.args[i].variadic) continue;
    const ir::Type* t = call.args[i]->type;
    if (ir::as<ir::PrimType>(t) || ir::as<ir::AnyType>(t)) continue;
    return type_error(info,
                      "requires argument `" + std::string(info.args[i].name) + "` to be a scalar, but its type is `" +
                          ir::print_type(t) + "`",
                      int(i));
  }
  return support::Unit{};
}

// A dim of a tensor type that is certainly below zero; null when there is none.
const ir::Expr* negative_dim(const ir::Type* type) {
  if (const auto* tuple = ir::as<ir::TupleType>(type)) {
    for (const ir::Type* f : tuple->fields)
      if (const ir::Expr* d = negative_dim(f)) return d;
    return nullptr;
  }
  const auto* d = ir::as<ir::DTensorType>(type);
  const auto* t = d ? d->tensor : ir::as<ir::TensorType>(type);
  if (!t || !t->has_shape) return nullptr;
  for (const ir::Expr* dim : t->shape)
    if (const auto n = ir::const_int(dim); n && *n < 0) return dim;
  return nullptr;
}

// A packed function that declares that it returns a view of its first argument.
bool derives_view(const ir::CallSpec& call) {
  const auto* f = ir::as<ir::FuncType>(call.callee->type);
  return f && !call.args.empty() &&
         (f->derive_func == ir::derive_func::kInferView || f->derive_func == ir::derive_func::kInferViewOld);
}

// If nothing is known, the function is called all the same.
const ir::Type* view_of(ir::Context& ctx, const ir::CallSpec& call) {
  const OpInfo* info = find(op::MemoryView);
  const Result<const ir::Type*> type = info->infer(ctx, *info, call);
  return type.ok() ? *type : static_cast<const ir::Type*>(ctx.any());
}

class Typer final : public ir::CallTyper {
 public:
  bool is_known(std::string_view op) const override { return find(op) != nullptr; }

  Result<ir::Span<ir::NamedAttr>> complete_attrs(ir::Context& ctx, const ir::CallSpec& call) const override {
    const OpInfo* info = find(call.callee);
    if (!info) return call.attrs;
    return complete(ctx, *info, call.attrs);
  }

  // An operator without a row has the type given in the text, else Any.
  Result<const ir::Type*> infer(ir::Context& ctx, const ir::CallSpec& call) const override {
    const OpInfo* info = find(call.callee);
    if (!info && derives_view(call)) return view_of(ctx, call);
    if (!info) return call.ty_args.size() == 1 ? call.ty_args[0] : static_cast<const ir::Type*>(ctx.any());
    RLDB_TRY_VOID(check_count(*info, call.args.size()));
    RLDB_TRY_VOID(check_scalars(*info, call));
    if (op::has(info->name, op::Trait::GivenType)) return info->infer(ctx, *info, call);
    RLDB_TRY(const ir::Type* type,
             is_distributed(call) ? infer_distributed(ctx, *info, call) : info->infer(ctx, *info, call));
    if (const ir::Expr* dim = negative_dim(type))
      return type_error(*info, "the result would have a dim of " + ir::print_expr(dim), -1);
    return type;
  }

  bool is_pure(const ir::Call& call) const override { return is_pure_call(&call); }
};

}  // namespace

void install(ir::Context& ctx) {
  static const Typer typer;
  ctx.set_typer(&typer);
}

bool is_pure_call(const ir::Call* call) {
  if (const auto* op = ir::as<ir::Op>(call->callee)) {
    if (ir::is_tir_op(op)) return true;
    const OpInfo* info = find(call->callee);
    // Nothing is known about an operator without a row; treating it as pure keeps dataflow blocks readable.
    return !info || info->purity == Purity::Pure;
  }
  const auto* f = ir::as<ir::FuncType>(call->callee->type);
  return f && f->pure;
}

}  // namespace rldb::ops
