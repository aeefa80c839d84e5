// The CallTyper of a Context: attributes, types and purity of calls of operators, from the registry.
#include "ops/attr_value.h"
#include "ops/infer_distributed.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ops/op_info.h"
#include "rldb/source/diagnostic_id.h"

namespace rldb::ops {
namespace {

using source::DiagId;
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
    if (!known) return Failure(message(DiagId::OpUnknownArgument, info.short_name(), a.name).with_attribute(a.name));
  }
  std::vector<ir::NamedAttr> out;
  for (const AttrInfo& want : info.attrs) {
    const ir::Attr* v = ir::find_attr(given, want.name);
    if (!v && want.required)
      return Failure(message(DiagId::OpMissingArgument, info.short_name(), want.name).with_attribute(want.name));
    if (v) {
      const ir::Attr* c = convert_attr(ctx, want.type, want.nullable, v);
      if (!c)
        return Failure(message(DiagId::OpBadArgument, want.name, info.short_name(), describe(want.type), describe(v))
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
  return Failure(message(DiagId::OpArgumentCount, info.short_name(), want, count));
}

class Typer final : public ir::CallTyper {
 public:
  bool is_known(std::string_view op) const override { return find(op) != nullptr; }

  Result<ir::Span<ir::NamedAttr>> complete_attrs(ir::Context& ctx, const ir::CallSpec& call) const override {
    const OpInfo* info = find(call.callee);
    if (!info) return call.attrs;
    return complete(ctx, *info, call.attrs);
  }

  // An operator without a row has the type that the text gives it, else Any.
  Result<const ir::Type*> infer(ir::Context& ctx, const ir::CallSpec& call) const override {
    const OpInfo* info = find(call.callee);
    if (!info) return call.ty_args.size() == 1 ? call.ty_args[0] : static_cast<const ir::Type*>(ctx.any());
    RLDB_TRY_VOID(check_count(*info, call.args.size()));
    return is_distributed(call) && info->family != "call" ? infer_distributed(ctx, *info, call)
                                                          : info->infer(ctx, *info, call);
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
    if (op->name.starts_with("tir.")) return true;
    const OpInfo* info = find(op->name);
    // Nothing is known of an operator without a row; taking it as pure keeps dataflow blocks readable.
    return !info || info->purity == Purity::Pure;
  }
  const auto* f = ir::as<ir::FuncType>(call->callee->type);
  return f && f->pure;
}

}  // namespace rldb::ops
